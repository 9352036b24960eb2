"""The figures of a comparison: a file and a line here for each, in the order of the page.

In a figure's file ``…_info`` computes what is shown, ``plot_…`` draws it on an Axes, and ``FIGURE`` names both. Importing this
folder loads no matplotlib.
"""

from __future__ import annotations

from .figure import Plot


class Figures:
    """The ``plot_…`` methods of a comparison; its page and its folder hold the same figures."""

    __slots__ = ()

    plot_throughput = Plot(
        "Steady work per second of a workload's measured jobs. Emulated jobs get a hatched row and no bar."
    )
    plot_cost = Plot("Cost of a workload's measured jobs at dated prices. Emulated jobs have none.")
    plot_phases = Plot(
        "Minutes since submission by phase: waiting, transfer, compile or warm-up, training, interruptions."
    )
    plot_pareto = Plot(
        "Cost against billable minutes of a workload's completed measured jobs, and which of them no other beats."
    )
    plot_loss = Plot("Training loss by epoch, step, billable minutes and USD, as far as they are known.")
    plot_accuracy = Plot("Held-out accuracy, and the baselines that the logs name.")


FIGURES = tuple(line for line in vars(Figures).values() if isinstance(line, Plot))
