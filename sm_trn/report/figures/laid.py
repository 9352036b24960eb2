"""Figures that lay themselves out: how high one is, and where its axes stand, follows from what it shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, TypeVar

import matplotlib as mpl
from matplotlib.figure import Figure

from ...core.formatting.theme import Theme
from .described import Described
from .style import WIDE, Headings, Sheet, draw_headings, headings, rc, settle_backend

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
