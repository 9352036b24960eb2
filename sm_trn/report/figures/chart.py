"""A figure with its words: drawn for a notebook, for a file, or as SVG for a page. Text sizes are points, lengths inches."""

from __future__ import annotations

import functools
import html
import io
import math
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib import font_manager
from matplotlib.figure import Figure

from ...core.formatting.html import text
from ...core.formatting.printable import unbroken
from ...core.formatting.theme import LIGHT, PALETTES, Theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FAMILIES = ("Inter", "Helvetica Neue", "Arial", "DejaVu Sans")
DPI = 200
_PAGE_WIDTHS = (("wide", 7.4), ("slim", 4.7))  # of which the page's style shows one
_PANEL = 3.0  # inches that a panel needs beside another one


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """The theme, the width of the figure in inches, and the size of its text in points."""

    theme: Theme = "light"
    width: float = 6.4
    size: float = 9.5

    @property
    def palette(self) -> Mapping[str, str]:
        return PALETTES[self.theme]

    def letters(self, size: float | None = None) -> int:
        """How many letters of this size stand beside each other."""
        return max(20, int(self.width * 72 / ((size or self.size) * 0.58)))


@functools.cache
def _families() -> list[str]:
    """The installed ones of our font families; matplotlib logs a warning for any other, each time."""
    installed = set(font_manager.fontManager.get_font_names())
    return [name for name in FAMILIES if name in installed] or ["DejaVu Sans"]


