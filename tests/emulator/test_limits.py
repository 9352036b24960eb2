"""A state folder has a size; what does not fit is refused by name, and what is there can be seen and deleted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from botocore.exceptions import ClientError
from emulator.bench import Bench, running

from sm_trn import emulator as embedded
from sm_trn.emulator import Options

pytest.importorskip("moto")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """An emulator that may hold 12 MB: four are taken by its database in advance."""
    with running(tmp_path_factory.mktemp("small"), state_max_gb=0.012) as bench:
        yield bench


def shell(bench: Bench, *arguments: str) -> str:
    command = [sys.executable, "-m", "sm_trn.cli", "local", *arguments, "--state", str(bench.endpoint.state)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_an_object_that_does_not_fit_is_refused_and_the_client_says_why(small: Bench) -> None:
    bucket = small.endpoint.bucket
    small.s3.put_object(Bucket=bucket, Key="fits", Body=bytes(7_000_000))
    for body in (bytes(6_000_000), bytes(17_000_000)):
        with pytest.raises(ClientError, match=r"EntityTooLarge.*may hold 0\.012 GB.*SM_TRN_STATE_MAX_GB"):
            small.s3.put_object(Bucket=bucket, Key="fits-not", Body=body)
    with pytest.raises(ClientError, match="EntityTooLarge"):
        small.s3.copy_object(Bucket=bucket, Key="copy", CopySource={"Bucket": bucket, "Key": "fits"})
    assert ["fits"] == [row["Key"] for row in small.s3.list_objects_v2(Bucket=bucket)["Contents"]]
    assert [] == list((small.endpoint.state / "tmp").iterdir())
    small.s3.delete_object(Bucket=bucket, Key="fits")
    small.s3.put_object(Bucket=bucket, Key="fits", Body=bytes(2_000_000))
    small.s3.delete_object(Bucket=bucket, Key="fits")


def test_a_job_for_which_there_is_no_room_is_refused_and_is_not_made(small: Bench) -> None:
    request = small.request("print('never')")
    ballast = small.endpoint.state / "logs" / "ballast"
    ballast.write_bytes(os.urandom(12_500_000))
    try:
        with pytest.raises(ClientError, match=r"ResourceLimitExceeded.*may hold"):
            small.sagemaker.create_training_job(**request)
    finally:
        ballast.unlink()
    with pytest.raises(ClientError, match="not found"):
        small.describe(request["TrainingJobName"])


def test_a_job_whose_model_does_not_fit_fails_and_says_why(small: Bench) -> None:
    name = small.submit("import os; open(os.environ['SM_MODEL_DIR'] + '/w', 'wb').write(os.urandom(13_000_000))")
    answer = small.finished(name)
    assert "Failed" == answer["TrainingJobStatus"]
    assert answer["FailureReason"].startswith("ClientError: Artifact upload failed: the emulator's state folder")


def test_status_tells_what_is_held_and_what_may_be(small: Bench) -> None:
    small.s3.put_object(Bucket=small.endpoint.bucket, Key="held", Body=bytes(1000))
    found = embedded.status(small.endpoint.state)
    assert (12_000_000, {}) == (found.limit_bytes, found.endpoints)
    assert found.object_bytes >= 1000
    assert found.disk_bytes > found.object_bytes
    told = shell(small, "status")
    assert "of at most" in told
    assert "S3 objects" in told
    assert 12_000_000 == json.loads(shell(small, "status", "--json"))["limit_bytes"]


def test_the_size_is_taken_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SM_TRN_STATE_MAX_GB", raising=False)
    assert 50 == Options().state_max_gb
    monkeypatch.setenv("SM_TRN_STATE_MAX_GB", "2.5")
    assert 2.5 == Options().state_max_gb


def test_a_file_with_holes_counts_as_what_it_takes(tmp_path: Path) -> None:
    from sm_trn.emulator.state.quota import folder_bytes

    with (tmp_path / "sparse").open("wb") as out:
        out.truncate(2**40)
    assert folder_bytes(tmp_path) < 2**20
