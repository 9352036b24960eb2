"""One file per figure: ``…_info`` computes what is shown, ``plot_…`` draws it on an Axes. Importing this loads matplotlib."""

from .accuracy import AccuracyInfo, accuracy_info, plot_accuracy
from .cost import CostInfo, cost_info, plot_cost
from .loss import LossInfo, loss_info, plot_loss
from .pareto import ParetoInfo, pareto_info, plot_pareto
from .phases import PhasesInfo, phases_info, plot_phases
from .throughput import ThroughputInfo, plot_throughput, throughput_info
from .waste import WasteInfo, plot_waste, waste_info

__all__ = [
    "AccuracyInfo",
    "CostInfo",
    "LossInfo",
    "ParetoInfo",
    "PhasesInfo",
    "ThroughputInfo",
    "WasteInfo",
    "accuracy_info",
    "cost_info",
    "loss_info",
    "pareto_info",
    "phases_info",
    "plot_accuracy",
    "plot_cost",
    "plot_loss",
    "plot_pareto",
    "plot_phases",
    "plot_throughput",
    "plot_waste",
    "throughput_info",
    "waste_info",
]
