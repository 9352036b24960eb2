"""Log lines, their order, and the numbers in them."""

from ..formatting.printable import shown
from .dicts import dicts, numbers
from .events import LogEvent, host_of, merge, printable, saved_line
from .metrics import MetricReader, points
from .prefixes import prefix_of
from .rules import RuleReader
from .saved import SavedLog, parse_log
from .selection import LogFilter, since_s
from .throughput import throughput

__all__ = [
    "LogEvent",
    "LogFilter",
    "MetricReader",
    "RuleReader",
    "SavedLog",
    "dicts",
    "host_of",
    "merge",
    "numbers",
    "parse_log",
    "points",
    "prefix_of",
    "printable",
    "saved_line",
    "shown",
    "since_s",
    "throughput",
]
