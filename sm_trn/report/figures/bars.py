"""Horizontal bars as all bar figures draw them: marker and name above the bar, value at its end. Knows no job's record."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.offsetbox import AnnotationBbox, DrawingArea, HPacker, TextArea
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke

from ...core.formatting.printable import unbroken
from ...core.formatting.theme import SLOTS, marker, role
from .drawing import (
    Headings,
    Sheet,
    bare,
    draw_headings,
    fitted,
    headings,
    rc,
    settle_backend,
    text_size,
    ticks_within,
    watermark,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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


_SECOND = 13.0  # points: the line of a detail that has no room beside its name
EMULATED_WIDTH = 6.2  # of the tag, in sizes of the text


def plot_bars(info: BarInfo, ax: Axes | None, sheet: Sheet, tick: Callable[[float], str]) -> Axes:
    """Draw on ``ax``, or on a new pyplot figure of the right size when None."""
    if ax is None:
        settle_backend()
    with mpl.rc_context(rc(sheet.theme)):
        head = headings(sheet, title=info.title, subtitle=info.subtitle, foot=info.foot)
        if ax is None:
            from matplotlib import pyplot as plt  # noqa: PLC0415 - the only use of pyplot: a figure that a notebook shows

            ax = place(plt.figure(figsize=size(info, sheet, head)), info, sheet, head)
        _draw(ax, info, sheet, tick)
        draw_headings(ax, sheet, head)
    return ax


def bars_alone(info: BarInfo, sheet: Sheet, plot: Callable[..., Axes]) -> Figure:
    """The figure on its own, unknown to pyplot."""
    with mpl.rc_context(rc(sheet.theme)):
        head = headings(sheet, title=info.title, subtitle=info.subtitle, foot=info.foot)
        figure = Figure(figsize=size(info, sheet, head))
        plot(info, place(figure, info, sheet, head), sheet=sheet)
    return figure


def size(info: BarInfo, sheet: Sheet, head: Headings) -> tuple[float, float]:
    """Inches."""
    return sheet.width / 72, (head.above + _height(info, sheet) + head.below) / 72


def place(figure: Figure, info: BarInfo, sheet: Sheet, head: Headings) -> Axes:
    """The axes between the headings, one unit of y per point."""
    whole = head.above + _height(info, sheet) + head.below
    side = sheet.side / sheet.width
    return figure.add_axes((side, head.below / whole, 1 - 2 * side, _height(info, sheet) / whole))


def _height(info: BarInfo, sheet: Sheet) -> float:
    return 2 + sheet.unit * sum(_row_height(bar, sheet) for bar in info.bars)


def _row_height(bar: Bar, sheet: Sheet) -> float:
    return bar.height + (0.0 if _fits(bar, sheet) else _SECOND)


def _fits(bar: Bar, sheet: Sheet) -> bool:
    """Whether the detail has room beside the name; else it gets a line of its own."""
    if not bar.detail:
        return True
    name = text_size(bar.label, sheet.text, bold=True)[0] + (EMULATED_WIDTH * sheet.text if bar.emulated else 0)
    return name + text_size(bar.detail, sheet.label)[0] + 11 * sheet.unit + 16 <= sheet.room


def _draw(ax: Axes, info: BarInfo, sheet: Sheet, tick: Callable[[float], str]) -> None:
    bare(ax, sheet)
    ax.set_ylim(_height(info, sheet), 0)
    ax.set_yticks([])
    ax.set_xlim(info.origin, _limit(info, sheet))
    ticks_within(ax, sheet, tick, width=sheet.room, most=5 if sheet.width > 400 else 4)
    if info.drawn:
        ax.grid(visible=True, axis="x", color=sheet.palette["line"], linewidth=0.8)
    ax.set_xlabel(info.axis, loc="right", fontsize=sheet.label, color=sheet.palette["ink3"], labelpad=3)
    if not info.drawn:
        ax.set_xticks([])
        ax.set_xlabel("")
        ax.spines["bottom"].set_visible(False)
    if info.emulated:
        watermark(ax, sheet)
    if info.tie is not None:
        ax.plot(
            [info.tie, info.tie],
            [NAME * sheet.unit * 0.4, _height(info, sheet)],
            color=sheet.palette["ink2"],
            linewidth=1,
            linestyle=(0, (3, 3)),
            zorder=1.5,
        )
    top, many = 0.0, info.plain or len(info.bars) > SLOTS
    for bar in info.bars:
        shown = replace(bar, slot=0) if many else bar  # of many jobs no colour and no mark is a name
        color = sheet.palette[role(shown.slot)]
        _name(ax, bar, sheet, top, None if many else color)
        second = 0.0 if _fits(bar, sheet) else _SECOND * sheet.unit
        _bar(ax, shown, sheet, top + NAME * sheet.unit + second, color, info.origin)
        top += bar.height * sheet.unit + second


def _limit(info: BarInfo, sheet: Sheet) -> float:
    """Far enough to the right for every value's text."""
    far = info.origin
    for bar in info.bars:
        ends = [(max(bar.value or 0, bar.high or 0), bar.text, sheet.text, True)]
        ends += [(bar.ghost or 0, bar.ghost_text, sheet.label, False)]
        for end, text, size, bold in ends:
            needed = text_size(text, size, bold=bold)[0] + 16 if text else 4
            far = max(far, info.origin + (end - info.origin) / max(0.2, 1 - needed / sheet.room))
    return far if far > info.origin else info.origin + 1.0


