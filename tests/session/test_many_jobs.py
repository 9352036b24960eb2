"""Hundreds of jobs in few calls, and never an older answer than the list's."""

from __future__ import annotations

import random

import pytest
from fakes.simulated_sagemaker import Refusal, Service, Story
from fakes.simulated_wire import World


def filled(here: World, number: int) -> None:
    chance = random.Random(number)
    here.wire.latency_s = 0.0  # time stands still, so that every way of asking has the same answer
    for n in range(number):
        training = chance.uniform(100, 9000)
        story = Story(phases=(("Starting", 60.0), ("Downloading", 30.0), ("Training", training)))
        job = here.service.add(f"sweep-{n:04d}", created=here.clock.now() - chance.uniform(0, 10_000), story=story)
        job.tags = [{"Key": "team", "Value": chance.choice(["nlp", "lm"])}]


def test_five_hundred_jobs_are_listed_in_a_dozen_calls(here: World) -> None:
    filled(here, 500)
    found = here.session.snapshots(limit=500)
    assert {"ListTrainingJobs": 5, "Search": 5} == dict(here.wire.calls)
    assert found == [here.session.backend.fetch_snapshot(job.name) for job in found]
    assert sorted(here.service.jobs) == sorted(job.name for job in found)


def test_what_search_has_not_heard_of_yet_is_described(here: World) -> None:
    filled(here, 120)
    here.service.search_lag_s = 600.0
    found = here.session.snapshots(limit=120)
    assert 0 < here.wire.calls["DescribeTrainingJob"] < 120
    assert found == [here.session.backend.fetch_snapshot(job.name) for job in found]


def test_a_fleet_has_its_seconds_and_tags_in_few_calls(here: World) -> None:
    filled(here, 300)
    fleet = here.session.fleet(tags=True)
    assert {"ListTrainingJobs": 3, "Search": 3} == dict(here.wire.calls)
    each = [here.session.backend.fetch_snapshot(row.snapshot.name) for row in fleet.rows]
    assert [job.billable_s for job in each] == [row.snapshot.billable_s for row in fleet.rows]
    assert {"nlp", "lm"} == {group.name for group in fleet.by("tag:team")}
    here.wire.calls.clear()
    assert 0 < len(here.session.fleet("sweep", tag=("team", "lm")).rows) < 300
    assert 0 == here.wire.calls["ListTags"]


@pytest.mark.parametrize("code", ["AccessDeniedException", "UnknownOperationException"])
def test_where_search_may_not_be_asked_every_job_is_described(here: World, code: str) -> None:
    class Closed(Service):
        def answer(self, operation: str, body: object) -> dict[str, object]:
            if operation == "Search":
                raise Refusal(code, "no")
            return super().answer(operation, body)  # type: ignore[arg-type]  # passed on

    here.service = here.wire.service = Closed(here.clock)
    filled(here, 60)
    assert 60 == len(here.session.snapshots(limit=60))
    assert 60 == here.wire.calls["DescribeTrainingJob"]


def test_a_fleet_that_is_cut_at_its_limit_says_so(here: World) -> None:
    filled(here, 30)
    cut, whole = here.session.fleet(limit=29), here.session.fleet(limit=30)
    assert (29, None) == (cut.cut, whole.cut)
    assert "There are more: only the 29 newest were looked at" in str(cut)
    assert '"cut_at": 29' in cut.to_json()
    assert "There are more" not in str(whole)
