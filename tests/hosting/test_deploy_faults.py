"""Whatever ends a deployment, nothing answers, and is billed, that was not named."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from botocore.exceptions import ConnectionClosedError
from fakes.simulated_wire import World, sigint, world
from jobs import job_of

import sm_trn as st

CODE = "def model_fn(folder): return 2\n"
BILLED = ("Endpoint",)
Step = Callable[[st.TrainingJob], object]
STEPS: dict[str, Step] = {
    "deploy": lambda job: job.deploy("ml.c5.xlarge"),
    "deploy, no wait": lambda job: job.deploy("ml.c5.xlarge", wait=False),
}
ENDS = {"Endpoint": "sm-trn deploy {} --delete"}


def finished(patch: pytest.MonkeyPatch, folder: Path) -> tuple[World, st.TrainingJob]:
    """A job that has left a model with its code."""
    here = world(patch, folder)
    spec = job_of(folder / "source", "", framework=st.PyTorch("2.6.0", python="py312"), max_run_s=3600)
    job = here.session.submit(spec)
    here.clock.sleep(3600)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, text in (("weights", "2"), ("code/inference.py", CODE)):
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text.encode()))
    key = str(job.snapshot().model_s3_uri).removeprefix("s3://a-bucket/")
    here.service.objects[f"a-bucket/{key}"] = here.service.objects[key] = packed.getvalue()
    here.wire.calls.clear()
    return here, job


def billed(here: World) -> dict[str, str]:
    return {name: kind for kind, name in here.service.hosting.made if kind in BILLED}


def ended_at(
    here: World, job: st.TrainingJob, step: str, at: int, *, after: bool, happens: Callable[[], None]
) -> tuple[BaseException | None, int]:
    """How a step ends when something ``happens`` at its call number ``at``, and how many calls there were."""
    here.service.hosting.made.clear()
    seen = here.wire.interrupt(at, happens, after=after)
    try:
        STEPS[step](job)
    except BaseException as raised:  # noqa: BLE001 - what it is, the test says
        return raised, seen[0]
    return None, seen[0]


def unexpected() -> None:
    raise RuntimeError("out of memory")


@pytest.mark.parametrize("happens", [sigint, unexpected])
@pytest.mark.parametrize("step", STEPS)
def test_whatever_ends_a_deployment_what_is_billed_is_named_with_how_to_end_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, step: str, happens: Callable[[], None]
) -> None:
    here, job = finished(monkeypatch, tmp_path)
    _, calls = ended_at(here, job, step, 0, after=False, happens=happens)
    assert calls > 3
    for at in range(1, calls + 1):
        for after in (False, True):
            raised, _ = ended_at(here, job, step, at, after=after, happens=happens)
            assert isinstance(raised, KeyboardInterrupt if happens is sigint else Exception), at
            for name, kind in billed(here).items():
                assert ENDS[kind].format(name) in str(raised), (at, after)


@pytest.mark.parametrize("step", STEPS)
def test_a_deployment_whose_answers_are_lost_is_found_by_its_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, step: str
) -> None:
    here, job = finished(monkeypatch, tmp_path)
    lost = []

    def once(operation: str, done: bool) -> None:
        if done and operation.startswith("Create") and operation not in lost:
            lost.append(operation)
            raise ConnectionClosedError(endpoint_url=operation)

    here.wire.meddle = once
    made = STEPS[step](job)
    assert {made.name} == set(billed(here))  # type: ignore[attr-defined]  # both handles have one
    assert {"Model"} < {kind for kind, _ in here.service.hosting.made}
    assert 2 <= len(lost)


@pytest.mark.parametrize("step", STEPS)
def test_a_deployment_of_which_no_answer_comes_is_named_and_keeps_its_model(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, step: str
) -> None:
    here, job = finished(monkeypatch, tmp_path)
    here.wire.lose_answers_of = {"CreateEndpoint", "DescribeEndpoint"}
    with pytest.raises(st.errors.CloudError) as caught:
        STEPS[step](job)
    ((name, kind),) = billed(here).items()
    assert ENDS[kind].format(name) in str(caught.value)
    assert ("Model", name) in here.service.hosting.made


@pytest.mark.parametrize("step", STEPS)
def test_a_deployment_that_was_refused_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, step: str
) -> None:
    here, job = finished(monkeypatch, tmp_path)

    here.service.hosting.refused = {"CreateEndpoint"}
    with pytest.raises(st.errors.CloudError, match="ResourceLimitExceeded"):
        STEPS[step](job)
    assert {} == here.service.hosting.made


def test_an_endpoint_that_cannot_be_deleted_keeps_none_of_the_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    here, job = finished(monkeypatch, tmp_path)
    for _ in range(3):
        job.deploy("ml.c5.xlarge", wait=False, max_hours=0)
    first = min(billed(here))

    here.service.hosting.refused = {f"DeleteEndpoint {first}"}
    with pytest.raises(st.errors.CloudError, match=first):
        here.session.endpoints().delete_overdue()
    assert {first} == set(billed(here))


def test_an_endpoint_without_machines_or_a_model_of_its_own_is_listed_and_deleted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    here, job = finished(monkeypatch, tmp_path)
    job.deploy("ml.c5.xlarge", wait=False)
    here.service.hosting.variant = {"ServerlessConfig": {"MemorySizeInMB": 1024, "MaxConcurrency": 5}}
    (row,) = here.session.endpoints()
    assert ("", 1, None) == (row.instance, row.count, row.usd_per_hour)
    here.session.endpoint(row.name).delete()
    assert {} == billed(here)


def test_many_looks_at_an_endpoint_make_one_client(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    here, job = finished(monkeypatch, tmp_path)
    assert here.session.boto_session is not None
    made: list[str] = []
    here.session.boto_session.events.register("creating-client-class", lambda **_event: made.append("client"))
    endpoint = job.deploy("ml.c5.xlarge")
    for _ in range(5):
        assert "InService" == endpoint.status
    assert 2 == len(made)  # of SageMaker and S3
