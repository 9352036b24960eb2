"""How jobs end before their script does: stopped early and late, out of time; spot with checkpoints, and warm pools."""

from __future__ import annotations

from functools import partial
from typing import Final

from ....core.specs.json import Json, Object
from ..bench import Bench
from ..probe import LIMITS, Probe

_MAKE = ("s3:PutObject", "sagemaker:CreateTrainingJob", "sagemaker:DescribeTrainingJob")


def _stop(bench: Bench) -> None:
    bench.until("stopped", "Training", kept=False)
    bench.ask("sagemaker:StopTrainingJob", {"TrainingJobName": bench.name("stopped")}, "in Training")
    bench.until("stopped")


def _stop_early(bench: Bench) -> None:
    name = bench.job("early")
    bench.pause()  # a moment later its machine is being prepared: what a describe says of it is no race
    bench.ask("sagemaker:StopTrainingJob", {"TrainingJobName": name}, "before anything was downloaded")
    bench.until("early")


def _stop_ended(bench: Bench) -> None:
    bench.until("plain", kept=False)
    bench.ask("sagemaker:StopTrainingJob", {"TrainingJobName": bench.name("plain")}, "after its end")


def _life(key: str, bench: Bench) -> None:
    bench.until(key)


def _keys(answer: Object) -> Json:
    rows = answer.get("Contents")
    found = rows if isinstance(rows, list) else []
    return {"Contents": [{"Key": row.get("Key")} for row in found if isinstance(row, dict)]}


def _checkpoints(bench: Bench) -> None:
    bench.until("spot", kept=False)
    request = {"Bucket": bench.place.bucket, "Prefix": f"{bench.place.root}/checkpoints"}
    bench.polled("s3:ListObjectsV2", request, lambda answer: bool(answer.get("Contents")), "checkpoints", _keys)


def _released(bench: Bench) -> None:
    bench.until("kept")
    change: Object = {"TrainingJobName": bench.name("kept"), "ResourceConfig": {"KeepAlivePeriodInSeconds": 0}}
    bench.ask("sagemaker:UpdateTrainingJob", change, "the pool ends now")
    gone = {"Terminated", "Reused"}

    def released(answer: Object) -> bool:
        pool = answer.get("WarmPoolStatus")
        return isinstance(pool, dict) and pool.get("Status") in gone

    def pool(answer: Object) -> Json:
        return {name: value for name, value in answer.items() if name == "WarmPoolStatus"}

    request = {"TrainingJobName": bench.name("kept")}
    bench.polled("sagemaker:DescribeTrainingJob", request, released, "its pool", pool)


PROBES: Final = (
    Probe(
        name="stop a job in Training",
        battery=LIMITS,
        sends=("sagemaker:StopTrainingJob", "sagemaker:DescribeTrainingJob"),
        send=_stop,
        jobs=("stopped",),
    ),
    Probe(
        name="stop a job before its download",
        battery=LIMITS,
        sends=("sagemaker:CreateTrainingJob", "sagemaker:StopTrainingJob", "sagemaker:DescribeTrainingJob"),
        send=_stop_early,
        jobs=("early",),
    ),
    Probe(
        name="stop a job that ended",
        battery=LIMITS,
        sends=("sagemaker:StopTrainingJob", "sagemaker:DescribeTrainingJob"),
        send=_stop_ended,
        jobs=("plain",),
    ),
    Probe(
        name="a job out of time", battery=LIMITS, sends=_MAKE, send=partial(_life, "overlong"), jobs=("overlong",)
    ),
    Probe(name="a spot job", battery=LIMITS, sends=_MAKE, send=partial(_life, "spot"), jobs=("spot",)),
    Probe(
        name="checkpoints of a job",
        battery=LIMITS,
        sends=("sagemaker:DescribeTrainingJob", "s3:ListObjectsV2"),
        send=_checkpoints,
        jobs=("spot",),
        bucket=True,
    ),
    Probe(
        name="a warm pool that is released",
        battery=LIMITS,
        sends=("sagemaker:CreateTrainingJob", "sagemaker:DescribeTrainingJob", "sagemaker:UpdateTrainingJob"),
        send=_released,
        jobs=("kept",),
    ),
)  # fmt: skip