def _name(ax: Axes, bar: Bar, sheet: Sheet, top: float, color: str | None) -> None:
    """Marker, name and detail on the line above the bar."""
    palette = sheet.palette
    children: list[Artist] = []
    if color is not None:
        area = DrawingArea(9, 8, 0, 0)
        look: dict[str, Any] = {
            "color": color,
            "markerfacecolor": palette["bg"] if bar.emulated else color,
            "linestyle": "",
        }
        area.add_artist(Line2D([4], [3.4], marker=marker(bar.slot).matplotlib, markersize=sheet.text * 0.66, **look))
        children.append(area)
    room = sheet.room - 16 - 4 * sheet.unit - (EMULATED_WIDTH * sheet.text if bar.emulated else 0)
    fits = _fits(bar, sheet)
    name = fitted(bar.label, room, sheet.text, bold=True)
    children.append(_words(name, sheet.text, palette["ink"], fontweight="bold"))
    if bar.emulated:
        dashed = {"linestyle": (0, (3, 2)), "linewidth": 1}
        frame = {"boxstyle": "square,pad=0.25", "facecolor": palette["emut"], "edgecolor": palette["emu"], **dashed}
        children.append(_words(" EMULATED ", sheet.label * 0.8, palette["emu"], fontweight="bold", bbox=frame))
    if bar.detail and fits:
        children.append(_words(unbroken(bar.detail), sheet.label, palette["ink3"]))
    packed = HPacker(children=children, align="baseline", pad=0, sep=7 * sheet.unit)
    ax.add_artist(
        AnnotationBbox(
            packed,
            (0, top + (NAME - 3.2) * sheet.unit),
            xycoords=("axes fraction", "data"),
            box_alignment=(0, 0),
            pad=0.1,
            annotation_clip=False,
            bboxprops={"facecolor": palette["bg"], "edgecolor": "none"},
        )
    )
    if not fits:
        plate = {"facecolor": palette["bg"], "edgecolor": "none", "pad": 0.6}
        ax.annotate(unbroken(fitted(bar.detail, sheet.room - 4, sheet.label)), (0, top + (NAME + _SECOND - 4) * sheet.unit), (1, 0),
                    textcoords="offset points", va="baseline", ha="left", fontsize=sheet.label, color=palette["ink3"], bbox=plate,
                    zorder=3)  # fmt: skip


def _words(text: str, size: float, color: str, **more: Any) -> TextArea:
    return TextArea(text, textprops={"fontsize": size, "color": color, **more})


