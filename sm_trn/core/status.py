"""How a status looks: AWS's states in our words, with glyph, ASCII glyph and colour role. Knows nothing of layout."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from .formatting.printable import printable
from .specs.snapshot import JobSnapshot, JobStatus


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
    def said(self) -> str:
        """The status as a predicate: ``failed``, ``is training``."""
        ended = self.word.startswith(("failed", "stopped", "completed"))
        return self.word if ended else f"was {self.word}" if self.word == "interrupted" else f"is {self.word}"


def _look(word: str, glyph: str, ascii_glyph: str, role: str, order: int, *, short: str = "") -> StatusLook:
    return StatusLook(word, glyph, ascii_glyph, role, order, short or word)


_STARTING = _look("starting", "○", "o", "ink3", 5)
_DOWNLOADING = _look("downloading", "↓", "v", "info", 4)
_MAX_RUN = _look("stopped at max_run", "■", "#", "warn", 7, short="at max_run")
_MAX_WAIT = _look("stopped at max_wait", "■", "#", "warn", 7, short="at max_wait")
COMPILING = _look("compiling", "◇", "c", "info", 3)

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


def status_look(snapshot: JobSnapshot, *, compiling: bool = False) -> StatusLook:
    """The look of a job now. A state that this table does not know keeps AWS's own word."""
    if snapshot.status in {JobStatus.COMPLETED, JobStatus.FAILED, JobStatus.STOPPING}:
        return LOOKS[snapshot.status_word]
    if compiling and snapshot.secondary == "Training":
        return COMPILING
    for word in (snapshot.secondary, snapshot.status_word):
        if word in LOOKS:
            return LOOKS[word]
    word = printable(snapshot.secondary or snapshot.status_word) or "unknown"
    return _look(word, "?", "?", "ink2", 3)
