"""The door that notebooks use: ``connect``, jobs as live handles, comparison."""

from .comparing import as_record, compare
from .connecting import connect, estimator, known_prices
from .differing import diff
from .jobfiles import read_jobs
from .jobs import TrainingJob
from .pace import SystemClock, next_delay
from .rehearsing import Rehearsal, rehearse
from .session import PartialLaunch, Session, unique_name

__all__ = [
    "PartialLaunch",
    "Rehearsal",
    "Session",
    "SystemClock",
    "TrainingJob",
    "as_record",
    "compare",
    "connect",
    "diff",
    "estimator",
    "known_prices",
    "next_delay",
    "read_jobs",
    "rehearse",
    "unique_name",
]
