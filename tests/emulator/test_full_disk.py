"""A disk that is full under the emulator: every job ends and says why, and what is deleted makes room again."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from emulator.bench import TERMINAL, Bench, running, shell

pytest.importorskip("moto")

MB = 2**20
FULL = "the disk of the emulator's state folder"


class Disk:
    """A small file system of its own, which ``fill`` leaves so many bytes."""

    def __init__(self, root: Path) -> None:
        self.state = root / "state"
        self._filler = root / "filler"

    @property
    def free(self) -> int:
        facts = os.statvfs(self._filler.parent)
        return facts.f_bavail * facts.f_frsize

    def fill(self, left: int = 0) -> None:
        with self._filler.open("ab", buffering=0) as out, contextlib.suppress(OSError):
            while (room := self.free - left) > 0:
                out.write(b"\1" * min(room, MB))

    def free_all(self) -> None:
        self._filler.unlink(missing_ok=True)


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Disk]:
    root = tmp_path_factory.mktemp("disk")
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=96m", "sm-trn-test", str(root)], check=False, capture_output=True
    )
    if made.returncode != 0:
        pytest.skip(f"a small file system cannot be mounted here: {made.stderr.decode().strip()}")
    try:
        yield Disk(root)
    finally:
        subprocess.run(["umount", "--lazy", str(root)], check=True)


@pytest.fixture(scope="module")
def full(disk: Disk) -> Iterator[Bench]:
    with running(disk.state, max_jobs=2, stop_grace_s=2.0) as bench:
        yield bench


@pytest.fixture(autouse=True)
def room_again(disk: Disk) -> Iterator[None]:
    yield
    disk.free_all()


def refusal(call: Callable[[], Any]) -> str:
    """What the service said; a page of HTML has no code."""
    with pytest.raises(ClientError) as caught:
        call()
    assert caught.value.response["Error"]["Code"] in {"InternalFailure", "ResourceLimitExceeded", "EntityTooLarge"}
    return str(caught.value)


def job(full: Bench, script: str, **members: Any) -> str:
    return full.submit("", **{"AlgorithmSpecification": shell(script), **members})


def ends_for_want_of_room(full: Bench, name: str) -> None:
    answer = full.finished(name)
    assert "Failed" == answer["TrainingJobStatus"]
    assert FULL in answer["FailureReason"]


@pytest.mark.parametrize("metrics", [False, True], ids=["lines", "metrics"])
def test_a_job_that_prints_fails_and_says_why(full: Bench, disk: Disk, metrics: bool) -> None:
    printing = shell("echo begun; while :; do echo loss=1.5; done")
    if metrics:
        printing["MetricDefinitions"] = [{"Name": "loss", "Regex": "loss=([0-9.]+)"}]
    name = full.submit("", AlgorithmSpecification=printing)
    full.said(name, "begun")
    disk.fill()
    ends_for_want_of_room(full, name)
    assert "begun" in full.lines(name)


def test_a_job_whose_model_does_not_fit_fails_and_says_why(full: Bench, disk: Disk) -> None:
    disk.fill(30 * MB)
    ends_for_want_of_room(full, job(full, "head -c 20000000 /dev/urandom > /opt/ml/model/weights"))


def test_a_silent_job_can_be_stopped_described_and_deleted(full: Bench, disk: Disk) -> None:
    name = job(full, "echo begun; sleep 600")
    full.said(name, "begun")
    disk.fill()
    full.sagemaker.stop_training_job(TrainingJobName=name)
    assert full.finished(name)["TrainingJobStatus"] in TERMINAL
    disk.fill()
    full.sagemaker.delete_training_job(TrainingJobName=name)
    assert name not in [each["TrainingJobName"] for each in full.sagemaker.list_training_jobs()["TrainingJobSummaries"]]


def test_room_that_is_freed_is_room_that_is_used(full: Bench, disk: Disk) -> None:
    disk.fill()
    request = full.request("", AlgorithmSpecification=shell("echo it runs"))
    assert FULL in refusal(lambda: full.sagemaker.create_training_job(**request))
    disk.free_all()
    full.sagemaker.create_training_job(**request)
    assert "Completed" == full.finished(request["TrainingJobName"])["TrainingJobStatus"]