def _bar(ax: Axes, bar: Bar, sheet: Sheet, top: float, color: str, origin: float) -> None:  # noqa: PLR0917 - one row
    palette, thick = sheet.palette, THICK * sheet.unit
    if bar.value is None:
        _no_bar(ax, bar, sheet, top)
        return
    if origin:
        _dot(ax, bar, sheet, top + thick / 2, color)
        return
    left = 0.0
    for texture, length in bar.parts or (("emulated" if bar.emulated else "steady", bar.value),):
        _part(ax, (left, top, length, thick), texture, color, palette)
        left += length
    end = bar.value
    if bar.low is not None and bar.high is not None:
        _whisker(ax, (bar.low, bar.high, top + thick / 2), sheet)
        end = max(end, bar.high)
    for _, mark in bar.marks:
        ax.plot([mark, mark], [top - 2, top + thick + 2], color=palette["ink"], linewidth=1.3, linestyle=(0, (2, 1.5)), zorder=4,
                path_effects=[withStroke(linewidth=3.4, foreground=palette["bg"])])  # fmt: skip
    _end_text(
        ax,
        (end, top + thick / 2),
        bar.text,
        {"fontsize": sheet.text, "fontweight": "bold", "color": palette["ink"]},
    )
    if bar.bracket is not None:
        _bracket(ax, bar.bracket, sheet, top + thick)
    if bar.ghost is not None:
        y = top + thick + 3 * sheet.unit
        ax.add_patch(
            Rectangle(
                (0, y),
                bar.ghost,
                7 * sheet.unit,
                fill=False,
                edgecolor=color,
                linestyle=(0, (3, 2)),
                linewidth=1,
                zorder=2,
            )
        )
        muted: dict[str, Any] = {"fontsize": sheet.label, "color": palette["ink3"]}
        _end_text(ax, (bar.ghost, y + 3.5 * sheet.unit), bar.ghost_text, muted)
        plate = {"facecolor": palette["bg"], "edgecolor": "none", "pad": 0.6}
        at: dict[str, Any] = {"xy": (0, y + 18.5 * sheet.unit), "xytext": (1, 0), "textcoords": "offset points"}
        ax.annotate(unbroken(bar.ghost_note), va="baseline", ha="left", bbox=plate, zorder=3, **at, **muted)


def _dot(ax: Axes, bar: Bar, sheet: Sheet, y: float, color: str) -> None:
    """A value on an axis that does not start at zero: a mark on a thin line, whose length means nothing."""
    low, high = ax.get_xlim()
    value = bar.value or 0.0
    ax.plot([low, high], [y, y], color=sheet.palette["line"], linewidth=1, zorder=1.5)
    for _, mark in bar.marks:
        if mark >= low:
            ax.plot(
                [mark, mark],
                [y - 6, y + 6],
                color=sheet.palette["ink"],
                linewidth=1.3,
                linestyle=(0, (2, 1.5)),
                zorder=4,
            )
    if bar.low is not None and bar.high is not None:
        _whisker(ax, (bar.low, bar.high, y), sheet)
    fill = sheet.palette["bg"] if bar.emulated else color
    ax.plot([value], [y], marker=marker(bar.slot).matplotlib, markersize=sheet.text * 0.8, color=color, markerfacecolor=fill,
            linestyle="", zorder=5)  # fmt: skip
    bold = {"fontsize": sheet.text, "fontweight": "bold", "color": sheet.palette["ink"]}
    _end_text(ax, (max(value, bar.high or value), y), bar.text, bold, 9)


def _bracket(ax: Axes, bracket: Bracket, sheet: Sheet, below: float) -> None:
    """The brace and its two texts; the second is left out where it would run into the first."""
    top, bottom = below + 3 * sheet.unit, below + 7 * sheet.unit
    xs, ys = (bracket.start, bracket.start, bracket.end, bracket.end), (top, bottom, bottom, top)
    ax.plot(xs, ys, color=sheet.palette["axis"], linewidth=1, zorder=3)
    plate = {"facecolor": sheet.palette["bg"], "edgecolor": "none", "pad": 0.6}
    muted: dict[str, Any] = {"fontsize": sheet.label, "color": sheet.palette["ink3"], "bbox": plate, "zorder": 2.5}
    at: dict[str, Any] = {"xytext": (0, -3), "textcoords": "offset points", "va": "top"}
    first = min(
        bracket.start,
        max(0.0, ax.get_xlim()[1] - (text_size(bracket.text, sheet.label)[0] + 4) * ax.get_xlim()[1] / sheet.room),
    )
    ax.annotate(unbroken(bracket.text), (first, bottom), ha="left", **at, **muted)
    scale = sheet.room / ax.get_xlim()[1]
    wide = text_size(bracket.text, sheet.label)[0]
    room = scale * (bracket.end - bracket.start)
    if bracket.beside and wide + text_size(bracket.beside, sheet.label)[0] + 12 <= room:
        ax.annotate(unbroken(bracket.beside), (bracket.end, bottom), ha="right", **at, **muted)


