"""How a status looks and what a person does next: AWS's states in our words, glyphs, phases. Knows no layout."""

from __future__ import annotations

import enum
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType

from .formatting.printable import printable
from .specs.snapshot import DELETED, JobSnapshot, JobStatus


@dataclass(frozen=True, slots=True)
class StatusLook:
    """``role`` names a colour of ``theme``. ``order``: what needs you comes first. ``short`` fits 11 characters."""

    word: str
    glyph: str
    ascii: str
    role: str
    order: int
    short: str

    @property
    def predicate(self) -> str:
        """The status as a predicate: ``failed``, ``is training``."""
        ended = self.word.startswith(("failed", "stopped", "completed"))
        return self.word if ended else f"was {self.word}" if self.word == "interrupted" else f"is {self.word}"


def _look(word: str, glyph: str, ascii_glyph: str, role: str, order: int, *, short: str = "") -> StatusLook:
    return StatusLook(word, glyph, ascii_glyph, role, order, short or word)


_STARTING = _look("starting", "○", "o", "ink3", 5)
_DOWNLOADING = _look("downloading", "↓", "v", "info", 4)
_MAX_RUN = _look("stopped at max_run", "■", "#", "warn", 7, short="at max_run")
_MAX_WAIT = _look("stopped at max_wait", "■", "#", "warn", 7, short="at max_wait")

# SecondaryStatus of DescribeTrainingJob:
# https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_DescribeTrainingJob.html
LOOKS: Mapping[str, StatusLook] = MappingProxyType(
    {
        "Pending": _look("pending", "·", ".", "ink3", 6),
        "Starting": _STARTING,
        "LaunchingMLInstances": _STARTING,
        "PreparingTrainingStack": _STARTING,
        "Downloading": _DOWNLOADING,
        "DownloadingTrainingImage": _DOWNLOADING,
        "Training": _look("training", "●", "*", "info", 2),
        "Uploading": _look("uploading", "↑", "^", "info", 4),
        "Interrupted": _look("interrupted", "!", "!", "warn", 1),
        "Stopping": _look("stopping", "■", "#", "ink2", 7),
        "Stopped": _look("stopped", "■", "#", "ink2", 7),
        "MaxRuntimeExceeded": _MAX_RUN,
        "MaxWaitTimeExceeded": _MAX_WAIT,
        "Completed": _look("completed", "✓", "+", "ok", 8),
        "Failed": _look("failed", "✗", "x", "err", 0),
    }
)


LIMITS = ("MaxRuntimeExceeded", "MaxWaitTimeExceeded", "MaxPendingTimeExceeded")


class Verdict(enum.Enum):
    """How a job is, in one word. ``sick``: a person should look at it.

    >>> st.results.Verdict.STALLED.word
    'stalled'
    """

    PROGRESSING = "progressing"
    WARMING = "warming"
    SAVING = "saving"
    EVALUATING = "evaluating"
    STALLED = "stalled"
    NOT_FINITE = "not finite"
    WAITING = "waiting for capacity"
    ENDED_WELL = "ended well"
    ENDED_BADLY = "ended badly"
    LEFT_NO_MODEL = "completed, left no model"
    UNSAVED = "not saving"
    UNKNOWN = "unknown"

    @property
    def word(self) -> str:
        """The words that people read."""
        return self.value

    @property
    def sick(self) -> bool:
        """Return True if the job needs somebody."""
        return self in _SICK_LOOKS or self is Verdict.ENDED_BADLY


# How a job looks that runs by its status and is sick by its verdict, and how one that ended well by its status alone.
_SICK_LOOKS: Mapping[Verdict, StatusLook] = MappingProxyType(
    {
        Verdict.STALLED: _look("stalled", "!", "!", "err", 0),
        Verdict.NOT_FINITE: _look("not finite", "!", "!", "err", 0),
        Verdict.UNSAVED: _look("not saving", "!", "!", "warn", 0),
        Verdict.LEFT_NO_MODEL: _look("completed, left no model", "!", "!", "warn", 0, short="no model"),
    }
)
_ENDED_BADLY = _look("ended badly", "✗", "x", "err", 0)
_PHASE_VERDICTS: Mapping[str, Verdict] = MappingProxyType(
    {
        "Pending": Verdict.WAITING,
        "Interrupted": Verdict.WAITING,
        "Starting": Verdict.WARMING,
        "LaunchingMLInstances": Verdict.WARMING,
        "PreparingTrainingStack": Verdict.WARMING,
        "Restarting": Verdict.WARMING,
        "Downloading": Verdict.WARMING,
        "DownloadingTrainingImage": Verdict.WARMING,
        "Uploading": Verdict.SAVING,
        "Stopping": Verdict.SAVING,
    }
)


