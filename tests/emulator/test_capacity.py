"""The emulator's table of capacity, and work that goes where there is room: the same code as on AWS."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from emulator.bench import Bench, running, shell, spot
from jobs import job_of

import sm_trn as st

pytestmark = pytest.mark.local


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """No ml.p4d.24xlarge, and one ml.g5.xlarge at a time."""
    state = tmp_path_factory.mktemp("narrow")
    with running(state, max_jobs=3, stop_grace_s=2.0, capacity={"ml.p4d.24xlarge": 0, "ml.g5.xlarge": 1}) as bench:
        yield bench


def cluster(instance: str, **more: Any) -> dict[str, Any]:
    return {"ResourceConfig": {"InstanceType": instance, "InstanceCount": 1, "VolumeSizeInGB": 1}, **more}


def test_a_job_without_machines_fails_and_one_that_waits_is_pending(narrow: Bench) -> None:
    failed = narrow.finished(narrow.submit("", **cluster("ml.p4d.24xlarge")))
    assert ("Failed", True) == (
        failed["TrainingJobStatus"],
        failed["FailureReason"].startswith("CapacityError: Unable to provision"),
    )
    first = narrow.submit("", **cluster("ml.g5.xlarge", AlgorithmSpecification=shell("sleep 1")))
    narrow.until(first, lambda answer: answer["SecondaryStatus"] == "Training")
    second = narrow.submit("", **cluster("ml.g5.xlarge", AlgorithmSpecification=shell("echo second"), **spot(60, 90)))
    assert "Pending" == narrow.until(second, lambda answer: answer["SecondaryStatus"] != "Starting")["SecondaryStatus"]
    assert "Completed" == narrow.finished(first)["TrainingJobStatus"]
    assert "Completed" == narrow.finished(second)["TrainingJobStatus"]


def test_a_waiting_job_can_be_stopped(narrow: Bench) -> None:
    name = narrow.submit("", **cluster("ml.p4d.24xlarge", **spot(60, 90)))
    narrow.until(name, lambda answer: answer["SecondaryStatus"] == "Pending")
    narrow.sagemaker.stop_training_job(TrainingJobName=name)
    assert "Stopped" == narrow.finished(name)["TrainingJobStatus"]


def test_a_work_falls_back_to_what_has_room(narrow: Bench, tmp_path: Path) -> None:
    session = st.connect("emulator", state=narrow.endpoint.state)
    text = "print('done')\n"
    job = job_of(tmp_path / "source", text, compute=st.Compute("ml.p4d.24xlarge"), distribution=st.TorchDistributed())
    waits = job.replace(name="waits", max_pending_s=7200)
    said: list[str] = []
    done = st.fallback(
        job, [waits, "ml.g5.xlarge"], session=session, journal=tmp_path / "j", tell=said.append, max_pending_s=1.0
    )
    assert ("ml.g5.xlarge", "Completed", None) == (
        done.place.job.compute.instance,
        done.job.snapshot().status_word,
        done.usd,
    )
    assert ["CapacityError", "Stopped"] == [each.reason.partition(":")[0] for each in done.tried]
    assert [job.name for job in session.jobs(done.job.name)] == [done.job.name]
    assert any(f"launching {done.job.name}" in line for line in said)