def _part(
    ax: Axes, box: tuple[float, float, float, float], texture: str, color: str, palette: Mapping[str, str]
) -> None:
    left, top, length, thick = box
    background = palette["bg"]
    if texture in {"waiting", "interrupted"}:
        edge = palette["axis" if texture == "waiting" else "err"]
        style: Any = (0, (3, 2)) if texture == "waiting" else "solid"
        ax.add_patch(
            Rectangle(
                (left, top), length, thick, facecolor=background, edgecolor=edge, linestyle=style, linewidth=1, zorder=2
            )
        )
        if texture == "interrupted":
            ax.annotate("✕", (left + length / 2, top + thick / 2), ha="center", va="center", color=edge, fontsize=thick * 0.6, zorder=3,
                        fontfamily="DejaVu Sans")  # fmt: skip
        return
    if texture in {"failed", "idle"}:
        edge, hatch = ("err", "xxxx") if texture == "failed" else ("ink2", "")
        lost = Rectangle(
            (left, top),
            length,
            thick,
            facecolor=background,
            edgecolor=palette[edge],
            hatch=hatch,
            linewidth=1.4,
            zorder=2,
        )
        ax.add_patch(_hatched(lost))
        return
    ax.add_patch(Rectangle((left, top), length, thick, facecolor=background, edgecolor="none", zorder=2))
    alpha = 1.0 if texture == "steady" else 0.12 if texture == "emulated" else 0.3
    ax.add_patch(Rectangle((left, top), length, thick, facecolor=color, alpha=alpha, edgecolor="none", zorder=2.1))
    if texture == "emulated":
        frame = Rectangle(
            (left, top), length, thick, fill=False, edgecolor=color, linestyle=(0, (3, 2)), linewidth=1.2, zorder=2.3
        )
        ax.add_patch(frame)
    if texture in {"warmup", "emulated"}:
        hatched = Rectangle(
            (left, top), length, thick, fill=False, edgecolor=color, hatch="////", linewidth=0, zorder=2.2
        )
        ax.add_patch(_hatched(hatched))


def _hatched(patch: Rectangle) -> Rectangle:
    """The hatch's width as drawn later, outside of our settings; older matplotlib takes it from the settings at that time."""
    if hasattr(patch, "set_hatch_linewidth"):
        patch.set_hatch_linewidth(1.5)
    return patch


def _whisker(ax: Axes, place_: tuple[float, float, float], sheet: Sheet) -> None:
    low, high, y = place_
    halo = [withStroke(linewidth=4, foreground=sheet.palette["bg"])]
    for xs, ys in (([low, high], [y, y]), ([low, low], [y - 4, y + 4]), ([high, high], [y - 4, y + 4])):
        ax.plot(xs, ys, color=sheet.palette["ink"], linewidth=1.3, zorder=4, path_effects=halo, solid_capstyle="butt")
    ax.plot([low, high], [y, y], color=sheet.palette["ink"], linewidth=1.3, zorder=5, solid_capstyle="butt")


def _end_text(ax: Axes, at: tuple[float, float], text: str, props: dict[str, Any], gap: float = 5) -> None:
    plate = {"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": 0.6}
    ax.annotate(
        unbroken(text),
        at,
        (gap, 0),
        textcoords="offset points",
        va="center",
        ha="left",
        zorder=3,
        bbox=plate,
        **props,
    )


def _no_bar(ax: Axes, bar: Bar, sheet: Sheet, top: float) -> None:
    """A row without a bar: hatched for an emulated job, words only where something else is missing."""
    palette, thick = sheet.palette, THICK * sheet.unit
    left, right = ax.get_xlim()
    if bar.emulated:
        hatched = Rectangle(
            (left, top),
            right - left,
            thick,
            facecolor=palette["bg"],
            edgecolor=palette["emu"],
            hatch="////",
            linewidth=0,
            alpha=0.55,
        )
        ax.add_patch(_hatched(hatched))
        ax.add_patch(
            Rectangle(
                (left, top),
                right - left,
                thick,
                fill=False,
                edgecolor=palette["emu"],
                linestyle=(0, (3, 2)),
                linewidth=1.2,
            )
        )
    color = palette["emu"] if bar.emulated else palette["ink3"]
    ax.annotate(bar.missing, (left, top + thick / 2), (5, 0), textcoords="offset points", va="center", ha="left", fontsize=sheet.label,
                color=color, zorder=4, bbox={"facecolor": palette["bg"], "edgecolor": "none", "pad": 1.8})  # fmt: skip
