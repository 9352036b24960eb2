"""Many jobs on a virtual clock: no fault of the network reaches the user, nothing is lost, and few calls are enough."""

from __future__ import annotations

import ast
import dataclasses
import os
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from fakes.recorder import Recorder
from fakes.simulated_sagemaker import Story
from fakes.simulated_wire import World, attached, world
from jobs import job_of

import sm_trn as st
from sm_trn.core.logs import LogEvent
from sm_trn.core.ports import LogBatch, LogCursor, LogSource
from sm_trn.core.session.waits import Wait, poller_for
from sm_trn.core.specs import JobSnapshot
from sm_trn.report.watch.progress import progress_of

FAULTY = int(os.environ.get("SM_TRN_FAULT_JOBS", "100"))
FLEET = int(os.environ.get("SM_TRN_FLEET_JOBS", "500"))
SEED = int(os.environ.get("SM_TRN_FAULT_SEED", "7"))
ENDS = ("Completed", "Completed", "Completed", "Failed")


class Tape:
    """A log source that keeps what it gave out."""

    def __init__(self, inner: LogSource) -> None:
        self._inner = inner
        self.lines: dict[str, list[str]] = defaultdict(list)

    def fetch_events(
        self, job_name: str, cursor: LogCursor, *, streams: int | None = None
    ) -> tuple[Iterable[LogEvent], LogCursor]:
        events, after = self._inner.fetch_events(job_name, cursor, streams=streams)
        found = list(events)
        self.lines[job_name].extend(f"{event.host} {event.text}" for event in found)
        return found, after

    def stream_events(self, job_name: str, cursor: LogCursor, *, streams: int | None = None) -> Iterator[LogBatch]:
        for batch in self._inner.stream_events(job_name, cursor, streams=streams):
            self.lines[job_name].extend(f"{event.host} {event.text}" for event in batch.events)
            yield batch


def story(name: str) -> Story:
    """A job of five to forty minutes, two hosts that log, one in four that fails, one in five interrupted once."""
    chance = random.Random(f"{SEED}-{name}")
    phases = [("Starting", chance.uniform(40, 300)), ("Downloading", chance.uniform(10, 120))]
    phases += [("Training", chance.uniform(100, 1000))]
    if chance.random() < 0.2:
        phases += [
            ("Interrupted", 60.0),
            ("Starting", 90.0),
            ("Downloading", 20.0),
            ("Training", chance.uniform(100, 600)),
        ]
    phases += [("Uploading", chance.uniform(2, 40))]
    whole = sum(seconds for _, seconds in phases)
    begin = phases[0][1] + phases[1][1]
    times = sorted(chance.uniform(begin, whole) for _ in range(60))
    first = tuple((at, str({"loss": 1 / (n + 1), "step": n})) for n, at in enumerate(times))
    second = tuple((at, f"line {n} of host 2") for n, at in enumerate(times))
    return Story(
        phases=tuple(phases),
        outcome=chance.choice(ENDS),
        reason="AlgorithmError: exit code: 1",
        lines={"algo-1": first, "algo-2": second},
    )


@pytest.fixture
def specs(tmp_path: Path) -> list[st.JobSpec]:
    two = st.Compute("ml.c5.xlarge", count=2)
    base = job_of(tmp_path / "source", "print('hello')\n", compute=two, distribution=st.MPI(), max_run_s=86_400)
    return [base.replace(name=f"fleet-{n:03d}") for n in range(FAULTY)]


