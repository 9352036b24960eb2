"""Records for the report's tests: two measured jobs that differ in batch, emulated ones, failed ones. All values are made up."""

from __future__ import annotations

import math
from typing import Any

from sm_trn.core.specs import JobRecord, MetricPoint, parse_snapshot
from sm_trn.core.specs.record import record

START = 1_700_000_000.0


def describe(name: str, **changes: Any) -> dict[str, Any]:
    """A completed one-instance job, billed 600 s, as the service describes it."""
    account = "000000000000" if changes.pop("emulated", False) else "111122223333"
    created = changes.pop("created", START)
    answer: dict[str, Any] = {
        "TrainingJobName": name,
        "TrainingJobArn": f"arn:aws:sagemaker:us-west-2:{account}:training-job/{name}",
        "TrainingJobStatus": "Completed",
        "SecondaryStatus": "Completed",
        "CreationTime": created,
        "TrainingStartTime": created + 100,
        "TrainingEndTime": created + 700,
        "ResourceConfig": {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 1},
        "TrainingTimeInSeconds": 600,
        "BillableTimeInSeconds": 600,
    }
    return {**answer, **changes}


def transitions(*phases: tuple[str, float], start: float = START) -> list[dict[str, Any]]:
    """``SecondaryStatusTransitions`` one after another; seconds below 0 mean that the phase still lasts."""
    found, time = [], start
    for status, seconds in phases:
        item: dict[str, Any] = {"Status": status, "StartTime": time, "StatusMessage": status}
        if seconds >= 0:
            item["EndTime"] = time = time + seconds
        found.append(item)
    return found


def step_lines(
    steps: int, every: int, *, rate: float, batch: float, first_s: float, epochs: float, final: float
) -> list[MetricPoint]:
    """What the Trainer's step lines say: a loss and two rates every ``every`` steps, from ``first_s`` after START on."""
    points = []
    for step in range(every, steps + 1, every):
        share = step / steps
        place: dict[str, Any] = {"step": float(step), "epoch": share * epochs, "time_s": START + first_s + step / rate}
        wobble = 1 + 0.02 * math.sin(step)
        points += [
            MetricPoint("loss", final + 2.2 * math.exp(-4 * share), **place),
            MetricPoint("steps_per_second", rate * wobble, **place),
            MetricPoint("samples_per_second", rate * wobble * batch, **place),
        ]
    return points


def gpt2_pair() -> list[JobRecord]:
    """Two measured jobs with phases and losses; the batches differ."""
    shared = {"InstanceCount": 2, "InstanceType": "ml.p4d.24xlarge"}
    smddp = describe(
        "gpt2-smddp",
        ResourceConfig=shared,
        BillableTimeInSeconds=2425,
        TrainingTimeInSeconds=2425,
        TrainingStartTime=START + 200,
        TrainingEndTime=START + 2625,
        SecondaryStatusTransitions=transitions(
            ("Starting", 200), ("Downloading", 176), ("Training", 2190), ("Uploading", 59), ("Completed", 0)
        ),
        HyperParameters={
            "per_device_train_batch_size": "13",
            "learning_rate": "2.03e-05",
            "sagemaker_program": '"run_clm.py"',
            "sagemaker_job_name": '"one"',
        },
    )
    trcomp = describe(
        "gpt2-trcomp",
        created=START + 60,
        ResourceConfig=shared,
        BillableTimeInSeconds=2125,
        TrainingTimeInSeconds=2125,
        TrainingStartTime=START + 200,
        TrainingEndTime=START + 2325,
        SecondaryStatusTransitions=transitions(
            ("Starting", 200), ("Downloading", 192), ("Training", 1890), ("Uploading", 43), ("Completed", 0)
        ),
        HyperParameters={
            "per_device_train_batch_size": "25",
            "learning_rate": "3.91e-05",
            "sagemaker_program": '"run_clm.py"',
        },
    )
    a = step_lines(11070, 1107, rate=5.37, batch=208, first_s=430, epochs=10, final=4.85)
    b = step_lines(5750, 575, rate=3.785, batch=400, first_s=760, epochs=10, final=4.88)
    return [
        record(parse_snapshot(smddp), a, workload="GPT-2, language modelling"),
        record(parse_snapshot(trcomp), b, workload="GPT-2, language modelling"),
    ]


def emulated_job(
    name: str, *, number: int = 0, interrupted: bool = False, workload: str = "tiny BERT, text classification"
) -> JobRecord:
    """A rehearsal: 400 steps at 40 it/s of this machine, held-out accuracy and two baselines."""
    answer = describe(
        name,
        emulated=True,
        created=START + 1000 + number,
        ResourceConfig={"InstanceType": "ml.trn1.32xlarge", "InstanceCount": 1},
        BillableTimeInSeconds=11 + number,
        SecondaryStatusTransitions=transitions(("Interrupted", 1)) if interrupted else [],
    )
    points = step_lines(400, 20, rate=40.0, batch=64, first_s=1101 + number, epochs=4, final=0.21 + 0.02 * number)
    points += [
        MetricPoint("eval_accuracy", 0.914 + 0.003 * number, step=400),
        MetricPoint("baseline_majority_accuracy", 0.5),
        MetricPoint("baseline_bag_of_words_accuracy", 0.761),
    ]
    return record(parse_snapshot(answer), points, workload=workload)
