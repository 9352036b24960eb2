"""Log lines, their order, and the numbers in them."""

from .events import LogEvent, host_of, merge, printable
from .parse import numbers, points
from .throughput import Throughput, throughput

__all__ = ["LogEvent", "Throughput", "host_of", "merge", "numbers", "points", "printable", "throughput"]
