"""The look that all figures share: fonts, sizes, headings, watermark. Knows no job."""

from __future__ import annotations

import functools
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from matplotlib import font_manager

from ...core.formatting import numbers as fmt
from ...core.formatting.theme import PALETTES, Theme

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
        return textwrap.wrap(fmt.unbroken(text), room, break_on_hyphens=False) if text else []


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
    for text in head.title:
        y -= sheet.title
        ax.annotate(
            text,
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
    for text in head.subtitle:
        y -= sheet.label
        ax.annotate(text, (0, 1), (left, y), va="baseline", fontsize=sheet.label, color=sheet.palette["ink3"], **at)
        y -= sheet.label * 0.35
    y = -below
    for text in head.foot:
        y -= sheet.foot * 1.1
        ax.annotate(text, (0, 0), (left, y), va="baseline", fontsize=sheet.foot, color=sheet.palette["ink3"], **at)
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
