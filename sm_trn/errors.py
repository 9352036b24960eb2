"""Every error that a caller may want to catch; all of them are ``SmTrnError``."""

from __future__ import annotations

from .core.errors import (
    CloudError,
    EmulatorError,
    InvalidJob,
    InvalidJobFile,
    JobFailed,
    LaunchUnknown,
    NotConfigured,
    SmTrnError,
    UnknownName,
)
from .core.session.budget import OverBudget
from .core.session.launches import LaunchInterrupted, PartialLaunch
from .forecast.facts import MissingFact

__all__ = [
    "CloudError",
    "EmulatorError",
    "InvalidJob",
    "InvalidJobFile",
    "JobFailed",
    "LaunchInterrupted",
    "LaunchUnknown",
    "MissingFact",
    "NotConfigured",
    "OverBudget",
    "PartialLaunch",
    "SmTrnError",
    "UnknownName",
]
