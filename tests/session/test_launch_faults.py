"""Whatever ends a launch, no job runs that was not named: Ctrl-C, an unexpected exception, lost, late and foreign answers.

SM_TRN_ROUNDS=100 runs each scenario with a hundred seeds.
"""

from __future__ import annotations

import dataclasses
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from botocore.exceptions import ReadTimeoutError
from fakes.simulated_sagemaker import SimulatedJob
from fakes.simulated_wire import World, sigint, world

import sm_trn as st
from sm_trn.core.aws import Boto3Backend
from sm_trn.core.session.launches import LaunchInterrupted
from sm_trn.core.session.waits import Wait
from sm_trn.core.specs import JobStatus

ROUNDS = range(int(os.environ.get("SM_TRN_ROUNDS", "2")))
BODIES = (
    b"<html>Sign in</html>",
    b"",
    b"[]",
    b'"ok"',
    b"{}",
    b"null",
    b'{"TrainingJobArn": 5}',
    b"\xff\xfe",
    b"[1, {}]",
)


def three(spec: st.JobSpec) -> list[st.JobSpec]:
    return [spec.replace(name=f"job-{n}") for n in range(3)]


def raised(error: BaseException) -> Callable[[], None]:
    def now() -> None:
        raise error

    return now


def launched_with(
    patch: pytest.MonkeyPatch,
    folder: Path,
    specs: list[st.JobSpec],
    at: int,
    happens: Callable[[], None],
    *,
    after: bool,
) -> tuple[World, list[st.TrainingJob], BaseException | None, int]:
    """Launch; at the call number ``at``, before or ``after`` it took effect, something ``happens``."""
    here = world(patch, folder)
    seen = here.wire.interrupt(at, happens, after=after)
    try:
        jobs = here.session.submit_all(specs)
    except BaseException as error:  # noqa: BLE001 - what it is, the test says
        return here, [], error, seen[0]
    return here, jobs, None, seen[0]


def told(jobs: list[st.TrainingJob], error: BaseException | None) -> set[str]:
    named = {job.name for job in (*jobs, *getattr(error, "launched", ()), *getattr(error, "unknown", ()))}
    if isinstance(error, st.errors.CloudError) and hasattr(error, "name"):
        named.add(error.name)
    if error is not None:
        assert all(name in str(error) for name in named)
    return named


def certain(here: World, error: BaseException | None) -> bool:
    """What is called launched was made; what is called not launched was not."""
    refused = set(getattr(error, "failed", {})) - {job.name for job in getattr(error, "unknown", ())}
    return {job.name for job in getattr(error, "launched", ())} <= set(here.service.jobs) and not (
        refused & set(here.service.jobs)
    )


@pytest.mark.parametrize("seed", ROUNDS)
def test_ctrl_c_at_any_call_of_a_launch_names_every_job(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, spec: st.JobSpec, seed: int
) -> None:
    chance = random.Random(seed)
    specs = three(spec)[: chance.randint(1, 3)]
    _, _, _, calls = launched_with(monkeypatch, tmp_path, specs, 0, sigint, after=False)
    for at in range(1, calls + 1):
        after, by_hand = chance.random() < 0.5, chance.random() < 0.7
        happens = sigint if by_hand else raised(KeyboardInterrupt())
        here, jobs, error, _ = launched_with(monkeypatch, tmp_path, specs, at, happens, after=after)
        assert isinstance(error, KeyboardInterrupt), (seed, at)
        assert set(here.service.jobs) <= told(jobs, error), (seed, at)
        assert certain(here, error)
        if here.service.jobs:
            assert isinstance(error, LaunchInterrupted)
            assert "sm-trn stop job-" in str(error) or "sm-trn stop plain" in str(error)


@pytest.mark.parametrize("seed", ROUNDS)
def test_an_unexpected_exception_at_any_call_names_every_job(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, spec: st.JobSpec, seed: int
) -> None:
    chance = random.Random(seed)
    specs = three(spec)[: chance.randint(1, 3)]
    _, _, _, calls = launched_with(monkeypatch, tmp_path, specs, 0, sigint, after=False)
    for at in range(1, calls + 1):
        kind = chance.choice([RuntimeError, MemoryError, RecursionError, AssertionError, KeyError, OSError])
        here, jobs, error, _ = launched_with(
            monkeypatch, tmp_path, specs, at, raised(kind("unforeseen")), after=chance.random() < 0.5
        )
        assert set(here.service.jobs) <= told(jobs, error), (seed, at)
        assert certain(here, error)


@pytest.mark.parametrize("seed", ROUNDS)
def test_a_job_whose_answer_was_lost_is_found_although_describe_does_not_know_it_yet(
    here: World, spec: st.JobSpec, seed: int
) -> None:
    chance = random.Random(seed)
    lose_first(here, chance.randint(1, 3))
    here.service.unaware = stale(here, chance)
    job = here.session.submit(spec)
    assert {job.name: 1} == dict(here.service.created)


def lose_first(here: World, number: int) -> None:
    """So many answers to a create are lost."""
    left = iter(range(number))

    def lose(operation: str, done: bool) -> None:
        if operation == "CreateTrainingJob" and done and next(left, None) is not None:
            raise ReadTimeoutError(endpoint_url="https://sagemaker")

    here.wire.meddle = lose


