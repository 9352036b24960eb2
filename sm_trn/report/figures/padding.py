"""Is work wasted on padding or recompiling? One bar per job: text solid, padding dashed; compilations in words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ...core.formatting import numbers as fmt
from ...core.formatting.missing import Missing
from ...core.formatting.theme import Theme
from ..sections.rows import SPARE_COMPILES, Row, Work
from ..sections.section import Section
from .bars import Bar, BarInfo, bars_alone, folded, plot_bars
from .drawing import Sheet
from .figure import FigureKind

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True, kw_only=True)
class PaddingInfo(BarInfo):
    """Bars are shares of all positions of a batch, in percent."""


def padding_info(section: Section) -> PaddingInfo:
    """Padding and compilations of the measured jobs; of the emulated ones, which compile nothing, when there is no other."""
    rows = section.measured or section.emulated
    emulated = not section.measured
    return PaddingInfo(
        title=("EMULATED: " if emulated else "") + _title(rows),
        subtitle="What batches hold, in % of their positions. Solid: text. Dashed: padding.",
        bars=folded([_bar(row) for row in rows], best_first=lambda value: -value),
        axis="% of positions",
        foot=_foot(rows),
        alt=_alt(rows, emulated=emulated),
        emulated=emulated,
    )


def plot_padding(
    info: PaddingInfo, ax: Axes | None = None, theme: Theme = "light", *, sheet: Sheet | None = None
) -> Axes:
    """Draw on ``ax`` (a new pyplot figure when None) and return it."""
    return plot_bars(info, ax, sheet or Sheet(theme=theme), lambda value: f"{value:g}")


FIGURE = FigureKind(
    name="padding",
    info=lambda section, _: padding_info(section),
    plot=plot_padding,
    alone=partial(bars_alone, plot=plot_padding),
)


def _bar(row: Row) -> Bar:
    fill = row.work.padding_fill
    if fill is None:
        return Bar(
            label=row.label,
            slot=row.slot,
            emulated=row.emulated,
            detail=_compiled(row),
            missing=str(Missing.NOT_LOGGED),
        )
    share = fill * 100
    return Bar(
        label=row.label,
        slot=row.slot,
        emulated=row.emulated,
        detail=_compiled(row),
        value=share,
        text=f"{fmt.percent(share)} text",
        parts=() if row.emulated else (("steady", share), ("waiting", 100 - share)),
    )


def _compiled(row: Row) -> str:
    work = row.work
    if row.emulated:
        return "compilations: not this machine's to say"
    if work.compiles is None:
        eager = work.shapes or work.padding_fill is not None
        return "eager: nothing to compile" if eager else f"compilations {Missing.NOT_LOGGED}"
    seconds = f" in {fmt.duration(work.compile_s)}" if work.compile_s is not None else ""
    return f"{'! ' if _too_many(work) else ''}{work.compiles} compilation{'s' if work.compiles != 1 else ''}{seconds}"


def _too_many(work: Work) -> bool:
    return bool(work.needless_compiles or work.late_compiles)


def _title(rows: tuple[Row, ...]) -> str:
    known = [(row, row.work.padding_fill) for row in rows if row.work.padding_fill is not None]
    if not known:
        return "How full the batches were is not known"
    least, fill = min(known, key=lambda item: item[1])
    return f"{least.label} filled {fmt.percent(fill * 100)} of its batches"


def _foot(rows: tuple[Row, ...]) -> str:
    if not any(_too_many(row.work) for row in rows):
        return ""
    return f"! More compilations than shapes + {SPARE_COMPILES}, or any after the first epoch."


def _alt(rows: tuple[Row, ...], *, emulated: bool) -> str:
    said = [
        f"{row.label} {fmt.percent(row.work.padding_fill * 100)}, {_compiled(row)}"
        for row in rows
        if row.work.padding_fill is not None
    ]
    return f"{'EMULATED. ' if emulated else ''}Bars of how full batches are. {'; '.join(said) or 'None is known'}."