def limit_of(job: JobSnapshot) -> str:
    """The limit of time that stopped a job, in AWS's word; empty for any other."""
    words = {job.secondary, *(phase.status for phase in job.transitions)}
    over = job.max_run_s is not None and job.training_s is not None and job.training_s >= job.max_run_s
    return next((word for word in LIMITS if word in words or (over and job.status is JobStatus.STOPPED)), "")


def ending(job: JobSnapshot) -> Verdict | None:
    """How a job ended, by its status alone; None while it goes on. Stopped by a person is no bad end; failed, deleted and stopped by a
    limit, in the middle of its script, are."""
    if job.status is JobStatus.FAILED or job.status_word == DELETED or (job.terminal and limit_of(job)):
        return Verdict.ENDED_BADLY
    return Verdict.ENDED_WELL if job.terminal else None


def phase_verdict(job: JobSnapshot) -> Verdict:
    """How a job is outside its training, by the phase that it is in."""
    message = job.transitions[-1].message if job.transitions else ""
    if job.secondary == "Starting" and "capacity" in message.lower():
        return Verdict.WAITING  # "Insufficient capacity error from EC2 while launching instances, retrying!"
    if job.status is JobStatus.STOPPING:
        return Verdict.SAVING
    return _PHASE_VERDICTS.get(job.secondary, Verdict.UNKNOWN)


def status_look(snapshot: JobSnapshot, verdict: Verdict | None = None) -> StatusLook:
    """The look of a job now: of its verdict where that is worse than its status. A state that this table does not know keeps AWS's
    own word."""
    if verdict is not None and verdict in _SICK_LOOKS:
        return _SICK_LOOKS[verdict]
    if verdict is Verdict.ENDED_BADLY and ending(snapshot) is Verdict.ENDED_WELL:
        return _ENDED_BADLY
    if snapshot.status in {JobStatus.COMPLETED, JobStatus.FAILED, JobStatus.STOPPING}:
        return LOOKS[snapshot.status_word]
    for word in (limit_of(snapshot), snapshot.secondary, snapshot.status_word):
        if word in LOOKS:
            return LOOKS[word]
    word = printable(snapshot.secondary or snapshot.status_word) or "unknown"
    return _look(word, "?", "?", "ink2", 3)


@dataclass(frozen=True, slots=True)
class Phase:
    """A stretch of a job's life that took time."""

    word: str
    seconds: float


def phase_word(status: str) -> str:
    """A SecondaryStatus in our word, else in AWS's own."""
    return LOOKS[status].word if status in LOOKS else printable(status)


def phases(job: JobSnapshot, now: datetime) -> Iterator[Phase]:
    """The phases until ``now`` that took half a second or more; not the state in which the job ended."""
    for item in job.transitions:
        seconds = item.seconds(now)
        if item.status not in {"Completed", "Failed", "Stopped"} and seconds >= 0.5:
            yield Phase(phase_word(item.status), seconds)


def why_command(name: str) -> str:
    """The command that asks for the cause of a failure."""
    return f"sm-trn why {shlex.quote(name)}"


def next_command(name: str, status: JobStatus | None, verdict: Verdict | None = None) -> str:
    """The command of the most useful step: of a failed or sick job, ask why."""
    job = shlex.quote(name)
    if status is JobStatus.FAILED or (verdict is not None and verdict.sick):
        return why_command(name)
    if status is JobStatus.STOPPED:
        return f"sm-trn resubmit {job} --resume"
    if status is JobStatus.COMPLETED:
        return f"sm-trn compare {job} --output report/"
    return f"sm-trn watch {job}"
