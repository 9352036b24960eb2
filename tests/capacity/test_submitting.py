"""Jobs are queued once each, whatever becomes of the answers and of this process.

SM_TRN_ROUNDS=25 runs each scenario with as many seeds, SM_TRN_INTERRUPTIONS=25 kills the client at as many calls, before and after each.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from fakes.simulated_sagemaker import Story
from fakes.simulated_wire import World, attached, world

import sm_trn as st
from sm_trn.capacity.submitting import Journal
from sm_trn.core.session.budget import OverBudget
from sm_trn.core.session.launches import PartialLaunch

QUEUE = st.Queue("training", priority=7, share="research")
ROUNDS = range(int(os.environ.get("SM_TRN_ROUNDS", "1")))
INSTANTS = int(os.environ.get("SM_TRN_INTERRUPTIONS", "2"))


class Killed(BaseException):
    """The process ends here: nothing of it goes on."""


def many(spec: st.JobSpec, number: int) -> list[st.JobSpec]:
    return [spec.replace(name=f"job-{n}") for n in range(number)]


def test_a_job_is_queued_and_starts_nothing(here: World, spec: st.JobSpec) -> None:
    job = here.session.submit(spec, queue=QUEUE)
    assert {job.name: 1} == dict(here.service.batch.submitted)
    assert {} == dict(here.service.jobs)
    now = job.snapshot()
    assert ("RUNNABLE", 7, job.name) == (now.status, now.priority, json.loads(now.payload)["TrainingJobName"])
    assert "It is number 1 of the 1 job that the queue starts next." in job.why()


def test_a_hundred_jobs_share_one_upload(here: World, spec: st.JobSpec) -> None:
    jobs = here.session.submit_all(many(spec, 100), queue=QUEUE)
    assert [job.name for job in jobs] == [job.name for job in jobs if here.service.batch.submitted[job.name] == 1]
    assert 1 + 100 == here.wire.calls["PutObject"]  # one source, and a spec for each job
    assert {job.name for job in jobs} == {job.name for job in here.session.queues.fetch_all("training")}


def test_a_job_that_says_its_queue_is_not_started_beside_it(here: World, spec: st.JobSpec) -> None:
    queued = spec.replace(queue=QUEUE)
    with pytest.raises(st.errors.UnknownName, match=r"submit\(job, queue=job.queue\) puts it into its queue"):
        here.session.submit(queued)
    assert queued.queue is not None
    assert 1 == here.service.batch.submitted[here.session.submit(queued, queue=queued.queue).name]


def test_a_teams_policy_holds_in_a_queue_too(
    here: World, spec: st.JobSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = tmp_path / "sm_trn.toml"
    policy.write_text('types = ["ml.g5.*"]\n')
    monkeypatch.setenv("SM_TRN_POLICY", str(policy))
    with pytest.raises(st.errors.InvalidJob, match="POLICY002"):
        here.session.submit(spec, queue=QUEUE)
    assert {} == dict(here.service.batch.submitted)


@pytest.mark.parametrize("rejects", [False, True])
def test_a_submission_whose_answers_were_all_lost_is_recognised(here: World, spec: st.JobSpec, rejects: bool) -> None:
    here.wire.lose_answers_of = {"SubmitServiceJob"}
    here.service.batch.rejects = rejects
    here.service.batch.list_lag_s = 20.0
    job = here.session.submit(spec, queue=QUEUE)
    assert {job.name: 1} == dict(here.service.batch.submitted)
    assert job.name == job.snapshot().name


def test_nobody_knows_whether_it_was_queued(here: World, spec: st.JobSpec) -> None:
    here.wire.lose_answers_of = {"SubmitServiceJob", "ListServiceJobs"}
    with pytest.raises(st.errors.LaunchUnknown, match="Before you submit it again: sm-trn list --queue training"):
        here.session.submit(spec, queue=QUEUE)


def test_a_request_of_another_shape_is_refused_before_anything_is_queued(here: World, spec: st.JobSpec) -> None:
    wrong = spec.replace(kept=(st.specs.Kept("/RetryStrategy", sent='{"MaximumRetryAttempts":"often"}'),))
    with pytest.raises(st.errors.InvalidJob):
        here.session.submit_all([spec, wrong], queue=QUEUE)
    assert {} == dict(here.service.batch.submitted)


def test_every_attempt_counts_in_what_a_job_may_cost(here: World, spec: st.JobSpec) -> None:
    once = here.session.ceiling(spec)
    assert once is not None
    thrice = st.Queue("training", retry=st.specs.Retry(attempts=3))
    with pytest.raises(OverBudget):
        here.session.submit(spec, queue=thrice, max_usd=float(once) * 2)
    here.session.submit(spec, queue=thrice, max_usd=float(once) * 3.01)
    with pytest.raises(OverBudget, match="may preempt it without a limit"):
        here.session.submit(spec, queue=st.Queue("training", quota_share="a"), max_usd=1e6)


@pytest.mark.parametrize("seed", ROUNDS)
def test_a_bad_network_loses_and_doubles_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, spec: st.JobSpec, seed: int
) -> None:
    here = world(monkeypatch, tmp_path, seed=seed, throttled=0.15, broken=0.15, reset=0.15)
    here.service.batch.rejects = bool(seed % 2)
    named: set[str] = set()
    try:
        named = {job.name for job in here.session.submit_all(many(spec, 20), queue=QUEUE)}
    except PartialLaunch as error:
        named = {job.name for job in (*error.launched, *error.unknown)}
    assert set(here.service.batch.submitted) <= named
    assert {1} >= set(here.service.batch.submitted.values())


def run_by_name(here: World, queue: st.Queue | None) -> dict[str, int]:
    return dict(here.service.batch.submitted) if queue is not None else dict.fromkeys(here.service.jobs, 1)


@pytest.mark.parametrize(("queue", "rejects"), [(QUEUE, False), (QUEUE, True), (None, False)])
def test_a_kill_at_any_moment_loses_and_doubles_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, spec: st.JobSpec, queue: st.Queue | None, rejects: bool
) -> None:
    specs, killed = many(spec, 12), 0
    for number in range(0, 25, 25 // min(25, INSTANTS)):
        for after in (False, True):
            folder = tmp_path / f"{number}-{after}"
            folder.mkdir()
            here, journal = world(monkeypatch, folder), folder / "journal.jsonl"
            here.service.batch.rejects = rejects
            here.service.batch.list_lag_s = 1.0 * (number % 3)
            died = False

            def die(here: World = here) -> None:
                here.wire.down = True  # whatever other threads still send does not arrive
                raise Killed

            here.wire.interrupt(number + 1, die, after=after)
            notes: list[str] = []
            try:
                here.session.submit_all(specs, queue=queue, journal=journal, notice=notes.append)
            except BaseException:  # noqa: BLE001 - nobody hears the last words of a killed process
                died = True
            killed += died
            here.wire.down, here.wire.meddle = False, None
            assert run_by_name(here, queue).keys() <= {note.removeprefix("launching ") for note in notes}
            with journal.open("ab") as file:
                file.write(b'{"event": "queu')  # a line that the kill cut off
            jobs = here.session.submit_all(specs, queue=queue, journal=journal, notice=notes.append)
            assert dict.fromkeys((job.name for job in jobs), 1) == run_by_name(here, queue)
            if queue is None:
                launch = next(note for note in notes if "--launch" in note).partition("--launch ")[2][:20]
                assert 12 == len(here.session.jobs(launch[:13], tag=("sm_trn:launch", launch)))
    assert killed >= 2 * min(25, INSTANTS)


def test_what_failed_or_was_stopped_is_launched_again_beside_what_runs(
    here: World, spec: st.JobSpec, tmp_path: Path
) -> None:
    journal, notes = tmp_path / "journal.jsonl", list[str]()
    first = here.session.submit_all(many(spec, 3), journal=journal)
    here.service.jobs[first[0].name].story = Story(outcome="Failed", reason="ClientError: no")
    here.clock.sleep(3_600)
    here.service.jobs[first[1].name].story = Story(phases=(("Training", 90_000.0),))
    again = here.session.submit_all(many(spec, 3), journal=journal, notice=notes.append)
    assert [False, True, True] == [old.name == new.name for old, new in zip(first, again, strict=True)]
    assert "2 of these 3 jobs were launched before" in notes[0]
    assert [f"launching {again[0].name}"] == notes[1:]
    third = here.session.submit_all(many(spec, 3), journal=journal)
    assert [job.name for job in again] == [job.name for job in third]


def test_a_journal_of_other_jobs_is_refused(here: World, spec: st.JobSpec, tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    first = here.session.submit_all(many(spec, 3), queue=QUEUE, journal=journal)
    again = here.session.submit_all(many(spec, 3), queue=QUEUE, journal=journal)
    assert [job.id for job in first] == [job.id for job in again]
    assert 3 == here.wire.calls["SubmitServiceJob"]
    with pytest.raises(st.SmTrnError, match="give the same jobs in the same order"):
        here.session.submit_all(many(spec, 2), queue=QUEUE, journal=journal)
    journal.write_text("not a journal\n")
    with pytest.raises(st.SmTrnError, match="wanted a line of JSON"):
        here.session.submit_all(many(spec, 3), queue=QUEUE, journal=journal)


def test_a_journal_belongs_to_one_process_at_a_time(here: World, spec: st.JobSpec, tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    with journal.held(), pytest.raises(st.SmTrnError, match="which another process is writing"):
        here.session.submit(spec, queue=QUEUE, journal=journal.path)
    assert 1 == here.service.batch.submitted[here.session.submit(spec, queue=QUEUE, journal=journal.path).name]


def test_a_queued_job_is_stopped(here: World, spec: st.JobSpec) -> None:
    first, second = here.session.submit_all(many(spec, 2), queue=QUEUE)
    assert {"1", "2"} == {job.why().partition("It is number ")[2][:1] for job in (first, second)}  # in either order
    first.stop("not needed")
    with pytest.raises(st.errors.JobFailed, match="not needed"):
        first.wait(progress=False)
    with pytest.raises(st.SmTrnError, match="waits in the queue"):
        next(second.logs())
    assert None is second.cost()


def test_the_policy_of_a_queued_job_allows_what_is_asked_of_batch(here: World, spec: st.JobSpec) -> None:
    here.wire.lose_answers_of = {"SubmitServiceJob"}
    job = here.session.submit(spec, queue=QUEUE)
    job.why()
    job.stop()
    asked = {name for name in here.wire.calls if "ServiceJob" in name or "Queue" in name}
    allowed = str(st.policies(spec.replace(queue=QUEUE)).launch)
    assert [] == [name for name in asked if f"'batch:{name}'" not in allowed]
    assert "job-queue/training" in allowed
    assert "batch:" not in str(st.policies(spec).launch)


def test_the_cost_is_that_of_every_attempt(here: World, spec: st.JobSpec) -> None:
    """One attempt was billed, one found no capacity, one of those was deleted, and the newest runs."""
    job = here.session.submit(spec, queue=QUEUE)
    told, start = here.service.batch.jobs[job.id], here.clock.now() - 10_000
    failed = Story(phases=(("Starting", 60.0),), outcome="Failed", reason="CapacityError: none")
    for name, story in (("first", Story()), ("second", failed), ("newest", Story())):
        here.service.add(name, created=start, story=story)
    arns = {
        name: f"arn:aws:sagemaker:us-west-2:123456789012:training-job/{name}"
        for name in ("first", "second", "gone", "newest")
    }
    ids = {name: {"name": "TrainingJobArn", "value": arn} for name, arn in arns.items()}
    told["attempts"] = [{"serviceResourceId": ids[name]} for name in ("first", "gone", "second")]
    told["latestAttempt"] = {"serviceResourceId": ids["newest"]}
    once = attached(here.session, "first").cost()
    assert once is not None
    assert once.usd * 2 == job.cost()
    told |= {"attempts": told["attempts"][1:], "latestAttempt": {"serviceResourceId": ids["second"]}}
    assert None is job.cost()
