"""When to look again: pure schedules, and the clock that they run on."""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import datetime

from ..specs.snapshot import JobSnapshot

EMULATED_PAUSE_S = 0.5
FIRST_PAUSE_S = 5.0
LONGEST_PAUSE_S = 30.0

# A job that trains may end at any time: it is looked at every 15 s at first, then every 10 s, and from 10 minutes on every
# 60th of the time that it trained. A quarter of the calls that SDK v2 makes is enough for that: tests/benchmarks/bench_live.py.
BEGINNING_S, BEGINNING_PAUSE_S = 180.0, 15.0
TRAINING_PAUSE_S = 10.0
TRAINING_SHARE = 1 / 60
# Before that it seldom ends, and after it soon does.
PAUSES_S = {
    "Pending": 30.0,
    "Starting": 30.0,
    "LaunchingMLInstances": 30.0,
    "PreparingTrainingStack": 25.0,
    "Downloading": 25.0,
    "DownloadingTrainingImage": 25.0,
    "Interrupted": 30.0,
    "Restarting": 30.0,
    "Uploading": 8.0,
    "Stopping": 8.0,
}
JITTER = (0.95, 0.99)  # of a pause: many watchers do not meet, and a call still fits into the pause


class SystemClock:
    """Wall time."""

    def now(self) -> float:
        return time.time()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


def next_delay(snapshot: JobSnapshot, attempt: int) -> float:
    """Seconds until a job's log is worth another look: short while it is young, never more than half a minute."""
    if snapshot.emulated:
        return EMULATED_PAUSE_S
    return min(LONGEST_PAUSE_S, FIRST_PAUSE_S + attempt)


def pause_s(job: JobSnapshot, now: datetime) -> float:
    """Seconds until one job is worth another look. ``now`` is the service's time."""
    if job.emulated:
        return EMULATED_PAUSE_S
    phase = "Stopping" if job.status_word == "Stopping" else job.secondary
    if phase in PAUSES_S:
        return PAUSES_S[phase]
    training = (phase.started for phase in reversed(job.transitions) if phase.status == "Training")
    trained_s = (now - next(training, job.started or job.created or now)).total_seconds()
    if trained_s < BEGINNING_S:
        return BEGINNING_PAUSE_S
    return min(LONGEST_PAUSE_S, max(TRAINING_PAUSE_S, trained_s * TRAINING_SHARE))


def next_look_s(jobs: Iterable[JobSnapshot], now: datetime, *, failures: int, jitter: float) -> float:
    """Seconds until any of the running ``jobs`` is; longer, but never more than half a minute, while looks fail in a row.

    ``jitter`` is a random number from 0 to 1.
    """
    soonest = min((pause_s(job, now) for job in jobs), default=FIRST_PAUSE_S)
    low, high = JITTER
    return min(LONGEST_PAUSE_S, soonest * 2.0 ** min(failures, 6)) * (low + (high - low) * jitter)
