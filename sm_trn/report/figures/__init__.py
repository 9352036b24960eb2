"""One file per figure: ``…_info`` computes what is shown, ``plot_…`` draws it on an Axes. Importing this loads matplotlib."""

from .accuracy import AccuracyInfo, accuracy_info, plot_accuracy
from .cost import CostInfo, cost_info, plot_cost
from .loss import LossInfo, loss_info, plot_loss
from .throughput import ThroughputInfo, plot_throughput, throughput_info

__all__ = [
    "AccuracyInfo",
    "CostInfo",
    "LossInfo",
    "ThroughputInfo",
    "accuracy_info",
    "cost_info",
    "loss_info",
    "plot_accuracy",
    "plot_cost",
    "plot_loss",
    "plot_throughput",
    "throughput_info",
]