def stale(here: World, chance: random.Random) -> Callable[[SimulatedJob], bool]:
    """Answers that do not know a job for up to 40 s, and forget it now and then meanwhile."""
    for_s = chance.uniform(0.5, 40.0)
    return lambda job: here.clock.now() - job.created < for_s and chance.random() < 0.8


@pytest.mark.parametrize("seed", ROUNDS)
def test_a_job_that_describe_never_knows_is_not_called_not_launched(here: World, spec: st.JobSpec, seed: int) -> None:
    lose_first(here, random.Random(seed).randint(1, 5))
    here.service.unaware = lambda _job: True
    with pytest.raises(st.errors.LaunchUnknown, match="sm-trn list plain-") as caught:
        here.session.submit(spec)
    assert [caught.value.name] == list(here.service.jobs)


@pytest.mark.parametrize("seed", ROUNDS)
def test_a_throttle_or_an_expired_login_behind_a_lost_answer_is_not_the_last_word(
    here: World, spec: st.JobSpec, seed: int
) -> None:
    """The retry says that it was throttled; the attempt before it made the job."""
    chance = random.Random(seed)
    begun: list[str] = []

    def meddle(operation: str, done: bool) -> None:
        if operation != "CreateTrainingJob":
            return
        if done and not begun:
            begun.append(operation)
            here.wire.throttled = 1.0
            here.clock.at(here.clock.now() + chance.uniform(200, 300), lambda: setattr(here.wire, "throttled", 0.0))
            raise ReadTimeoutError(endpoint_url="https://sagemaker")

    here.wire.meddle = meddle
    try:
        named = {here.session.submit(spec).name}
    except st.errors.CloudError as error:
        named = told([], error)
    assert set(here.service.jobs) == named


@pytest.mark.parametrize("seed", ROUNDS)
def test_not_found_just_after_create_ends_no_wait_and_deletes_no_job(here: World, spec: st.JobSpec, seed: int) -> None:
    chance = random.Random(seed)
    here.service.unaware = stale(here, chance)
    jobs = here.session.submit_all(three(spec)[: chance.randint(1, 3)])
    if chance.random() < 0.5:  # somebody else's session, who has only heard of them
        here.session = world_again(here)
        here.clock.sleep(chance.uniform(0, 20))
        jobs = [st.TrainingJob(name=job.name, session=here.session, spec=job.asked) for job in jobs]
        seen_once(here, jobs)
    notes: list[str] = []
    final = Wait(session=here.session, jobs=tuple(jobs), notify=notes.append).run()
    assert {JobStatus.COMPLETED} == {snapshot.status for snapshot in final}
    assert not notes


def world_again(here: World) -> st.Session:
    return dataclasses.replace(here.session, backend=Boto3Backend(here.session.boto_session, here.clock))


def seen_once(here: World, jobs: list[st.TrainingJob]) -> None:
    """Ask until each is known: who has never heard of a job believes that there is none."""
    for job in jobs:
        for _ in range(200):
            try:
                job.snapshot()
                break
            except st.errors.CloudError:
                here.clock.sleep(1)


@pytest.mark.parametrize("seed", ROUNDS)
def test_a_new_job_is_described_logged_and_stopped_although_an_answer_does_not_know_it(
    here: World, spec: st.JobSpec, seed: int
) -> None:
    here.service.unaware = stale(here, random.Random(seed))
    job = here.session.submit(spec)
    assert job.name == job.snapshot().name
    assert "" != job.destination().role
    assert JobStatus.STOPPING is job.stop().status


def test_a_job_that_never_was_is_still_told_at_once(here: World) -> None:
    before = here.clock.now()
    with pytest.raises(st.errors.CloudError, match="wanted a job in us-west-2"):
        here.session.attach("no-such-job")
    assert here.clock.now() - before < 1


@pytest.mark.parametrize("seed", ROUNDS)
@pytest.mark.parametrize("body", BODIES)
def test_a_foreign_answer_keeps_the_jobs_name(here: World, spec: st.JobSpec, body: bytes, seed: int) -> None:
    chance = random.Random(seed)
    times, effect = [chance.choice([1, 2, 10_000])], chance.random() < 0.5

    def foreign(operation: str, done: bool) -> bytes | None:
        if operation in {"CreateTrainingJob", "DescribeTrainingJob"} and done is effect and times[0] > 0:
            times[0] -= 1
            return body
        return None

    here.wire.meddle = foreign
    words = "plain-"
    try:
        named = {here.session.submit(spec).name}
    except st.errors.CloudError as error:
        named, words = told([], error), str(error)
    assert set(here.service.jobs) <= named
    assert "plain-" in words


@pytest.mark.parametrize("seed", ROUNDS)
@pytest.mark.parametrize("body", BODIES)
def test_a_foreign_answer_does_not_end_a_watch(here: World, body: bytes, seed: int) -> None:
    chance = random.Random(seed)
    for name in ("pair-1", "pair-2")[: 1 + seed % 2]:
        here.service.add(name, created=here.clock.now())
    here.wire.meddle = lambda _operation, done: body if done and chance.random() < 0.2 else None
    jobs = tuple(st.TrainingJob(name=name, session=here.session) for name in here.service.jobs)
    final = Wait(session=here.session, jobs=jobs, notify=lambda _text: None).run()
    assert {JobStatus.COMPLETED} == {snapshot.status for snapshot in final}
