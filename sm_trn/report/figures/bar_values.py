"""What a bar figure shows: rows with values, whiskers, parts and words for what is missing. Draws nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...core.formatting.theme import SLOTS

NAME, THICK, GHOST, GAP = 16.0, 14.0, 24.0, 12.0  # points
LISTED, BEST, WORST = 20, 10, 3
NO_BAR = "no bar: its seconds are this machine's"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bracket:
    """A brace under a bar from ``start`` to ``end``, with a text at its start and another ``beside`` it, at its end."""

    start: float
    end: float
    text: str
    beside: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One job's row. ``missing`` stands in the bar's place; ``parts`` are (texture, length), ``ghost`` an outline under it.

    Textures are steady, transfer, warmup, emulated; in a timeline waiting and interrupted; of a fleet failed and idle.
    """

    label: str
    slot: int
    emulated: bool = False
    detail: str = ""
    value: float | None = None
    text: str = ""
    low: float | None = None
    high: float | None = None
    missing: str = ""
    parts: tuple[tuple[str, float], ...] = ()
    ghost: float | None = None
    ghost_text: str = ""
    ghost_note: str = ""
    marks: tuple[tuple[str, float], ...] = ()
    bracket: Bracket | None = None

    @property
    def height(self) -> float:
        """Of the row, in points at the usual size of text; a detail that needs a line of its own comes on top."""
        return NAME + THICK + (GHOST if self.ghost is not None or self.bracket is not None else 0) + GAP


@dataclass(frozen=True, slots=True, kw_only=True)
class BarInfo:
    """What a bar figure shows. ``emulated`` says that it shows emulated jobs only. ``tie`` is a dashed vertical line.

    ``plain`` rows are no jobs: they have no marks.
    With an ``origin`` above zero the jobs are dots and no bars: a length from there on would say nothing.
    """

    title: str
    subtitle: str
    bars: tuple[Bar, ...]
    axis: str
    foot: str
    alt: str
    emulated: bool = False
    tie: float | None = None
    origin: float = 0.0
    plain: bool = False

    @property
    def drawn(self) -> bool:
        """Whether any job has a bar."""
        return any(bar.value is not None for bar in self.bars)


def folded(bars: Sequence[Bar], *, best_first: Callable[[float], float]) -> tuple[Bar, ...]:
    """All of up to 20; else the best 10, how many more, and the worst 3."""
    if len(bars) <= LISTED:
        return tuple(bars)
    known = sorted((bar for bar in bars if bar.value is not None), key=lambda bar: best_first(bar.value or 0.0))
    ordered = [*known, *(bar for bar in bars if bar.value is None)]
    more = Bar(label=f"{len(bars) - BEST - WORST} more", slot=SLOTS, missing="not drawn")
    return (*ordered[:BEST], more, *ordered[-WORST:])
