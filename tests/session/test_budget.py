"""A watch that keeps a budget: jobs are asked to stop, once, when they have cost it; where there is no cost it says so."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from fakes.recorder import Recorder
from fakes.simulated_sagemaker import Refusal, Service, Story
from fakes.simulated_wire import World, attached
from hypothesis import given
from hypothesis import strategies as some

import sm_trn as st
from sm_trn.cli.jobs.launch import _most
from sm_trn.core.formatting.numbers import usd
from sm_trn.core.pricing import Price
from sm_trn.core.session.budget import Budget, as_usd
from sm_trn.core.session.waits import Wait
from sm_trn.core.specs import JobSnapshot, parse_snapshot
from sm_trn.report.watch.progress import progress_of

NOW = datetime(2026, 11, 20, 12, tzinfo=timezone.utc)
HOUR = Story(phases=(("Starting", 100.0), ("Downloading", 20.0), ("Training", 36_000.0)))


def running(name: str, billed_s: float, *, account: str = "123456789012") -> JobSnapshot:
    return parse_snapshot(
        {
            "TrainingJobName": name,
            "TrainingJobArn": f"arn:aws:sagemaker:us-west-2:{account}:training-job/{name}",
            "TrainingJobStatus": "InProgress",
            "TrainingStartTime": NOW - timedelta(seconds=billed_s),
            "ResourceConfig": {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 2},
        }
    )


def budget(max_usd: float, stopped: list[str], said: list[str], **changes: object) -> Budget:
    def price_of(machines: Iterable[tuple[str, int]]) -> Price:
        return Price(
            instance=next(iter(machines))[0],
            region="us-west-2",
            usd_per_hour=Decimal(25),
            as_of="2026-09-01",
            component="Training",
            source="",
        )

    def stop(name: str) -> bool:
        stopped.append(name)
        return True

    return Budget(max_usd=as_usd(max_usd), price_of=price_of, stop=stop, notice=said.append, **changes)  # type: ignore[arg-type]


@given(some.lists(some.floats(0, 100_000), min_size=1, max_size=6), some.floats(0.01, 5000))
def test_jobs_are_stopped_exactly_when_together_they_cost_the_budget(seconds: list[float], max_usd: float) -> None:
    stopped: list[str] = []
    guard = budget(max_usd, stopped, [])
    jobs = [running(f"job-{n}", billed) for n, billed in enumerate(seconds)]
    for _ in range(3):
        guard.guard(jobs, NOW)
    spent = sum((NOW - job.started).total_seconds() for job in jobs if job.started) * 2 * 25 / 3600
    if abs(spent - max_usd) > 1e-3:
        assert ([job.name for job in jobs] if spent > max_usd else []) == stopped  # and each once


def test_an_emulated_job_costs_nothing_and_that_is_said_once() -> None:
    stopped: list[str] = []
    said: list[str] = []
    guard = budget(0.01, stopped, said)
    for _ in range(3):
        guard.guard([running("rehearsal", 1e6, account="000000000000")], NOW)
    assert ([], ["EMULATED: there is no cost, so max_usd guards nothing; usd_per_hour rehearses it."]) == (
        stopped,
        said,
    )


def test_a_price_of_ones_own_rehearses_the_budget_on_the_emulator() -> None:
    stopped: list[str] = []
    said: list[str] = []
    budget(1, stopped, said, usd_per_hour=Decimal(10)).guard([running("rehearsal", 3600, account="000000000000")], NOW)
    assert ["rehearsal"] == stopped
    assert "as if $10.00/h were paid" in said[0]


@pytest.fixture
def watch(here: World) -> Callable[..., tuple[list[JobSnapshot], list[str]]]:
    def run(*names: str, **money: float) -> tuple[list[JobSnapshot], list[str]]:
        shown = Recorder()
        jobs = tuple(attached(here.session, name) for name in names)
        final = Wait(session=here.session, jobs=jobs, observers=(progress_of(here.session, jobs, shown),)).run(
            **{k: as_usd(v) for k, v in money.items()}
        )
        return final, shown.notes

    return run


def test_the_watch_stops_a_job_that_overspends_and_says_so(
    here: World, watch: Callable[..., tuple[list[JobSnapshot], list[str]]]
) -> None:
    here.service.add("dear", created=here.clock.now(), story=HOUR)
    final, notes = watch("dear", max_usd=10)
    price = here.session.price("ml.p4d.24xlarge")
    assert price is not None
    assert "Stopped" == final[0].status_word
    assert 10 <= Decimal(str(final[0].billable_s)) * 2 * price.usd_per_hour / 3600 <= 11.5
    assert 1 == sum("dear was asked to stop: $10." in note and "gets SIGTERM" in note for note in notes)


def test_a_stop_that_was_throttled_is_asked_for_again(
    here: World, watch: Callable[..., tuple[list[JobSnapshot], list[str]]]
) -> None:
    here.wire.throttled = 0.6
    for n in range(5):
        here.service.add(f"dear-{n}", created=here.clock.now(), story=HOUR)
    final, _ = watch(*(f"dear-{n}" for n in range(5)), max_usd=30)
    assert {"Stopped"} == {snapshot.status_word for snapshot in final}


def test_a_budget_without_a_price_is_no_budget(
    here: World, watch: Callable[..., tuple[list[JobSnapshot], list[str]]]
) -> None:
    job = here.service.add("odd", created=here.clock.now(), story=HOUR)
    job.request = {**job.request, "ResourceConfig": {"InstanceType": "ml.m4.xlarge", "InstanceCount": 1}}
    with pytest.raises(st.errors.NotConfigured, match=r"no price for ml\.m4\.xlarge"):
        watch("odd", max_usd=10)
    assert "Stopped" == watch("odd", max_usd=10, usd_per_hour=50)[0][0].status_word


@pytest.mark.parametrize("wrong", [-1, float("nan"), float("inf")])
def test_a_budget_is_a_number_of_dollars(wrong: float) -> None:
    with pytest.raises(st.errors.NotConfigured, match="wanted a number of dollars"):
        as_usd(wrong)


def test_a_job_that_cannot_be_stopped_keeps_no_other_one_running() -> None:
    stopped: list[str] = []

    def stop(name: str) -> bool:
        if name == "first":
            raise st.errors.CloudError("not now")
        stopped.append(name)
        return True

    guard = dataclasses.replace(budget(1, [], []), stop=stop)
    guard.guard([running("first", 36_000), running("second", 36_000)], NOW)
    assert ["second"] == stopped
    assert "not now" in str(guard.failure())


@pytest.mark.parametrize(
    ("status", "failed"), [("Stopping", False), ("Stopped", False), ("Completed", True), ("Failed", True)]
)
def test_a_stop_that_was_heard_though_its_answer_was_an_error_is_no_failure(status: str, *, failed: bool) -> None:
    def refuse(name: str) -> bool:
        raise st.errors.CloudError(f"InternalFailure of {name}", operation="StopTrainingJob", code="InternalFailure")

    budget = Budget(
        max_usd=as_usd(1), price_of=lambda _: None, stop=refuse, notice=list[str]().append, usd_per_hour=Decimal(100)
    )
    job = running("a", 3600.0)
    budget.guard([job], NOW)
    assert budget.failure() is not None
    budget.guard([dataclasses.replace(job, status=st.JobStatus(status), status_word=status)], NOW)
    assert failed == (budget.failure() is not None)


def test_a_job_that_runs_on_long_after_it_was_asked_to_stop_is_asked_again() -> None:
    stopped: list[str] = []
    said: list[str] = []
    guard = budget(1, stopped, said)
    for seconds in (0, 10, 60, 130, 140):
        guard.guard([running("deaf", 36_000)], NOW + timedelta(seconds=seconds))
    assert ["deaf", "deaf"] == stopped
    assert 1 == len(said)


class Denying(Service):
    """An account that lets this identity stop some jobs only."""

    def answer(self, operation: str, body: Mapping[str, Any]) -> dict[str, Any]:
        if operation == "StopTrainingJob" and not body["TrainingJobName"].endswith("mine"):
            raise Refusal("AccessDeniedException", f"not authorized to stop {body['TrainingJobName']}")
        return super().answer(operation, body)


def test_a_budget_that_may_not_stop_jobs_names_them_all_watches_on_and_fails_at_the_end(here: World) -> None:
    here.wire.service = service = Denying(here.clock)
    names = ["one", "two", "mine", "three"]
    for name in names:
        service.add(name, created=here.clock.now(), story=Story(phases=(("Downloading", 20.0), ("Training", 3600.0))))
    shown = Recorder()
    jobs = tuple(attached(here.session, name) for name in names)
    with pytest.raises(st.errors.CloudError, match="jobs could not be asked to stop") as caught:
        Wait(session=here.session, jobs=jobs, observers=(progress_of(here.session, jobs, shown),)).run(
            max_usd=as_usd(20)
        )
    assert dict.fromkeys(names, "Completed") | {"mine": "Stopped"} == {
        name: row.snapshot.status_word for name, row in shown.rows.items()
    }
    for name in ("one", "two", "three"):
        assert f"not authorized to stop {name}" in str(caught.value)
        assert 1 == sum(f"{name} could not be asked to stop" in note for note in shown.notes)
    assert "mine" not in str(caught.value)


def test_jobs_of_one_name_are_added_up_each(here: World, spec: st.JobSpec) -> None:
    """Two files may hold jobs of one name."""
    price = here.session.price("ml.p4d.24xlarge")
    assert price is not None
    said = _most(here.session, [spec, spec.replace(max_run_s=7200)], None)
    assert f"together at most {usd(3 * price.usd_per_hour)}" in said
    assert 2 == said.count("plain: at most")


def test_together_has_no_ceiling_when_one_job_has_none(here: World, spec: st.JobSpec) -> None:
    cheap = spec.replace(compute=st.Compute("ml.m4.xlarge"), distribution=None)
    said = _most(here.session, [spec, cheap], None)
    assert "together no ceiling" in said
    assert "together at most" not in said
    assert "together" not in _most(here.session, [cheap, cheap], None)


def test_instance_groups_have_a_ceiling_and_a_budget(here: World, spec: st.JobSpec) -> None:
    groups = (
        st.specs.InstanceGroup(name="a", instance="ml.p4d.24xlarge"),
        st.specs.InstanceGroup(name="b", instance="ml.trn1.32xlarge", count=2),
    )
    prices = [here.session.price(name) for name in ("ml.p4d.24xlarge", "ml.trn1.32xlarge")]
    assert None not in prices
    p4d, trn1 = (price.usd_per_hour for price in prices if price is not None)
    most = here.session.ceiling(spec.replace(compute=st.Compute(groups=groups)))
    assert most is not None
    assert abs(p4d + 2 * trn1 - most) < Decimal("1e-9")


def test_a_guard_that_may_not_stop_a_job_says_so_once_and_watches_on(here: World) -> None:
    here.wire.service = service = Denying(here.clock)
    story = Story(phases=(("Downloading", 20.0), ("Training", 7200.0)))
    service.add("one", created=here.clock.now(), story=story)
    said: list[str] = []
    guard = st.Guard(max_usd=20, act="stop")
    (final,) = here.session.wait([attached(here.session, "one")], progress=False, notice=said.append, guard=guard)
    assert "Completed" == final.status_word
    assert 1 == sum("one could not be asked to stop" in line and "not authorized to stop one" in line for line in said)
