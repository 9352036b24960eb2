"""A disk that is full under the emulator: every job ends and says why, and what is deleted makes room again."""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from emulator.bench import IMAGE, TERMINAL, Bench, lines_of, running, shell
from waiting import within

from sm_trn import emulator as embedded
from sm_trn.core.errors import EmulatorError
from sm_trn.core.isolation.container_init import HostSpec
from sm_trn.core.specs import parse_snapshot
from sm_trn.diagnosis.causes.diagnose import JobText
from sm_trn.emulator.container.host import Host
from sm_trn.emulator.state.quota import no_room, reason_of
from sm_trn.emulator.state.registry import Registry
from sm_trn.emulator.state.resources import Resources
from sm_trn.emulator.state.store import Store, StoredObject
from sm_trn.emulator.training.api import TrainingApi
from sm_trn.emulator.training.jobs import Jobs
from sm_trn.emulator.tuning.api import KIND
from sm_trn.emulator.tuning.tuner import JobTuner

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


def put(full: Bench, key: str, size: int) -> None:
    full.s3.put_object(Bucket=full.endpoint.bucket, Key=key, Body=os.urandom(size))


def ends_for_want_of_room(full: Bench, name: str) -> None:
    answer = full.finished(name)
    assert "Failed" == answer["TrainingJobStatus"]
    assert FULL in answer["FailureReason"]


def channel(full: Bench, key: str) -> dict[str, Any]:
    source = {"S3DataType": "S3Prefix", "S3Uri": f"s3://{full.endpoint.bucket}/{key}"}
    return {"InputDataConfig": [{"ChannelName": "train", "DataSource": {"S3DataSource": source}}]}


@pytest.mark.parametrize("size", [1000, 3 * MB], ids=["small", "large"])
def test_an_object_for_which_there_is_no_room_is_refused_in_s3s_own_form(full: Bench, disk: Disk, size: int) -> None:
    disk.fill()
    assert FULL in refusal(lambda: put(full, f"refused-{size}", size))
    disk.free_all()
    put(full, f"refused-{size}", size)  # nothing of the first attempt is in the way


def test_what_was_refused_leaves_no_file(full: Bench, disk: Disk) -> None:
    disk.fill(2 * MB)
    before = disk.free
    for _ in range(3):
        refusal(lambda: put(full, "never", 6 * MB))
    assert within(lambda: disk.free >= before - MB)


def test_a_job_for_which_there_is_no_room_is_refused(full: Bench, disk: Disk) -> None:
    request = full.request("", AlgorithmSpecification=shell("true"))
    disk.fill()
    assert FULL in refusal(lambda: full.sagemaker.create_training_job(**request))


def test_a_job_whose_data_do_not_fit_fails_and_says_why(full: Bench, disk: Disk) -> None:
    put(full, "large/one", 20 * MB)
    disk.fill(10 * MB)
    ends_for_want_of_room(full, job(full, "true", **channel(full, "large")))
    full.s3.delete_object(Bucket=full.endpoint.bucket, Key="large/one")


def test_a_job_whose_source_does_not_fit_fails_and_says_why(full: Bench, disk: Disk) -> None:
    request = full.request("print('never')", files={"data.txt": os.urandom(8 * MB).hex()})
    disk.fill(4 * MB)
    full.sagemaker.create_training_job(**request)
    ends_for_want_of_room(full, request["TrainingJobName"])


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


def test_a_log_that_met_a_full_disk_is_whole_lines_before_and_after(full: Bench, disk: Disk) -> None:
    slow = job(full, "n=0; while :; do n=$((n+1)); echo line-$n; done")
    full.said(slow, "line-100")
    disk.fill()
    full.finished(slow)
    disk.free_all()
    lines = full.lines(slow)
    assert [f"line-{n}" for n in range(1, 1001)] == [line for line in lines if line.startswith("line-")][:1000]


