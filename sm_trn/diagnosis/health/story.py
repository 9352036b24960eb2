"""What a job's log has told so far: steps of each worker, how far apart they lie, announced pauses, losses."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from ...core.logs.events import LogEvent
from ...core.logs.losses import LONGEST, loss_of, norm_of
from ...core.logs.prefixes import prefix_of
from . import signs
from .losses import Losses, Name
from .signs import Pause

LEARNED = 5  # steps after which a rhythm is known
KNOWN = 2  # pauses of a kind after which its usual length is known
OF_GAPS, OF_LONGEST, OF_PAUSES = 5.0, 2.0, 3.0  # times a usual gap, the longest gap, the longest pause of a kind
_GAPS = 128  # the newest gaps between steps, which the usual one is taken from
_USUAL = 0.9  # the quantile of them that counts as usual: a worker may speak in bursts


@dataclass(slots=True)
class Steps:
    """How one worker, or the whole job, gets on. ``at`` is when its last step was heard, in epoch seconds."""

    count: int = 0
    at: float = -math.inf
    longest_s: float = 0.0
    _gaps: deque[float] = field(default_factory=lambda: deque(maxlen=_GAPS))

    def hear(self, at: float, *, paused: bool) -> None:
        """A step was heard; ``paused`` says that the time before it had another reason."""
        if self.count and not paused:
            gap = max(0.0, at - self.at)
            self._gaps.append(gap)
            self.longest_s = max(self.longest_s, gap)
        self.count += 1
        self.at = max(at, self.at)

    @property
    def known(self) -> bool:
        """Whether enough steps were heard to know the rhythm."""
        return self.count >= LEARNED

    @property
    def usual_s(self) -> float:
        """Seconds between two steps, as nine of ten are; 0 before there are two."""
        ordered = sorted(self._gaps)
        return ordered[int(_USUAL * (len(ordered) - 1))] if ordered else 0.0

    def patience_s(self, stall_s: float) -> float:
        """Seconds without a step after which the job stalls: never less than ``stall_s``, nor than its own rhythm asks for."""
        return max(stall_s, OF_GAPS * self.usual_s, OF_LONGEST * self.longest_s)


@dataclass(slots=True)
class Story:
    """Hears a job's log. A step is a counter that changes, or another loss; a line alone is none."""

    steps: Steps = field(default_factory=Steps)
    losses: Losses = field(default_factory=Losses)
    pause: Pause | None = None  # announced since the last step
    pause_s: float = math.nan  # when it was
    line_s: float | None = None  # when anything was said last
    finished: bool = False  # the last step was the last of all
    newest_step: float = 0.0  # as the job counts them
    _values: dict[tuple[Name, str, str], str] = field(default_factory=dict)
    _ended: dict[Pause, list[float]] = field(default_factory=dict)  # how often a pause ended, and the longest

    def hear(self, events: Iterable[LogEvent]) -> None:
        """Take in new lines, in time order; lines without a time say nothing here."""
        for event in events:
            if not math.isnan(event.time_s):
                self._line(event.text, event.time_s, event.host)

    def _line(self, text: str, at: float, host: str) -> None:
        self.line_s = at if self.line_s is None else max(at, self.line_s)
        prefix = prefix_of(text)
        who = (prefix.host or host, prefix.rank)
        traits = signs.traits(text)
        if traits.skips:
            scale = signs.SCALE.search(text[-LONGEST:])
            self.losses.scaled(float(scale["scale"].rstrip(".")) if scale is not None else math.inf, at)
        loss = math.nan if traits.lost else loss_of(text)
        if loss is not None:
            self.losses.hear(loss, norm_of(text), at, who)
        is_step, counted, ends = False, False, {}
        for name, value, total in signs.counters(text):
            if total:
                ends[name == "epoch"] = value == total
            counted = counted or name != "epoch"
            if name in {"step", "global_step"} and value.isdecimal():
                self.newest_step = max(self.newest_step, float(value))
            is_step = self._changes((who, name, total), value) or is_step
        if not counted and loss is not None:
            is_step = self._changes((who, "loss", ""), text) or is_step
        if is_step:  # the end is that of steps where they have one, else of epochs
            self.finished = ends.get(False, ends.get(True, False))
            self._step(at)
        if traits.pause is not None and traits.pause is not self.pause:
            self.pause_s = at if self.pause is None else self.pause_s
            self.pause = traits.pause

    def _changes(self, key: tuple[Name, str, str], value: str) -> bool:
        before = self._values.get(key)
        self._values[key] = value
        return before != value

    def _step(self, at: float) -> None:
        paused = self.pause is not None
        if self.pause is not None:
            times, longest = self._ended.get(self.pause, [0, 0.0])
            self._ended[self.pause] = [times + 1, max(longest, at - max(self.steps.at, self.pause_s))]
        self.steps.hear(at, paused=paused)
        self.pause = None

    def patience_s(self, stall_s: float, pause_s: float) -> float:
        """Seconds without a step after which the job stalls, an announced pause being as long as pauses of its kind are."""
        own = self.steps.patience_s(stall_s)
        pause = self.reason
        if pause is None:
            return own
        times, longest = self._ended.get(pause, [0, 0.0])
        first, usual = pause.share * pause_s, OF_PAUSES * longest
        if not self.usual or pause is Pause.COMPILE:  # the next graph can be a larger one
            return max(own, first, usual)
        few = usual * (1 + KNOWN / times)  # of few pauses the longest says little of the next
        return max(own, usual, min(first, few))

    @property
    def reason(self) -> Pause | None:
        """Why steps may not come: what was announced, or what follows the last step of all."""
        return self.pause or (Pause.SAVE if self.finished else None)

    @property
    def usual(self) -> bool:
        """Whether it is known how long a silence like this one takes: it has no reason, or pauses of its kind were heard to end."""
        return self.reason is None or self._ended.get(self.reason, [0, 0.0])[0] >= KNOWN

    @property
    def silent_s(self) -> float:
        """Since when nothing got on: the last step, or the announcement of a pause after it; in epoch seconds."""
        return self.steps.at if self.pause is None else max(self.steps.at, self.pause_s)
