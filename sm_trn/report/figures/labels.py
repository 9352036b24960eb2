"""Where texts beside points have room: none on another, none outside the axes. Measures in points."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path
from matplotlib.ticker import MaxNLocator

from ...core.formatting.apart import cut_apart
from ...core.formatting.layout import cut
from .style import Sheet, families

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
