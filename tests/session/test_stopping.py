"""Stopping many: those that were given, or those that run and fit; never all by accident."""

from __future__ import annotations

import pytest
from fakes.simulated_sagemaker import Story
from fakes.simulated_wire import World, attached

import sm_trn as st

LONG = Story(phases=(("Training", 50_000.0),))


@pytest.fixture
def names(here: World) -> list[str]:
    """120 jobs that run, one in three of them Ann's, among 30 that have ended."""
    now = here.clock.now()
    for n in range(120):
        job = here.service.add(f"{'bert' if n % 2 else 'gpt'}-{n:03d}", created=now - n, story=LONG)
        job.tags = [{"Key": "owner", "Value": "ann" if n % 3 == 0 else "bob"}]
    for n in range(30):
        here.service.add(f"old-bert-{n}", created=now - 100_000)
    return [name for name, job in here.service.jobs.items() if job.story is LONG]


def stopped(here: World) -> set[str]:
    return {name for name, job in here.service.jobs.items() if job.stopped is not None}


def test_what_is_in_the_name_chooses(here: World, names: list[str]) -> None:
    asked = here.session.stop_all(containing="bert")
    assert {name for name in names if "bert" in name} == stopped(here) == {job.name for job in asked}


def test_a_tag_chooses_and_a_name_narrows(here: World, names: list[str]) -> None:
    here.session.stop_all(containing="gpt", tag=("owner", "ann"))
    assert {name for name in names if name.startswith("gpt") and int(name[-3:]) % 3 == 0} == stopped(here)


def test_all_is_said_with_an_empty_text(here: World, names: list[str]) -> None:
    here.session.stop_all(containing="")
    assert set(names) == stopped(here)


def test_nothing_said_stops_nothing(here: World, names: list[str]) -> None:
    with pytest.raises(ValueError, match="wanted one"):
        here.session.stop_all()
    assert (set(), 120) == (stopped(here), len(names))


def test_ended_jobs_are_left_alone(here: World, names: list[str]) -> None:
    given = [attached(here.session, name) for name in (names[0], "old-bert-1")]
    assert [names[0]] == [job.name for job in here.session.stop_all(given)]


def test_a_job_that_ends_while_it_is_stopped_is_no_error(here: World) -> None:
    job = here.service.add("brief", created=here.clock.now() - 599.9)
    assert "Completed" == attached(here.session, "brief").stop(wait=True).status_word
    assert job.stopped is None


def test_stopping_a_job_that_never_was_is_an_error(here: World) -> None:
    with pytest.raises(st.errors.CloudError, match="no-such-job"):
        here.session.stop_all([attached(here.session, "no-such-job")])


def test_one_that_cannot_be_asked_keeps_no_other_one_running(here: World, names: list[str]) -> None:
    given = [attached(here.session, name) for name in ("no-such-job", *names[:5], "nor-this")]
    with pytest.raises(st.errors.CloudError, match="2 of 7 jobs could not be asked to stop") as caught:
        here.session.stop_all(given)
    assert set(names[:5]) == stopped(here)
    assert all(name in str(caught.value) for name in ("no-such-job", "nor-this"))
