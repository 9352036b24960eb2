"""Where a job's minutes went, one stretch after another since it was submitted. Draws nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from ...core.specs.snapshot import JobSnapshot, Transition
from ...core.status import Texture, texture_of
from .rows import Row

_BILLED = frozenset({"transfer", "steady", "warmup"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Seconds since the job was submitted. ``texture`` is waiting, transfer, warmup, steady or interrupted."""

    status: str
    texture: str
    start_s: float
    end_s: float

    @property
    def seconds(self) -> float:
        return self.end_s - self.start_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """``open`` says that the job still ran when it was looked at: the last stretch ends at the newest thing known of it."""

    stretches: tuple[Stretch, ...]
    open: bool

    @property
    def end_s(self) -> float:
        return self.stretches[-1].end_s

    def seconds(self, *textures: str) -> float:
        return sum(item.seconds for item in self.stretches if item.texture in textures)

    @property
    def billed(self) -> tuple[float, float]:
        """From the first to the last second that the service bills: interruptions between them are not billed."""
        known = [item for item in self.stretches if item.texture in _BILLED]
        return (known[0].start_s, known[-1].end_s) if known else (self.end_s, self.end_s)


def timeline(row: Row) -> Timeline | None:
    """The stretches of a measured job; None when the service recorded none.

    Training is split into warm-up and steady work when the log tells them apart and nothing interrupted it: a job that
    was restarted warms up again each time, and its log does not say for how long.
    """
    snapshot = row.snapshot
    if row.emulated or snapshot.created is None:
        return None
    found = tuple(_stretches(snapshot, snapshot.created, _newest(row)))
    if not found:
        return None
    if row.phases is not None and not snapshot.interruptions:
        found = tuple(_split(found, row.phases.warmup_s / row.phases.total_s))
    return Timeline(stretches=found, open=not snapshot.terminal)


def _newest(row: Row) -> float:
    """Epoch seconds of the newest thing known of a job that still runs."""
    times = [point.time_s for point in row.record.points if point.time_s is not None]
    known = row.snapshot.ended or row.snapshot.modified
    return max([*times, *([known.timestamp()] if known else [])], default=0.0)


def _stretches(snapshot: JobSnapshot, created: datetime, newest: float) -> Iterator[Stretch]:
    for item in snapshot.transitions:
        start, end = _offset(item, created, newest)
        if end > start:
            texture = texture_of(item.status)
            style = "steady" if texture is Texture.TRAINING else texture.style
            yield Stretch(status=item.status, texture=style, start_s=start, end_s=end)


def _offset(item: Transition, created: datetime, newest: float) -> tuple[float, float]:
    origin = created.timestamp()
    end = item.ended.timestamp() if item.ended is not None else max(newest, item.started.timestamp())
    return max(0.0, item.started.timestamp() - origin), max(0.0, end - origin)


def _split(stretches: tuple[Stretch, ...], share: float) -> Iterator[Stretch]:
    """Warm-up, a ``share`` of all that is billed, comes out of the first stretch of training."""
    left = share * sum(item.seconds for item in stretches if item.texture in _BILLED)
    for item in stretches:
        if item.texture != "steady" or left <= 0:
            yield item
            continue
        cut = min(item.end_s, item.start_s + left)
        left = 0.0
        yield replace(item, texture="warmup", end_s=cut)
        if cut < item.end_s:
            yield replace(item, start_s=cut)
