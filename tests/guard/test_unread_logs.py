"""A guard says nothing of a log that nobody reads: silence is news of a log that was looked at alone."""

from __future__ import annotations

import dataclasses
import io
from datetime import datetime, timezone
from pathlib import Path

import pytest
from fakes.simulated_sagemaker import Story
from fakes.simulated_wire import World, attached, world

import sm_trn as st
from sm_trn.core.specs import JobSnapshot
from sm_trn.diagnosis.guard.live import JobGuards
from sm_trn.report.watch.progress import LOGGED

HOURS = Story(phases=(("Starting", 30.0), ("Downloading", 30.0), ("Training", 7000.0)))


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> World:
    return world(monkeypatch, tmp_path)


def told(here: World, guard: st.Guard, *, read: bool) -> list[str]:
    """What a guard tells of a job that has trained for two hours without a line."""
    here.service.add("bert", created=here.clock.now(), story=HOURS)
    guards = JobGuards(cloud=here.session, guards={"bert": guard})
    here.clock.sleep(6900)
    if read:
        guards.hear("bert", ())
    now: JobSnapshot = here.session.backend.fetch_snapshot("bert")
    notes: list[str] = []
    guards.look({"bert": now}, datetime.fromtimestamp(here.clock.now(), timezone.utc), notes.append, answering=True)
    return notes


def test_a_log_that_was_read_and_is_empty_is_a_stall(here: World) -> None:
    (note,) = told(here, st.Guard(), read=True)
    assert "its log is empty" in note


def test_a_log_that_nobody_read_is_none(here: World) -> None:
    assert [] == told(here, st.Guard(), read=False)


def test_the_money_is_watched_whoever_reads(here: World) -> None:
    (note,) = told(here, dataclasses.replace(st.Guard(), max_usd=1), read=False)
    assert "it has cost" in note


def test_a_wait_for_more_jobs_than_logs_are_read_of_says_so_and_tells_of_no_stall(here: World) -> None:
    names = [f"fleet-{number:03d}" for number in range(LOGGED + 1)]
    for name in names:
        here.service.add(name, created=here.clock.now() - 4000, story=HOURS)
    shown = io.StringIO()
    here.session.wait([attached(here.session, name) for name in names], stream=shown)
    assert "stalled" not in shown.getvalue()
    assert 1 == shown.getvalue().count("Logs of so many jobs are not read")
    assert len(names) == shown.getvalue().count(" completed, billed ")