def rc(style: Style) -> dict[str, Any]:
    """matplotlib's settings of a style, for an ``rc_context`` around drawing and saving."""
    palette = style.palette
    return {
        "font.family": _families(),
        "font.size": style.size,
        "text.color": palette["ink"],
        "text.usetex": False,
        "text.parse_math": False,  # a dollar in a job's name is a dollar
        "axes.facecolor": palette["bg"],
        "axes.edgecolor": palette["axis"],
        "axes.labelcolor": palette["ink3"],
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "grid.color": palette["line"],
        "xtick.color": palette["ink3"],
        "ytick.color": palette["ink3"],
        "figure.facecolor": palette["bg"],
        "savefig.facecolor": palette["bg"],
        "hatch.linewidth": 1.5,
        "svg.fonttype": "none",
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A figure: ``draw`` fills its axes, of which there are ``panels``, each ``height`` inches high at a text of 9.5 points.

    ``drawn`` is false where there is nothing to show. ``alt`` holds the values as a sentence, for those who hear the page.
    """

    name: str
    title: str
    subtitle: str = ""
    foot: str = ""
    alt: str = ""
    height: float = 2.8
    panels: int = 1
    drawn: bool = True
    emulated: bool = False
    draw: Callable[[Sequence[Axes], Style], None]

    def plot(self, ax: Axes | None = None, theme: Theme = "light") -> Axes:
        """Draw the first panel on ``ax``, or all of them on a new pyplot figure when None. Returns the first Axes."""
        style = Style(theme=theme)
        if ax is not None:
            with mpl.rc_context(rc(style)):
                ax.set_title(textwrap.fill(self.title, 60), loc="left", color=style.palette["ink"])
                self._fill([ax], style)
            return ax
        from matplotlib import pyplot as plt  # noqa: PLC0415 - only a figure that a notebook shows needs it

        plt.draw_if_interactive()  # pyplot's own first settings, such as showing figures, must outlast the context
        with mpl.rc_context(rc(style)):
            return self._lay_out(plt.figure(layout="constrained"), style, headings=True)

    def figure(self, theme: Theme = "light", width: float = 6.4) -> Figure:
        """The figure on its own, unknown to pyplot, with title, subtitle and foot."""
        style = Style(theme=theme, width=width)
        with mpl.rc_context(rc(style)):
            figure = Figure(layout="constrained")
            self._lay_out(figure, style, headings=True)
        return figure

    def save(self, path: Path, theme: Theme = "light") -> None:
        """Write the figure as PNG."""
        with mpl.rc_context(rc(Style(theme=theme))):
            self.figure(theme).savefig(path, dpi=DPI, metadata={"Description": self.alt, "Software": None})

    def html(self, name: str) -> str:
        """The figure as HTML with two inline SVGs, for wide and for slim pages. ``name`` is unique on the page."""
        return "\n".join(self._html(name))

    def _html(self, name: str) -> Iterator[str]:
        yield f'<figure aria-labelledby="t-{name}">'
        yield f'<figcaption><h3 id="t-{name}">{text(self.title)}</h3><p>{text(self.subtitle)}</p></figcaption>'
        for kind, width in _PAGE_WIDTHS:
            style = Style(width=width, size=12)
            with mpl.rc_context({**rc(style), "svg.hashsalt": name}):
                figure = Figure(layout="constrained")
                self._lay_out(figure, style, headings=False)
                yield _inline(figure, name=f"{name}-{kind}", alt=self.alt, kind=kind)
        yield (f"<p>{text(self.foot)}</p>" if self.foot else "") + "</figure>"

    def _lay_out(self, figure: Figure, style: Style, *, headings: bool) -> Axes:
        columns = min(self.panels, max(1, int(style.width / _PANEL)))
        rows = math.ceil(self.panels / columns)
        height = 0.5 + rows * self.height * style.size / 9.5
        if headings:
            title = textwrap.fill(unbroken(self.title), style.letters(15), break_on_hyphens=False)
            foot = textwrap.fill(unbroken(f"{self.subtitle} {self.foot}".strip()), style.letters(7.8))
            figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold")
            figure.supxlabel(foot, x=0.01, ha="left", fontsize=7.8, color=style.palette["ink3"])
            height += (title.count("\n") + 1) * 0.22 + (foot.count("\n") + 1) * 0.15
        figure.set_size_inches(style.width, height)
        axes: list[Axes] = list(figure.subplots(rows, columns, squeeze=False, sharey=self.panels > 1).flat)
        self._fill(axes, style)
        return axes[0]

    def _fill(self, axes: Sequence[Axes], style: Style) -> None:
        if not self.drawn:
            axes[0].set_axis_off()
            axes[0].text(0.5, 0.5, self.title, ha="center", color=style.palette["ink3"], transform=axes[0].transAxes)
            return
        if self.emulated:  # the mark that no option removes
            for ax in axes:
                ax.text(0.5, 0.5, "EMULATED", transform=ax.transAxes, ha="center", va="center", rotation=12,
                        fontsize=style.width * 72 / 9 / len(axes), fontweight="bold", color=style.palette["emu"], alpha=0.08,
                        zorder=6, clip_on=True, in_layout=False)  # fmt: skip
        self.draw(axes, style)


_DROPPED = re.compile(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<metadata>.*?</metadata>|<style .*?</style>|<!--.*?-->", re.DOTALL)
_ROOT = re.compile(r"<svg [^>]*?viewBox=\"([^\"]+)\"[^>]*>", re.DOTALL)
_COLOR = re.compile("|".join(re.escape(value) for value in LIGHT.values()))
_NAMES = {value: name for name, value in LIGHT.items()}
_REFERENCE = re.compile(r'(\bid="|url\(#|href="#)')


def _inline(figure: Figure, *, name: str, alt: str, kind: str) -> str:
    """The figure as ``<svg class=kind>``. Colours become the page's variables, which the dark theme sets anew."""
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    body = _DROPPED.sub("", out.getvalue())
    label = html.escape(alt, quote=True)
    body = _ROOT.sub(
        lambda root: f'<svg class="{kind}" viewBox="{root[1]}" role="img" aria-label="{label}">', body, count=1
    )
    body = _REFERENCE.sub(lambda reference: f"{reference[1]}{name}-", body)
    body = _COLOR.sub(lambda color: f"var(--{_NAMES[color[0]]})", body)
    return re.sub(r"\n\s*", "\n", body).strip()
