"""Where did the billed time go? One row per job, from its submission to its end, a texture for each phase."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from ...core.formatting import numbers as fmt
from ...core.formatting.missing import Missing
from ...core.formatting.theme import Theme
from ...core.specs.snapshot import JobSnapshot, Transition
from ...core.status import Texture, texture_of
from ..sections.rows import Row
from ..sections.section import Section
from .bars import Bar, BarInfo, Bracket, bars_alone, folded, plot_bars
from .drawing import Sheet
from .figure import FigureKind

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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


MINUTE = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PhasesInfo(BarInfo):
    """Bars in minutes since submission; ``timelines`` are what they were drawn from, None where nothing was recorded."""

    timelines: tuple[Timeline | None, ...] = ()


def phases_info(section: Section) -> PhasesInfo:
    """The phases of a section's jobs. An emulated job has a row without a bar: its seconds are this machine's."""
    known = [(row, timeline(row)) for row in section.rows]
    drawn = [(row, found) for row, found in known if found is not None]
    return PhasesInfo(
        title=_title(drawn),
        subtitle="Where billed time went. Dashed: not billed. Tint: transfer. Hatch: compile or warm-up. Solid: training.",
        bars=folded([_bar(row, found) for row, found in known], best_first=lambda value: value),
        axis="minutes since submit",
        foot=_foot(drawn),
        alt=_alt(drawn),
        emulated=not section.measured,
        timelines=tuple(found for _, found in known),
    )


def plot_phases(
    info: PhasesInfo, ax: Axes | None = None, theme: Theme = "light", *, sheet: Sheet | None = None
) -> Axes:
    """Draw on ``ax`` (a new pyplot figure when None) and return it."""
    return plot_bars(info, ax, sheet or Sheet(theme=theme), lambda value: f"{value:,g}")


FIGURE = FigureKind(
    name="phases",
    info=lambda section, _: phases_info(section),
    plot=plot_phases,
    alone=partial(bars_alone, plot=plot_phases),
)


def _bar(row: Row, found: Timeline | None) -> Bar:
    if row.emulated:
        return Bar(label=row.label, slot=row.slot, emulated=True, missing="no phases: its seconds are this machine's")
    if found is None:
        return Bar(label=row.label, slot=row.slot, missing="phases not recorded")
    start, end = found.billed
    return Bar(
        label=row.label,
        slot=row.slot,
        detail=_detail(row, found),
        value=found.end_s / MINUTE,
        text="runs on" if found.open else "",
        parts=tuple(_gapless(found)),
        bracket=Bracket(start=start / MINUTE, end=end / MINUTE, text=_billed(row), beside=_beside(found)),
    )


def _gapless(found: Timeline) -> Iterator[tuple[str, float]]:
    """Texture and minutes of each stretch, and waiting between them where the service recorded nothing."""
    at = 0.0
    for item in found.stretches:
        if item.start_s > at:
            yield "waiting", (item.start_s - at) / MINUTE
        begins = max(item.start_s, at)
        if item.end_s > begins:
            yield item.texture, (item.end_s - begins) / MINUTE
        at = max(at, item.end_s)


def _share(row: Row) -> float | None:
    """Percent of billed time that was steady training. Not known of a job that was interrupted: it warmed up each time."""
    known = row.phases is not None and row.phases.total_s and not row.snapshot.interruptions
    return row.phases.steady_s / row.phases.total_s * 100 if known and row.phases is not None else None


def _detail(row: Row, found: Timeline) -> str:
    share = _share(row)
    cuts = row.snapshot.interruptions
    words = [f"steady {fmt.percent(share)} of billed"] if share is not None else []
    words += [f"interrupted {cuts} time{'s' if cuts > 1 else ''}"] if cuts else []
    words += [f"{fmt.duration(found.seconds('interrupted'))} between"] if cuts and found.seconds("interrupted") else []
    return ", ".join(words)


def _billed(row: Row) -> str:
    if row.billable_s is None:
        return str(Missing.NOT_BILLED_YET)
    trained = row.snapshot.training_s
    if row.snapshot.spot and trained:
        share = row.billable_s / trained
        return f"trained {fmt.count(trained)} s × {share:.2f} (spot) = billed {fmt.count(row.billable_s)} s"
    return f"billed {fmt.count(row.billable_s)} s = {fmt.duration(row.billable_s)}"


def _beside(found: Timeline) -> str:
    words = (("transfer", "transfer"), ("warmup", "compile or warm-up"))
    return ", ".join(f"{word} {fmt.duration(found.seconds(kind))}" for kind, word in words if found.seconds(kind) >= 1)


def _title(drawn: list[tuple[Row, Timeline]]) -> str:
    known = [(row.label, share) for row, _ in drawn if (share := _share(row)) is not None]
    if len(known) > 2:
        shares = [share for _, share in known]
        return f"Steady training took {fmt.percent(min(shares))} to {fmt.percent(max(shares))} of the billed time"
    if known:
        worst = sorted(known, key=lambda item: item[1])[:2]
        first, *others = [f"{label} {'trained' if n == 0 else ''}".strip() for n, (label, _) in enumerate(worst)]
        text = f"{first} for {fmt.percent(worst[0][1])} of its billed time"
        return text + (f", {others[0]} for {fmt.percent(worst[1][1])}" if others else "")
    return "Where the time went" if drawn else "No phases are recorded"


def _foot(drawn: list[tuple[Row, Timeline]]) -> str:
    if not drawn:
        return ""
    parts = ["Starting is not billed. Phases from status transitions; compile and warm-up from the log."]
    if any(row.snapshot.spot for row, _ in drawn):
        parts.append("A job on spot is billed for a share of the seconds that it trained.")
    if any(row.snapshot.interruptions for row, _ in drawn):
        parts.append("An interrupted job warms up again at each start; the log does not say for how long.")
    if any(found.open for _, found in drawn):
        parts.append("A job that runs on is drawn up to the newest line known of it.")
    return " ".join(parts)


def _alt(drawn: list[tuple[Row, Timeline]]) -> str:
    said = [f"{row.label}: {_billed(row)}, {_beside(found) or 'no split known'}" for row, found in drawn]
    return f"Bars of minutes since submission. {'; '.join(said) or 'No phases are recorded'}."
