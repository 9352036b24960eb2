"""Figures of bars for the registry: how one is made of what it shows and how it is drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .bar_drawing import bars_alone, plot_bars
from .bar_values import BarInfo
from .figure import FigureKind

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...core.pricing.book import PriceBook
    from ..sections.section import Section

__all__ = ["bar_figure", "plot_bars"]


def bar_figure(
    name: str, info: Callable[[Section, PriceBook], BarInfo], plot: Callable[..., Axes], *, rehearsed: bool = False
) -> FigureKind:
    """A figure of bars, for the registry."""

    return FigureKind(
        name=name, info=info, plot=plot, alone=lambda info, sheet: bars_alone(info, sheet, plot), rehearsed=rehearsed
    )
