"""Managed spot: an interruption, checkpoints that survive it, and what is billed."""

from __future__ import annotations

from typing import Any

import pytest
from emulator.bench import Bench, spot

from sm_trn import emulator as embedded
from sm_trn.core.errors import EmulatorError

# Counts one step a line; remembers the last in a checkpoint; deletes the checkpoint before it.
COUNTER = """
    import os, pathlib, signal, sys, time
    folder = pathlib.Path(os.environ.get("SAGEMAKER_BASE_DIR", "/opt/ml"), "checkpoints")
    done = max((int(path.stem) for path in folder.glob("*.step")), default=0)
    print(f"resumed at {done}")
    def leave(*_):
        print("told to leave")
        sys.exit(143)
    signal.signal(signal.SIGTERM, leave)
    for step in range(done + 1, done + 4):
        (folder / f"{step}.step").write_text("x" * step)
        (folder / f"{step - 1}.step").unlink(missing_ok=True)
    print(f"reached {step}")
    if done == 0:
        time.sleep(120)
    pathlib.Path(os.environ["SM_MODEL_DIR"], "steps.txt").write_text(str(step))
"""


def spot_job(bench: Bench, prefix: str, script: str = COUNTER, **members: Any) -> str:
    return bench.submit(
        script,
        CheckpointConfig={"S3Uri": f"s3://{bench.endpoint.bucket}/{prefix}"},
        **spot(300, 600),
        **members,
    )


def keys(bench: Bench, prefix: str) -> list[str]:
    found = bench.s3.list_objects_v2(Bucket=bench.endpoint.bucket, Prefix=prefix)
    return [entry["Key"] for entry in found.get("Contents", [])]


@pytest.fixture(scope="module")
def resumed(bench: Bench) -> dict[str, Any]:
    """A spot job that was interrupted once and then finished."""
    name = spot_job(bench, "spot/resumed")
    bench.said(name, "reached 3")
    embedded.interrupt(name, bench.endpoint.state)
    return bench.finished(name)


def test_an_interrupted_job_starts_again_and_completes(resumed: dict[str, Any]) -> None:
    attempt = ["Starting", "Downloading", "Training"]
    rows = [row["Status"] for row in resumed["SecondaryStatusTransitions"] if row["Status"] != "Pending"]
    assert [*attempt, "Interrupted", *attempt, "Uploading", "Completed"] == rows


def test_the_second_attempt_goes_on_where_the_first_was(bench: Bench, resumed: dict[str, Any]) -> None:
    lines = bench.lines(resumed["TrainingJobName"])
    said = [line for line in lines if line.startswith(("resumed", "reached", "told"))]
    assert ["resumed at 0", "reached 3", "told to leave", "resumed at 3", "reached 6"] == said
    assert {"steps.txt": b"6"} == bench.model(resumed["TrainingJobName"])


def test_checkpoints_in_s3_are_those_of_the_folder_deletions_included(bench: Bench, resumed: dict[str, Any]) -> None:
    assert ["spot/resumed/6.step"] == keys(bench, "spot/resumed")


def test_without_notice_the_script_is_not_told(bench: Bench) -> None:
    name = spot_job(bench, "spot/hard")
    bench.said(name, "reached 3")
    embedded.interrupt(name, bench.endpoint.state, notice=False)
    assert "Completed" == bench.finished(name)["TrainingJobStatus"]
    assert not any("told to leave" in line for line in bench.lines(name))


def test_a_job_that_is_no_spot_job_cannot_be_interrupted(bench: Bench) -> None:
    name = bench.submit("print('short')")
    with pytest.raises(EmulatorError, match="no managed spot job"):
        embedded.interrupt(name, bench.endpoint.state)
    bench.finished(name)


def test_a_spot_job_beyond_its_wait_is_stopped_not_failed(bench: Bench) -> None:
    answer = bench.finished(bench.submit("import time; time.sleep(60)", **spot(3, 3)))
    assert ("Stopped", "MaxWaitTimeExceeded") == (answer["TrainingJobStatus"], answer["SecondaryStatus"])
    assert "FailureReason" not in answer
