"""What all figures are drawn with: fonts, sizes, headings, watermark, room for texts, layout, and SVG for a page. Knows no job.

Lengths are points.
"""

from __future__ import annotations

import functools
import html
import io
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import matplotlib as mpl
from matplotlib import font_manager
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path
from matplotlib.ticker import MaxNLocator

from ...core.formatting.apart import cut_apart
from ...core.formatting.html import text
from ...core.formatting.printable import cut, unbroken
from ...core.formatting.theme import LIGHT, PALETTES, Theme
from .described import Described

if TYPE_CHECKING:
    from matplotlib.axes import Axes


FAMILIES = ("Inter", "Helvetica Neue", "Arial", "DejaVu Sans")


@functools.cache
def families() -> tuple[str, ...]:
    """The families of the list that this machine has; asking matplotlib for others makes it log a warning each time."""
    known = set(font_manager.fontManager.get_font_names())
    return tuple(name for name in FAMILIES if name in known) or ("DejaVu Sans",)


def rc(theme: Theme) -> dict[str, Any]:
    """matplotlib settings for one ``rc_context``."""
    palette = PALETTES[theme]
    return {
        "font.family": list(families()),
        "font.size": 9.5,
        "text.color": palette["ink"],
        "text.usetex": False,
        "text.parse_math": False,  # a dollar in a job's name is a dollar
        "axes.facecolor": palette["bg"],
        "axes.edgecolor": palette["axis"],
        "axes.labelcolor": palette["ink3"],
        "figure.facecolor": palette["bg"],
        "savefig.facecolor": palette["bg"],
        "figure.dpi": 100,
        "hatch.linewidth": 1.5,
        "svg.fonttype": "none",
    }


def settle_backend() -> None:
    """Load pyplot's backend before an ``rc_context``: its own first settings, such as showing figures, must outlast it."""
    from matplotlib import pyplot as plt  # noqa: PLC0415 - only for a figure that a notebook shows

    plt.draw_if_interactive()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """What a figure is drawn on. Sizes are points; ``headings`` False leaves title, subtitle and foot to the page."""

    theme: Theme = "light"
    width: float = 6.4 * 72
    headings: bool = True
    title: float = 12.0
    text: float = 9.5
    label: float = 9.0
    foot: float = 7.8
    side: float = 8.0  # left and right of the axes

    @property
    def unit(self) -> float:
        """Row heights grow with the text."""
        return self.text / 9.5

    @property
    def room(self) -> float:
        """Width of the axes."""
        return self.width - 2 * self.side

    @property
    def palette(self) -> Mapping[str, str]:
        return PALETTES[self.theme]

    def lines(self, text: str, size: float, *, bold: bool = False) -> list[str]:
        """``text`` wrapped to the sheet's width, by the mean width of a letter of the widest of our fonts."""
        letter = size * (0.62 if families()[0] == "DejaVu Sans" else 0.53) * (1.06 if bold else 1.0)
        room = max(20, int(self.room / letter))
        return textwrap.wrap(unbroken(text), room, break_on_hyphens=False) if text else []


WIDE = Sheet(width=9.6 * 72)  # a figure of several panels


@dataclass(frozen=True, slots=True, kw_only=True)
class Headings:
    """Title, subtitle and foot as lines, and the points that they need above and below the axes."""

    title: list[str]
    subtitle: list[str]
    foot: list[str]
    above: float
    below: float


def headings(sheet: Sheet, *, title: str, subtitle: str, foot: str) -> Headings:
    if not sheet.headings:
        return Headings(title=[], subtitle=[], foot=[], above=4, below=40)
    head = sheet.lines(title, sheet.title, bold=True)
    sub = sheet.lines(subtitle, sheet.label)
    end = sheet.lines(foot, sheet.foot)
    above = 10 + len(head) * sheet.title * 1.3 + 4 + len(sub) * sheet.label * 1.35 + 8
    return Headings(title=head, subtitle=sub, foot=end, above=above, below=42 + len(end) * sheet.foot * 1.4 + 2)


