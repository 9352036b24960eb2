"""The laws of the state machine, driven without a clock, a process or a file."""

from __future__ import annotations

import itertools
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sm_trn.emulator.training import engine
from sm_trn.emulator.training.engine import Event, JobState

# What may follow what; written down here from the service's documentation, not read from the engine.
LEGAL = {
    "Starting": {"Pending", "Downloading", "Stopping", "Failed"},
    "Pending": {"Downloading", "Stopping", "Failed"},
    "Downloading": {"Training", "Interrupted", "Starting", "Stopping", "Failed"},
    "Training": {"Uploading", "Interrupted", "Starting", "Stopping", "Failed"},
    "Interrupted": {"Starting", "Stopping", "Failed"},
    "Stopping": {"Uploading", "Stopped", "MaxRuntimeExceeded", "MaxWaitTimeExceeded", "Failed"},
    "Uploading": {"Completed", "Stopped", "MaxRuntimeExceeded", "MaxWaitTimeExceeded", "Failed"},
    "Completed": set(),
    "Failed": set(),
    "Stopped": set(),
    "MaxRuntimeExceeded": set(),
    "MaxWaitTimeExceeded": set(),
}
histories = st.lists(st.tuples(st.sampled_from(Event), st.floats(0, 5000, allow_nan=False)), max_size=40)
RUN = (Event.PREPARE, Event.DOWNLOAD, Event.TRAIN, Event.UPLOAD, Event.FINISH)


def after(*events: Event, spot: bool = False, step: float = 10.0) -> JobState:
    state = engine.begin(1000.0, spot=spot)
    for index, event in enumerate(events, 1):
        state = engine.advance(state, event, 1000.0 + step * index, reason="AlgorithmError: x")
    return state


def states(history: list[tuple[Event, float]], *, spot: bool) -> list[JobState]:
    now, found = 1000.0, [engine.begin(1000.0, spot=spot)]
    for event, wait in history:
        now += wait
        found.append(engine.advance(found[-1], event, now, reason="AlgorithmError: x"))
    return found


@given(histories, st.booleans())
def test_any_order_of_events_makes_only_legal_transitions(history: list[tuple[Event, float]], spot: bool) -> None:
    rows = [row.status for row in states(history, spot=spot)[-1].transitions]
    assert all(after in LEGAL[before] for before, after in itertools.pairwise(rows))


@given(histories, st.booleans())
def test_transitions_are_contiguous_and_only_the_last_may_be_open(
    history: list[tuple[Event, float]], spot: bool
) -> None:
    state = states(history, spot=spot)[-1]
    rows = state.transitions
    assert all(row.end == later.start for row, later in itertools.pairwise(rows))
    assert (rows[-1].end == rows[-1].start) if state.terminal else rows[-1].end is None


@given(histories, st.booleans())
def test_a_terminal_job_never_changes_again(history: list[tuple[Event, float]], spot: bool) -> None:
    found = states(history, spot=spot)
    first = next((index for index, state in enumerate(found) if state.terminal), len(found) - 1)
    assert all(state == found[first] for state in found[first:])


@given(histories, st.booleans(), st.floats(0, 0.99))
def test_billed_time_never_shrinks(history: list[tuple[Event, float]], spot: bool, discount: float) -> None:
    now, billed = 1000.0, 0
    for state, (_, wait) in zip(states(history, spot=spot), [*history, (Event.QUEUE, 0.0)], strict=True):
        seconds = state.billable_seconds(now, discount) or 0
        assert seconds >= billed
        billed, now = seconds, now + wait


@given(histories, st.booleans())
def test_a_stopped_job_ends_in_nothing_but_stopped_or_failed(history: list[tuple[Event, float]], spot: bool) -> None:
    found = states(history, spot=spot)
    if any(state.status == "Stopping" for state in found) and found[-1].terminal:
        assert found[-1].status in {"Stopped", "Failed"}


@given(histories, st.booleans())
def test_a_state_survives_being_stored(history: list[tuple[Event, float]], spot: bool) -> None:
    state = states(history, spot=spot)[-1]
    assert engine.load(asdict(state)) == state


def test_a_job_that_never_started_bills_nothing() -> None:
    state = after(Event.QUEUE, Event.STOP, Event.FINISH)
    assert ("Stopped", "Stopped") == (state.status, state.secondary)
    assert (None, None, None) == (state.training_seconds(0.0), state.started, state.ended)


def test_spot_bills_the_discounted_share() -> None:
    run = (Event.DOWNLOAD, Event.TRAIN, Event.UPLOAD, Event.FINISH)
    assert 30 == after(*run, spot=True, step=100 / 3).billable_seconds(0.0, 0.7)
    assert 100 == after(*run, spot=False, step=100 / 3).billable_seconds(0.0, 0.7)


def test_the_wait_after_an_interruption_is_not_billed() -> None:
    attempt = (Event.DOWNLOAD, Event.TRAIN)
    state = after(*attempt, Event.INTERRUPT, Event.RELAUNCH, *attempt, Event.UPLOAD, Event.FINISH, spot=True)
    assert 20 + 30 == state.training_seconds(0.0)


@pytest.mark.parametrize(
    ("event", "ending"),
    [
        (Event.STOP, "Stopped"),
        (Event.RUNTIME_EXCEEDED, "MaxRuntimeExceeded"),
        (Event.WAIT_EXCEEDED, "MaxWaitTimeExceeded"),
    ],
)
def test_a_job_ended_from_outside_is_stopped_and_says_why(event: Event, ending: str) -> None:
    state = after(Event.DOWNLOAD, Event.TRAIN, event, Event.UPLOAD, Event.FINISH)
    assert ("Stopped", ending) == (state.status, state.secondary)
    assert "Stopping" in [row.status for row in state.transitions]


def test_a_retried_job_starts_again_and_both_attempts_are_billed() -> None:
    state = after(Event.DOWNLOAD, Event.TRAIN, Event.RETRY, Event.PREPARE, Event.DOWNLOAD, *RUN[2:])
    assert ("Completed", 20 + 30) == (state.status, state.training_seconds(9000.0))
    assert ["Downloading", "Training", "Starting", "Downloading"] == [row.status for row in state.transitions[1:5]]


def test_a_job_that_is_pending_too_long_is_stopped_and_never_billed() -> None:
    state = after(Event.QUEUE, Event.PENDING_EXCEEDED, Event.FINISH)
    assert ("Stopped", "Stopped", None) == (state.status, state.secondary, state.billable_seconds(9000.0, 0.0))
    assert "MaxPendingTimeInSeconds" in state.transitions[-2].message
