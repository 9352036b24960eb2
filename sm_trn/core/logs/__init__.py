"""Log lines, their order, and the numbers in them."""

from ..formatting.printable import plain, shown
from .dicts import dicts, numbers
from .events import LogEvent, host_of, merge, printable, saved_line
from .metrics import MetricLine, MetricLog, MetricReader, points
from .prefixes import Prefix, prefix_of
from .rules import RuleReader
from .saved import SavedLog, parse_log, read_log
from .selection import LogFilter, since_s
from .throughput import Throughput, throughput

__all__ = [
    "LogEvent",
    "LogFilter",
    "MetricLine",
    "MetricLog",
    "MetricReader",
    "Prefix",
    "RuleReader",
    "SavedLog",
    "Throughput",
    "dicts",
    "host_of",
    "merge",
    "numbers",
    "parse_log",
    "plain",
    "points",
    "prefix_of",
    "printable",
    "read_log",
    "saved_line",
    "shown",
    "since_s",
    "throughput",
]