def draw_headings(ax: Axes, sheet: Sheet, head: Headings, *, left: float = 0.0, below: float = 42.0) -> None:
    """Title and subtitle above the axes, foot ``below`` points under them; positions are points from the axes' corners."""
    at: dict[str, Any] = {
        "xycoords": "axes fraction",
        "textcoords": "offset points",
        "ha": "left",
        "annotation_clip": False,
    }
    y = head.above - 10
    for line in head.title:
        y -= sheet.title
        ax.annotate(
            line,
            (0, 1),
            (left, y),
            va="baseline",
            fontsize=sheet.title,
            fontweight="bold",
            color=sheet.palette["ink"],
            **at,
        )
        y -= sheet.title * 0.3
    y -= 4
    for line in head.subtitle:
        y -= sheet.label
        ax.annotate(line, (0, 1), (left, y), va="baseline", fontsize=sheet.label, color=sheet.palette["ink3"], **at)
        y -= sheet.label * 0.35
    y = -below
    for line in head.foot:
        y -= sheet.foot * 1.1
        ax.annotate(line, (0, 0), (left, y), va="baseline", fontsize=sheet.foot, color=sheet.palette["ink3"], **at)
        y -= sheet.foot * 0.3


def watermark(ax: Axes, sheet: Sheet) -> None:
    """EMULATED across the plot: the mark that no option removes."""
    size = sheet.width / 9
    ax.text(0.5, 0.5, "EMULATED", transform=ax.transAxes, ha="center", va="center", rotation=12, fontsize=size,
            fontweight="bold", color=sheet.palette["emu"], alpha=0.08, zorder=6, clip_on=False)  # fmt: skip


def bare(ax: Axes, sheet: Sheet) -> None:
    """Only the bottom spine, ticks only there."""
    for side in ("top", "left", "right"):
        ax.spines[side].set_visible(False)
    ax.spines["bottom"].set_color(sheet.palette["axis"])
    ax.tick_params(
        axis="x", length=3.5, color=sheet.palette["axis"], labelcolor=sheet.palette["ink3"], labelsize=sheet.label
    )
    ax.tick_params(axis="y", length=0, labelcolor=sheet.palette["ink3"], labelsize=sheet.label)
    ax.set_axisbelow(True)


I = TypeVar("I", bound=Described)  # noqa: E741 - the info of a figure


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout(Generic[I]):
    """``body`` are the points between head and foot, ``draw`` fills an axes that holds all panels.

    ``top`` and ``side`` are points kept free around it. ``axis`` are points of the foot that the drawing's own labels take,
    ``bare`` what they take where there are no headings, ``foot`` the gap before the foot.
    """

    body: Callable[[I, Sheet], float]
    draw: Callable[[Axes, I, Sheet], None]
    top: float = 0.0
    side: float = 0.0
    axis: float = 34.0
    bare: float = 4.0
    foot: float = 8.0

    def plot(self, info: I, ax: Axes | None = None, theme: Theme = "light", *, sheet: Sheet | None = None) -> Axes:
        """Draw on ``ax``, whose own frame is hidden and which holds the panels, or on a new pyplot figure when None."""
        sheet = sheet or replace(WIDE, theme=theme)
        if ax is None:
            settle_backend()
        with mpl.rc_context(rc(sheet.theme)):
            head = self._headings(info, sheet)
            if ax is None:
                from matplotlib import pyplot as plt  # noqa: PLC0415 - the only use of pyplot: a figure that a notebook shows

                ax = self._place(plt.figure(figsize=self._size(info, sheet, head)), info, sheet, head)
            self.draw(ax, info, sheet)
            draw_headings(ax, sheet, head, left=-self.side * sheet.unit, below=self.foot)
        return ax

    def alone(self, info: I, sheet: Sheet = WIDE) -> Figure:
        """The figure on its own, unknown to pyplot."""
        with mpl.rc_context(rc(sheet.theme)):
            head = self._headings(info, sheet)
            figure = Figure(figsize=self._size(info, sheet, head))
            self.plot(info, self._place(figure, info, sheet, head), sheet=sheet)
        return figure

    def _headings(self, info: I, sheet: Sheet) -> Headings:
        head = headings(sheet, title=info.title, subtitle=info.subtitle, foot=info.foot)
        below = head.below - self.axis if sheet.headings else self.bare
        return replace(head, above=head.above + self.top * sheet.unit, below=below)

    def _size(self, info: I, sheet: Sheet, head: Headings) -> tuple[float, float]:
        return sheet.width / 72, (head.above + self.body(info, sheet) + head.below) / 72

    def _place(self, figure: Figure, info: I, sheet: Sheet, head: Headings) -> Axes:
        body = self.body(info, sheet)
        whole = head.above + body + head.below
        side = (sheet.side + self.side * sheet.unit) / sheet.width
        return figure.add_axes((side, head.below / whole, 1 - 2 * side, body / whole))


