"""The figures of a comparison: a file and a line here for each, in the order of the page. The first one that is drawn loads matplotlib."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from ...core.errors import extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...core.formatting.theme import Theme
    from ..sections.section import Section
    from .chart import Chart


class Comparison(Protocol):
    """A comparison, as its figures read it."""

    def section(self, workload: str | None = None) -> Section: ...


def _chart(name: str, section: Section) -> Chart:
    """The figure that the file ``name`` makes of a section: its function ``chart``."""
    with extra("report", f"plot_{name}()"):
        module = import_module(f".{name}", __package__)
    chart: Chart = module.chart(section)
    return chart


def _plot(name: str, doc: str) -> Callable[..., Axes]:
    def plot(self: Comparison, ax: Axes | None = None, theme: Theme = "light", *, workload: str | None = None) -> Axes:
        return _chart(name, self.section(workload)).plot(ax, theme)

    plot.__name__ = plot.__qualname__ = f"plot_{name}"
    plot.__doc__ = f"{doc}\n\nDraws ``workload`` (the first one when None) on ``ax`` (a new pyplot figure when None), and returns the Axes."
    return plot


class Figures:
    """The ``plot_…`` methods of a comparison."""

    __slots__ = ()

    plot_cost = _plot("cost", "Cost of a workload's measured jobs by phase, at dated prices.")
    plot_throughput = _plot("throughput", "Steady work per second of a workload's measured jobs.")
    plot_pareto = _plot("pareto", "Cost against minutes of a workload's completed measured jobs.")
    plot_loss = _plot("loss", "Training loss by epoch or step, and by US dollars or minutes.")
    plot_sweep = _plot("sweep", "The metric of each setting of a sweep, the best one first.")


def charts_of(section: Section) -> Iterator[Chart]:
    """The figures of a section that have something to show. Emulated jobs have losses and a sweep: their seconds say nothing of AWS."""
    names = [name.removeprefix("plot_") for name in vars(Figures) if name.startswith("plot_")]
    yield from (chart for name in names if (chart := _chart(name, section)).drawn)