def test_no_fault_reaches_the_user_and_nothing_is_lost_or_doubled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, specs: list[st.JobSpec]
) -> None:
    here = world(monkeypatch, tmp_path, seed=SEED, throttled=0.20, broken=0.05, reset=0.02)
    here.service.story_of = story
    here.service.page_events = 7  # many pages, as if lines were long
    clock, start = here.clock, here.clock.now()
    clock.at(start + 600, lambda: here.wire.expired.add("FIRST"))
    clock.at(start + 900, lambda: here.log_in("SECOND"))
    clock.at(start + 1500, lambda: here.wire.expired.add("SECOND"))
    clock.at(start + 1700, lambda: here.log_in("THIRD"))

    tape = Tape(here.session.logs)
    session = dataclasses.replace(here.session, logs=tape)
    jobs = session.submit_all(specs)
    shown = Recorder()
    final = Wait(session=session, jobs=tuple(jobs), observers=(progress_of(session, jobs, shown),)).run()

    service = here.service
    assert {1} == set(service.created.values())
    assert len(specs) == len(service.jobs) == len(jobs)
    assert [service.jobs[job.name].outcome for job in jobs] == [snapshot.status_word for snapshot in final]
    assert all(snapshot.failure_reason for snapshot in final if snapshot.status_word == "Failed")
    for job in jobs:
        wanted = service.jobs[job.name].story.lines
        assert sorted(f"{host} {text}" for host, rows in wanted.items() for _, text in rows) == sorted(
            tape.lines[job.name]
        )
        losses = [point.value for point in shown.rows[job.name].points if point.name == "loss"]
        assert [ast.literal_eval(text)["loss"] for _, text in wanted["algo-1"]] == losses
    assert 2 == sum("login expired" in note for note in shown.notes)
    assert 2 == sum("Connected again" in note for note in shown.notes)
    total = sum(here.wire.calls.values())
    print(f"\n{len(jobs)} jobs, {total} calls, faults {dict(here.wire.faults)}, by operation {dict(here.wire.calls)}")
    assert here.wire.faults["throttled"] > 0.15 * (total - here.wire.faults["expired"])


def watched(here: World, names: list[str]) -> tuple[dict[str, JobSnapshot], list[float]]:
    """Poll until all have ended: what is known then, and the seconds from each end to when it was known."""
    jobs = tuple(attached(here.session, name) for name in names)
    noticed: dict[str, float] = {}
    known: dict[str, JobSnapshot] = {}
    waiting = set(names)
    for known in poller_for(here.session, jobs, print).sweeps(names):
        for name in [name for name in waiting if name in known and known[name].terminal]:
            waiting.remove(name)
            noticed[name] = here.clock.now()
    return known, sorted(noticed[name] - here.service.jobs[name].end for name in names)


def test_a_fleet_needs_hardly_more_calls_than_its_ends_and_every_end_is_seen_soon(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    here = world(monkeypatch, tmp_path, latency_s=0.08)
    chance = random.Random(SEED)
    start = here.clock.now()
    names = [f"sweep-{n:05d}" for n in range(FLEET)]
    for name in names:
        phases = (
            ("Starting", 100.0),
            ("Downloading", 60.0),
            ("Training", chance.uniform(400, 7000)),
            ("Uploading", 15.0),
        )
        here.service.add(name, created=start - chance.uniform(0, 150), story=Story(phases=phases))
    for n in range(300):
        here.service.add(f"others-{n}", created=start - 10.0, story=Story())
    known, delays = watched(here, names)
    calls = here.wire.calls
    total, pages = sum(calls.values()), calls["ListTrainingJobs"]
    noticed = f"{delays[len(delays) // 2]:.1f} s (median), {delays[int(0.99 * len(delays))]:.1f} s (p99), {delays[-1]:.1f} s (most)"
    print(
        f"\n{FLEET} jobs: {total} calls = {total / FLEET:.2f} a job, {pages} list pages, {total / (pages + FLEET):.3f} of the "
        f"minimum; end noticed after {noticed}"
    )
    assert all(snapshot.status_word == "Completed" and snapshot.billable_s for snapshot in known.values())
    assert total <= 1.2 * (pages + FLEET)
    assert pages <= 1600 + 0.4 * FLEET  # two hours of looks, and the pages that so many changes fill
    assert delays[len(delays) // 2] <= 15
    assert delays[-1] <= 40