_DROPPED = re.compile(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<metadata>.*?</metadata>|<style .*?</style>|<!--.*?-->", re.DOTALL)
_ROOT = re.compile(r"<svg [^>]*?viewBox=\"([^\"]+)\"[^>]*>", re.DOTALL)
_COLOR = re.compile("|".join(re.escape(value) for value in LIGHT.values()))
_NAMES = {value: name for name, value in LIGHT.items()}
_REFERENCE = re.compile(r'(\bid="|url\(#|href="#)')


_SCREEN = Sheet(headings=False, text=13, label=12, foot=12, side=2)
_WIDTHS = (("wide", 528.0), ("slim", 344.0))
_FULL_WIDTHS = (("wide", 1072.0), ("middle", 600.0), ("slim", 344.0))


def page_figure(name: str, info: Described, draw: Callable[[Sheet], Figure], *, wide: bool) -> Iterator[str]:
    """The figure as HTML: once for each width that a page may have, of which its style shows one."""
    yield f'<figure aria-labelledby="t-{name}"{" class=full" if wide else ""}>'
    yield f'<figcaption><h3 id="t-{name}">{text(info.title)}</h3><p>{text(info.subtitle)}</p></figcaption>'
    for kind, width in _FULL_WIDTHS if wide else _WIDTHS:
        yield inline_svg(draw(replace(_SCREEN, width=width)), name=f"{name}-{kind}", alt=info.alt, kind=kind)
    yield (f"<p>{text(info.foot)}</p>" if info.foot else "") + "</figure>"


def inline_svg(figure: Figure, *, name: str, alt: str, kind: str) -> str:
    """The figure as ``<svg class=kind>``; ``name`` is unique on the page, ``alt`` its values in a sentence."""
    written = io.StringIO()
    with mpl.rc_context({**rc("light"), "svg.hashsalt": name}):
        figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None})
    body = _DROPPED.sub("", written.getvalue())
    label = html.escape(alt, quote=True)
    body = _ROOT.sub(
        lambda root: f'<svg class="{kind}" viewBox="{root[1]}" role="img" aria-label="{label}">', body, count=1
    )
    body = _REFERENCE.sub(lambda found: f"{found[1]}{name}-", body)
    body = _COLOR.sub(lambda found: f"var(--{_NAMES[found[0]]})", body)
    return re.sub(r"\n\s*", "\n", body).strip()


_STEPS = (8.0, 20.0, 34.0, 48.0, 64.0)  # points between a mark and its text, the nearest first
_HINTED = 1.05  # letters that are fitted to pixels are a little wider than their outlines

Box = tuple[float, float, float, float]  # left, bottom, right, top


