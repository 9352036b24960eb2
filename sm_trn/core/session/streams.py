"""The streams of a job's log: how many there can be, and when the last line must have come."""

from __future__ import annotations

from ..ports import LogCursor
from ..specs.snapshot import JobSnapshot

SETTLED_S = 10.0  # last lines reach CloudWatch up to some seconds after the job has ended
LATE_S = 60.0  # a host that has said nothing may open its stream so long after the end: those of a short job are new
_ATTEMPT = frozenset({"Interrupted", "Restarting"})  # after these the containers start again, with new streams


def expected_streams(snapshot: JobSnapshot) -> int:
    """How many streams a job can have by now: one a host and attempt."""
    return snapshot.count * (1 + sum(item.status in _ATTEMPT for item in snapshot.transitions))


def settled(ended: JobSnapshot, cursor: LogCursor, now: float, *, late_s: float = LATE_S) -> bool:
    """Whether every line of a job that has ended must have arrived; a missing stream is waited for until ``late_s`` after the end."""
    end = ended.ended or ended.modified
    return (
        ended.emulated
        or end is None
        or now - end.timestamp() >= (late_s if streams_missing(ended, cursor) else SETTLED_S)
    )


def streams_missing(ended: JobSnapshot, cursor: LogCursor) -> bool:
    """Whether a host that has run has said nothing yet, though its stream may still come."""
    return ended.started is not None and len(cursor.places) < expected_streams(ended)