def test_a_job_whose_checkpoint_does_not_fit_fails_and_says_why(full: Bench, disk: Disk) -> None:
    keep = {"S3Uri": f"s3://{full.endpoint.bucket}/checkpoints", "LocalPath": "/opt/ml/checkpoints"}
    disk.fill(30 * MB)
    script = "head -c 20000000 /dev/urandom > /opt/ml/checkpoints/step && sleep 1"
    ends_for_want_of_room(full, job(full, script, CheckpointConfig=keep))


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
    put(full, "spare", 8 * MB)
    disk.fill()
    full.s3.delete_object(Bucket=full.endpoint.bucket, Key="spare")
    put(full, "instead", 2 * MB)
    name = job(full, "echo it runs")
    assert "Completed" == full.finished(name)["TrainingJobStatus"]


def test_many_small_objects_are_deleted_from_a_full_disk(full: Bench, disk: Disk) -> None:
    keys = [f"many/{n}" for n in range(50)]
    for key in keys:
        put(full, key, 1)
    disk.fill()
    for key in keys[:10]:
        full.s3.delete_object(Bucket=full.endpoint.bucket, Key=key)
    named = {"Objects": [{"Key": key} for key in keys[10:]]}
    assert "Errors" not in full.s3.delete_objects(Bucket=full.endpoint.bucket, Delete=named)
    assert 0 == full.s3.list_objects_v2(Bucket=full.endpoint.bucket, Prefix="many/")["KeyCount"]


def test_a_processing_job_that_prints_fails_and_says_why(full: Bench, disk: Disk) -> None:
    full.sagemaker.create_processing_job(
        ProcessingJobName="prints",
        RoleArn=full.endpoint.role_arn,
        AppSpecification={
            "ImageUri": IMAGE,
            "ContainerEntrypoint": ["/bin/sh", "-c", "echo begun; while :; do echo more; done"],
        },
        ProcessingResources={
            "ClusterConfig": {"InstanceCount": 1, "InstanceType": "ml.m5.large", "VolumeSizeInGB": 10}
        },
    )
    logs = "/aws/sagemaker/ProcessingJobs"
    assert within(lambda: "begun" in lines_of(full.logs, logs, "prints/"), 30)
    disk.fill()
    look = partial(full.sagemaker.describe_processing_job, ProcessingJobName="prints")
    assert within(lambda: look()["ProcessingJobStatus"] == "Failed", 30)
    assert FULL in look()["FailureReason"]


def test_what_ended_on_a_full_disk_has_ended_after_a_restart_too(full: Bench, disk: Disk) -> None:
    name = job(full, "echo begun; while :; do echo more; done")
    full.said(name, "begun")
    disk.fill()
    ends_for_want_of_room(full, name)
    disk.free_all()
    embedded.down(disk.state)
    with running(disk.state) as bench:  # the last test of this emulator
        assert FULL in bench.describe(name)["FailureReason"]


def test_an_emulator_that_cannot_start_on_a_full_disk_says_that_it_is_full(disk: Disk) -> None:
    disk.fill()
    with pytest.raises(EmulatorError, match="is full"):
        embedded.up(disk.state.with_name("other"))


def test_a_store_that_is_full_is_an_error_of_the_disk_and_takes_writes_again_when_it_is_not(tmp_path: Path) -> None:
    store = Store(tmp_path / "emulator.db")
    pages = store._db.execute("PRAGMA page_count").fetchone()[0]
    store._db.execute(f"PRAGMA max_page_count = {pages}")  # SQLite's own way to have no room, on any machine

    def fill() -> None:
        for number in range(2000):
            store.save_object("b", StoredObject(f"{number}", "f" * 9000, {}, 1, "e", 1.0))

    with pytest.raises(OSError, match="full") as caught:
        fill()
    assert no_room(caught.value)
    store._db.execute(f"PRAGMA max_page_count = {pages * 10}")
    store.save_object("b", StoredObject("after", "file", {}, 1, "e", 1.0))
    store.close()
    assert Store(tmp_path / "emulator.db").object("b", "after") is not None


