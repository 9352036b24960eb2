"""The door that notebooks use: ``connect``, jobs as live handles, comparison."""

from .budget import OverBudget
from .comparing import as_record, compare
from .connecting import connect, estimator
from .jobs import TrainingJob
from .launching import PartialLaunch, unique_name
from .pace import SystemClock, next_delay
from .session import Session

__all__ = [
    "OverBudget",
    "PartialLaunch",
    "Session",
    "SystemClock",
    "TrainingJob",
    "as_record",
    "compare",
    "connect",
    "estimator",
    "next_delay",
    "unique_name",
]
