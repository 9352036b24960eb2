"""Jobs as a sweep leaves them, with every column known: ties, a diverged job, a failed one, one on spot. All values are made up."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from report_jobs import START, describe, step_lines, transitions

from sm_trn.core.specs import JobRecord, JobSnapshot, MetricPoint, parse_snapshot
from sm_trn.core.specs.record import record

RATES = (1e-5, 2e-5, 3e-5, 5e-5, 8e-5, 1e-4, 3e-4, 8e-4)
DIVERGES = 8e-4
PER_SEED = 5  # seeds of each rate, at most


def swept(number: int, *, spot: bool = False, failed: bool = False) -> JobRecord:
    """The job of one learning rate and seed; jobs 0 and 2 are the same to the digits shown."""
    rate, seed = RATES[number % len(RATES)], 1 + number // len(RATES)
    name = f"reviews-lr{rate:.0e}-seed{seed}".replace("e-0", "e-")
    trained = 2100 if number in {0, 2} else 2000 + 37 * (number % 11)
    created = START + 60 * number
    gap: list[tuple[str, float]] = [("Interrupted", 600), ("Starting", 120), ("Training", 700)] if spot else []
    phases = [("Starting", 200), ("Downloading", 100), ("Training", trained - 160 - (700 if spot else 0)), *gap]
    phases += [("Uploading", 60), ("Failed" if failed else "Completed", 0)]
    changes: dict[str, Any] = {"TrainingJobStatus": "Failed", "SecondaryStatus": "Failed"} if failed else {}
    if spot:
        changes |= {"EnableManagedSpotTraining": True, "BillableTimeInSeconds": trained * 3 // 10}
    answer = describe(
        name,
        **{
            "created": created,
            "TrainingStartTime": created + 200,
            "TrainingEndTime": created + 200 + trained + (720 if spot else 0),
            "TrainingTimeInSeconds": trained,
            "BillableTimeInSeconds": trained,
            "ResourceConfig": {"InstanceType": "ml.g5.xlarge", "InstanceCount": 1},
            "SecondaryStatusTransitions": transitions(*phases, start=created),
            "HyperParameters": {
                "learning_rate": f'"{rate:g}"', "seed": f'"{seed}"', "epochs": '"3"', "sagemaker_program": '"train.py"',
            },
        }
        | changes,
    )  # fmt: skip
    final = 0.2 + 0.04 * abs(math.log10(rate / 3e-5)) + 0.003 * seed
    points = step_lines(3000, 30, rate=2.0, batch=32, first_s=400, epochs=3, final=final)
    points = [_moved(point, 60 * number, diverges=rate == DIVERGES) for point in points]
    if rate != DIVERGES and not failed:
        accuracy = 0.931 - 0.03 * abs(math.log10(rate / 3e-5)) + 0.0008 * (seed - 1)
        points.append(MetricPoint("eval_accuracy", round(accuracy, 4), step=3000, epoch=3.0))
    return record(parse_snapshot(answer), points, label=name, workload="reviews, text classification")


def _moved(point: MetricPoint, seconds: float, *, diverges: bool) -> MetricPoint:
    gone = diverges and point.name == "loss" and (point.step or 0) > 800
    value = math.nan if gone else point.value
    return MetricPoint(point.name, value, step=point.step, epoch=point.epoch, time_s=(point.time_s or 0) + seconds)


def sweep(count: int) -> list[JobRecord]:
    """``count`` jobs; the second is on spot, the sixth failed, the eighth became NaN."""
    return [swept(number, spot=number == 1, failed=number == 5) for number in range(count)]


def named(count: int) -> list[JobRecord]:
    """The sweep's jobs; two of them are called as long as the service allows."""
    return [
        dataclasses.replace(item, label=f"{item.label}-{'x' * 62}"[:63]) if number in {1, 7} else item
        for number, item in enumerate(sweep(count))
    ]


def tuned(count: int) -> list[JobRecord]:
    """``count`` jobs that differ in four hyperparameters, one of them a text, and in seeds."""
    found = []
    for number in range(count):
        rate, batch, decay, seed = RATES[number % 7], 8 << number % 3, (0.0, 0.01, 0.1)[number % 5 % 3], 1 + number % 2
        optimizer = ("adamw_torch_fused", "adafactor")[number // 2 % 2]
        told = {"learning_rate": f"{rate:g}", "per_device_train_batch_size": str(batch), "weight_decay": str(decay),
                "optim": optimizer, "seed": str(seed)}  # fmt: skip
        base = swept(0)
        answer = dict(base.snapshot.raw) | {
            "TrainingJobName": f"tuned-{number}",
            "HyperParameters": {key: f'"{value}"' for key, value in told.items()},
        }
        accuracy = 0.93 - 0.03 * abs(math.log10(rate / 3e-5)) - 0.004 * (batch / 8 - 1) + 0.01 * decay + 0.0004 * seed
        points = [MetricPoint("eval_accuracy", round(accuracy, 4), step=3000, epoch=3.0)]
        found.append(
            record(parse_snapshot(answer), points, label=f"tuned-{number}", workload="reviews, text classification")
        )
    return found


def november(count: int) -> list[tuple[JobSnapshot, dict[str, str]]]:
    """``count`` jobs of a month with their tags: three people, two teams, failures, spot and idle warm pools."""
    found = []
    for number in range(count):
        created = START + number * 86_400 * 27 / max(1, count - 1) if count > 1 else START
        instance = ("ml.p4d.24xlarge", "ml.g5.xlarge", "ml.trn1.32xlarge")[number % 3]
        spot, failed = number % 4 == 1, number % 5 == 2
        changes: dict[str, Any] = {"TrainingJobStatus": "Failed", "SecondaryStatus": "Failed"} if failed else {}
        changes |= {"EnableManagedSpotTraining": True} if spot else {}
        changes |= (
            {"WarmPoolStatus": {"Status": "Terminated", "ResourceRetainedBillableTimeInSeconds": 900}}
            if number % 6 == 3
            else {}
        )
        trained = 3600 + 211 * (number % 7)
        answer = describe(
            f"train-{number}",
            created=created,
            ResourceConfig={"InstanceType": instance, "InstanceCount": 1 + number % 2},
            TrainingTimeInSeconds=trained,
            BillableTimeInSeconds=trained * 3 // 10 if spot else trained,
            **changes,
        )
        tags = {"owner": ("ada", "grace", "alan")[number // 3 % 3], "team": ("vision", "language")[number % 2]}
        found.append((parse_snapshot(answer), tags))
    return found