@functools.lru_cache(maxsize=4096)
def text_size(text: str, size: float, *, bold: bool = False) -> tuple[float, float]:
    """Width and height of a text of one or more lines, in points."""
    font = FontProperties(family=list(families()), size=size, weight="bold" if bold else "normal")
    widths = [text_to_path.get_text_width_height_descent(line, font, ismath=False)[0] for line in text.split("\n")]
    return max(widths) * _HINTED, size * 1.3 * len(widths)


def fitted(name: str, room: float, size: float, *, bold: bool = False) -> str:
    """``name`` cut in its middle to ``room`` points."""
    shown = len(name)
    while shown > 4 and text_size(cut(name, shown), size, bold=bold)[0] > room:
        shown -= 1
    return cut(name, shown)


def fitted_apart(names: Sequence[str], room: float, size: float, *, bold: bool = False) -> list[str]:
    """The names cut to ``room`` points each, so that what differs stays."""
    shown = max(map(len, names), default=0)
    found = list(names)
    while shown > 4 and max((text_size(name, size, bold=bold)[0] for name in found), default=0.0) > room:
        shown -= 1
        found = cut_apart(names, shown)
    return found


def ticks_within(ax: Axes, sheet: Sheet, tick: Callable[[float], str], *, width: float, most: int) -> None:
    """Round values below axes that are ``width`` points wide, as many as have room; the outermost do not leave them."""
    low, high = ax.get_xlim()
    places: list[float] = []
    for count in range(most, 0, -1):
        found = MaxNLocator(count, steps=[1, 2, 5, 10]).tick_values(low, high)
        slack = (high - low) * 1e-9
        places = [float(value) for value in found if low - slack <= value <= high + slack]
        if sum(text_size(tick(value), sheet.label)[0] + 8 for value in places) <= width:
            break
    ax.set_xticks(places, [tick(value) for value in places])
    scale = width / (high - low)
    for value, label in zip(places, ax.get_xticklabels(), strict=True):
        half = text_size(tick(value), sheet.label)[0] / 2
        if (value - low) * scale < half - sheet.side:
            label.set_horizontalalignment("left")
        elif (high - value) * scale < half - sheet.side:
            label.set_horizontalalignment("right")


class Labels:
    """The free places of axes that are ``width`` × ``height`` points large. Each text that is placed takes its own."""

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height
        self._taken: list[Box] = []

    def block(self, x: float, y: float, radius: float = 4.0) -> None:
        """Keep texts off a mark."""
        self._taken.append((x - radius, y - radius, x + radius, y + radius))

    def place(self, x: float, y: float, size: tuple[float, float]) -> tuple[float, float] | None:
        """The lower left corner for a text of ``size`` near the mark at (x, y); None where nothing is free."""
        for left, bottom in (*self._beside(x, y, size), *self._anywhere(y, size)):
            box = (left, bottom, left + size[0], bottom + size[1])
            if self._free(box):
                self._taken.append(box)
                return left, bottom
        return None

    def _beside(self, x: float, y: float, size: tuple[float, float]) -> Iterator[tuple[float, float]]:
        width, height = size
        sides = (x + 8, x - 8 - width) if x < self.width / 2 else (x - 8 - width, x + 8)
        for step in _STEPS:
            for left in (*sides, min(max(0.0, x - width / 2), self.width - width)):
                yield left, y + step - 4
                yield left, y - step + 4 - height

    def _anywhere(self, y: float, size: tuple[float, float]) -> Iterator[tuple[float, float]]:
        width, height = size
        rows = [number * height for number in range(int(self.height // height))]
        for bottom in sorted(rows, key=lambda each: abs(each - y)):
            yield from ((left, bottom) for left in (self.width - width, 0.0, (self.width - width) / 2))

    def _free(self, box: Box) -> bool:
        left, bottom, right, top = box
        if left < -0.5 or bottom < -0.5 or right > self.width + 0.5 or top > self.height + 0.5:
            return False
        return not any(left < x1 and right > x0 and bottom < y1 and top > y0 for x0, y0, x1, y1 in self._taken)
