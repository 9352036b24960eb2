"""What a file of this folder says of its figure, and how a comparison plots it. Importing this loads no matplotlib."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, overload

from ...core.extras import extra
from ...core.formatting.theme import Theme
from .described import Info

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ...core.pricing.book import PriceBook
    from ..sections.section import Section
    from .drawing import Sheet


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureKind:
    """A kind of figure: ``info`` computes what it shows, ``plot`` draws that on an Axes, ``alone`` as a figure unknown to pyplot.

    ``name`` is the stem of its file. ``wide`` figures take the whole width of a page. ``rehearsed`` figures are also drawn of
    emulated jobs.
    """

    name: str
    info: Callable[[Section, PriceBook], Info]
    plot: Callable[..., Axes]
    alone: Callable[[Any, Sheet], Figure]
    wide: bool = False
    rehearsed: bool = False


class Drawable(Protocol):
    """A comparison, as its figures see it."""

    @property
    def book(self) -> PriceBook: ...
    def section(self, workload: str | None = None) -> Section: ...


class PlotMethod(Protocol):
    """Draw a workload (the first one when None) on ``ax``, or on a new pyplot figure when None, and return the Axes."""

    def __call__(self, ax: Axes | None = None, theme: Theme = "light", *, workload: str | None = None) -> Axes: ...


class Plot:
    """The method ``plot_NAME``. It draws ``FIGURE`` of the file ``NAME.py`` in this folder, which is loaded on first use."""

    def __init__(self, doc: str) -> None:
        self.__doc__ = doc

    def __set_name__(self, owner: type, name: str) -> None:
        self.__name__ = name

    def load(self) -> FigureKind:
        """The figure itself; loads matplotlib."""
        with extra("report", f"{self.__name__}()"):
            module = import_module(f".{self.__name__.removeprefix('plot_')}", __package__)
        found: FigureKind = module.FIGURE
        return found

    @overload
    def __get__(self, item: None, owner: type) -> Plot: ...
    @overload
    def __get__(self, item: Drawable, owner: type) -> PlotMethod: ...
    def __get__(self, item: Drawable | None, owner: type) -> Plot | PlotMethod:
        if item is None:
            return self

        def plot(ax: Axes | None = None, theme: Theme = "light", *, workload: str | None = None) -> Axes:
            figure = self.load()
            return figure.plot(figure.info(item.section(workload), item.book), ax, theme)

        plot.__name__, plot.__doc__ = self.__name__, self.__doc__
        return plot
