"""The door that notebooks use: ``connect``, jobs as live handles, comparison."""

from .comparing import as_record, compare
from .connecting import connect, estimator
from .differing import diff
from .jobs import TrainingJob
from .pace import SystemClock, next_delay
from .session import PartialLaunch, Session, unique_name

__all__ = [
    "PartialLaunch",
    "Session",
    "SystemClock",
    "TrainingJob",
    "as_record",
    "compare",
    "connect",
    "diff",
    "estimator",
    "next_delay",
    "unique_name",
]