class Refusing:
    """A place to save things that has no room while ``full``."""

    def __init__(self) -> None:
        self.full = False
        self.rows: dict[str, Thing] = {}

    def write(self, thing: Thing) -> None:
        self._check()
        self.rows[thing.name] = thing

    def erase(self, thing: Thing) -> None:
        self._check()
        del self.rows[thing.name]

    def _check(self) -> None:
        if self.full:
            raise OSError(errno.ENOSPC, "full")


@dataclass(frozen=True)
class Thing:
    name: str
    text: str = ""
    kind: str = "thing"
    arn: str = ""
    created: float = 0.0


def test_a_registry_on_a_full_disk_takes_nothing_new_but_changes_and_deletes_and_saves_that_later() -> None:
    place = Refusing()
    registry = Registry[Thing]((), place.write, place.erase)
    for name in ("stopped", "deleted"):
        registry._save(Thing(name))
    place.full = True
    with pytest.raises(OSError, match="full"):
        registry._save(Thing("new"))
    registry._save(Thing("stopped", "Stopped"))
    registry.remove("thing", "deleted")
    assert Thing("stopped", "Stopped") == registry.find("thing", "stopped")
    assert [None, None] == [registry.find("thing", name) for name in ("new", "deleted")]
    place.full = False
    registry._save(Thing("next"))
    registry._save(Thing("next", "again"))
    assert {"stopped": "Stopped", "next": "again"} == {name: row.text for name, row in place.rows.items()}


def test_a_line_that_cannot_be_kept_holds_no_host_up(tmp_path: Path) -> None:
    def refuse(_at: int, _line: str) -> None:
        raise OSError(errno.ENOSPC, "full")

    ended = threading.Event()
    spec = HostSpec(
        namespace=False, hostname="h", argv=("/bin/sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' '\\n x'; echo end"),
        env={}, cwd="/", ml="", own="", stage="", hosts="", hidden=(), toolkit=False,
    )  # fmt: skip
    host = Host("h", spec, tmp_path / "spec.json", refuse, ended.set)
    assert ended.wait(60)
    assert 0 == host.code
    assert no_room(host.lost)


class NoRoom(TrainingApi):
    """Training jobs that a disk has no room for any more once they were checked."""

    def __init__(self) -> None:
        """Keep nothing: only what is asked below is asked of it."""

    def create(self, body: Any) -> dict[str, str]:
        raise OSError(errno.ENOSPC, body["TrainingJobName"])


def test_a_tuning_job_whose_training_jobs_cannot_be_kept_fails_and_says_why(tmp_path: Path) -> None:
    store = Store(tmp_path / "emulator.db")
    resources = Resources(store, "us-west-2")
    config = {"Strategy": "Grid", "ResourceLimits": {"MaxNumberOfTrainingJobs": 1, "MaxParallelTrainingJobs": 1}}
    definition: dict[str, Any] = {
        "HyperParameterRanges": {"CategoricalParameterRanges": [{"Name": "n", "Values": ["1"]}]}
    }
    request = {"HyperParameterTuningJobConfig": config, "TrainingJobDefinitions": [definition]}
    resources.add(KIND, "search", request, tags={}, status="InProgress")
    JobTuner(resources, Jobs(store), NoRoom(), lambda _job, _metric: (), tmp_path).start("search")
    assert within(lambda: resources.get(KIND, "search").status == "Failed")
    assert FULL in (resources.get(KIND, "search").reason or "")
    store.close()


def test_the_cause_of_a_job_that_met_a_full_disk_is_a_disk_and_not_the_service(tmp_path: Path) -> None:
    reason = reason_of(OSError(errno.ENOSPC, "full"), tmp_path)
    seen = parse_snapshot({"TrainingJobName": "j", "TrainingJobStatus": "Failed", "FailureReason": reason})
    assert "disk.full" == JobText("j", seen, None, None).diagnosis().id
