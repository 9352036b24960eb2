"""The engine is the life of a training job as a pure state machine: which status follows which, and what is billed.

An event that no longer applies (a script that ends after its job was stopped) changes nothing.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final


class Event(enum.Enum):
    """What can happen to a job."""

    QUEUE = "every slot of the machine is taken"
    PREPARE = "a slot was found"
    DOWNLOAD = "hosts are up, data is on its way"
    TRAIN = "the script starts"
    UPLOAD = "the script ended"
    FINISH = "nothing is left to do"
    FAIL = "the job failed"
    STOP = "a stop was asked for"
    RUNTIME_EXCEEDED = "MaxRuntimeInSeconds is over"
    WAIT_EXCEEDED = "MaxWaitTimeInSeconds is over"
    PENDING_EXCEEDED = "MaxPendingTimeInSeconds is over"
    INTERRUPT = "spot capacity was taken away"
    RELAUNCH = "capacity is looked for again"
    RETRY = "an internal error is met with another attempt (RetryStrategy)"


# Texts as they stand in answers of the service (describes and job logs of 2021-2025). No public answer with
# Interrupted, MaxWaitTimeExceeded or an exceeded pending time was found: those sentences are ours.
MESSAGES: Final[Mapping[str, str]] = {
    "Starting": "Starting the training job",
    "Preparing": "Preparing the instances for training",
    "Pending": "",
    "Downloading": "Downloading the training image",
    "Training": "Training image download completed. Training in progress.",
    "Uploading": "Uploading generated training model",
    "Completed": "Training job completed",
    "Failed": "Training job failed",
    "Stopping": "Stopping the training job",
    "Stopped": "Training job stopped",
    "Interrupted": "Managed spot capacity was interrupted",
    "MaxRuntimeExceeded": "Training job runtime exceeded MaxRuntimeInSeconds provided",
    "MaxWaitTimeExceeded": "Training job wait time exceeded MaxWaitTimeInSeconds provided",
}
_PENDING_EXCEEDED: Final = "Training job pending time exceeded MaxPendingTimeInSeconds provided"
TERMINAL: Final = frozenset({"Completed", "Failed", "Stopped"})
# Primary status of each secondary one; Uploading keeps the primary it was entered with.
_PRIMARY: Final[Mapping[str, str]] = {
    "Completed": "Completed",
    "Failed": "Failed",
    "Stopping": "Stopping",
    "Stopped": "Stopped",
    "MaxRuntimeExceeded": "Stopped",
    "MaxWaitTimeExceeded": "Stopped",
}
_FAILURE_REASON_LIMIT: Final = 1024  # FailureReason's maximum in the API reference


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """One row of SecondaryStatusTransitions; ``end`` is None while it lasts."""

    status: str
    start: float
    end: float | None = None
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobState:
    """Where a job stands. Times are epoch seconds; ``attempts`` are the billed spans (start, end)."""

    status: str
    secondary: str
    transitions: tuple[Transition, ...]
    created: float
    modified: float
    attempts: tuple[tuple[float, float | None], ...] = ()
    ending: str | None = None
    failure_reason: str | None = None
    spot: bool = False

    @property
    def terminal(self) -> bool:
        return self.status in TERMINAL

    @property
    def waiting(self) -> bool:
        """True for a job of which nothing has begun, and that nobody has stopped."""
        return self.secondary in {"Starting", "Pending"} and not self.attempts and self.ending is None

    @property
    def started(self) -> float | None:
        """Start of the first Downloading: from here on the service bills."""
        return self.attempts[0][0] if self.attempts else None

    @property
    def ended(self) -> float | None:
        return self.transitions[-1].start if self.terminal and self.attempts else None

    def training_seconds(self, now: float) -> int | None:
        """Billed wall time. Start and end are each cut to whole seconds, as the service does."""
        if not self.attempts:
            return None
        return sum(
            math.floor(now if end is None else max(end, start)) - math.floor(start) for start, end in self.attempts
        )

    def billable_seconds(self, now: float, spot_discount: float) -> int | None:
        """Return at least one second; for spot the discount is already inside."""
        seconds = self.training_seconds(now)
        if seconds is None:
            return None
        return max(1, round(max(1, seconds) * (1.0 - spot_discount))) if self.spot else max(1, seconds)


def begin(now: float, *, spot: bool = False) -> JobState:
    first = Transition(status="Starting", start=now, message=MESSAGES["Starting"])
    return JobState(
        status="InProgress", secondary="Starting", transitions=(first,), created=now, modified=now, spot=spot
    )


def advance(state: JobState, event: Event, now: float, *, reason: str = "") -> JobState:
    """Return the state after ``event``; the same object when the event does not apply. Time never runs backwards."""
    if state.terminal:
        return state
    now = max(now, state.transitions[-1].start, state.modified)
    if event is Event.FAIL:
        return _enter(replace(state, failure_reason=reason[:_FAILURE_REASON_LIMIT]), "Failed", now)
    if event is Event.QUEUE:
        return _enter(state, "Pending", now, reason) if state.waiting else state
    if (state.secondary, event) not in _CHANGES or (event is Event.INTERRUPT and not state.spot):
        return state
    secondary, ending = _CHANGES[state.secondary, event]
    if event is Event.FINISH and state.ending is not None:
        secondary = state.ending
    message = {Event.PREPARE: MESSAGES["Preparing"], Event.PENDING_EXCEEDED: _PENDING_EXCEEDED}.get(event)
    return _enter(replace(state, ending=ending or state.ending), secondary or state.secondary, now, message)


def _enter(state: JobState, secondary: str, now: float, message: str | None = None) -> JobState:
    text = MESSAGES[secondary] if message is None else message
    last = state.transitions[-1]
    status = _PRIMARY.get(secondary, "Stopping" if state.ending else "InProgress")
    if last.status == secondary:  # the service keeps one row per status, with its last message
        return replace(state, transitions=(*state.transitions[:-1], replace(last, message=text)), modified=now)
    attempts = state.attempts
    if secondary == "Downloading":
        attempts = (*attempts, (now, None))
    elif attempts and attempts[-1][1] is None and (status in TERMINAL or secondary in {"Interrupted", "Starting"}):
        attempts = (*attempts[:-1], (attempts[-1][0], now))
    closed = (*state.transitions[:-1], replace(last, end=now))
    row = Transition(status=secondary, start=now, end=now if status in TERMINAL else None, message=text)
    return replace(
        state, status=status, secondary=secondary, transitions=(*closed, row), attempts=attempts, modified=now
    )


_WAITING: Final = ("Starting", "Pending")
_RUNNING: Final = ("Downloading", "Training")
# What an event leads to, where a job may be then, and what that makes of its end.
_CHANGES: Final[Mapping[tuple[str, Event], tuple[str, str | None]]] = {
    (place, event): (secondary, ending)
    for event, secondary, ending, places in (
        (Event.PREPARE, "", None, _WAITING),  # it stays where it is, with another message
        (Event.DOWNLOAD, "Downloading", None, _WAITING),
        (Event.TRAIN, "Training", None, ("Downloading",)),
        (Event.UPLOAD, "Uploading", None, ("Training", "Stopping")),
        (Event.FINISH, "Completed", None, ("Uploading", "Stopping")),
        (Event.INTERRUPT, "Interrupted", None, _RUNNING),
        (Event.RELAUNCH, "Starting", None, ("Interrupted",)),
        (Event.RETRY, "Starting", None, ("Starting", *_RUNNING)),
        (Event.PENDING_EXCEEDED, "Stopping", "Stopped", _WAITING),
        (Event.STOP, "Stopping", "Stopped", (*_WAITING, *_RUNNING, "Interrupted")),
        (Event.RUNTIME_EXCEEDED, "Stopping", "MaxRuntimeExceeded", _RUNNING),
        (Event.WAIT_EXCEEDED, "Stopping", "MaxWaitTimeExceeded", (*_WAITING, *_RUNNING, "Interrupted")),
    )
    for place in places
}


def load(document: Mapping[str, Any]) -> JobState:
    """Read a state from plain data: ``load(asdict(state)) == state``."""
    rows = tuple(Transition(**row) for row in document["transitions"])
    spans = tuple((start, end) for start, end in document["attempts"])
    return JobState(**{**document, "transitions": rows, "attempts": spans})
