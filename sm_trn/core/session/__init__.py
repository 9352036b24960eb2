"""What notebooks use: ``connect``, jobs as live handles, comparison."""

from ...emulator.rehearsal import Rehearsal, rehearse
from ...report.comparing import as_record, calibrate, compare, diff
from .budget import OverBudget
from .connection import connect, estimator, known_prices
from .handles import Session, TrainingJob
from .jobfiles import read_jobs
from .launches import LaunchInterrupted, PartialLaunch, unique_name
from .pace import SystemClock, next_delay

__all__ = [
    "LaunchInterrupted",
    "OverBudget",
    "PartialLaunch",
    "Rehearsal",
    "Session",
    "SystemClock",
    "TrainingJob",
    "as_record",
    "calibrate",
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
