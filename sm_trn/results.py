"""The types of what functions and jobs answer, for annotations and checks."""

from __future__ import annotations

from .account.policies.policy import Policies
from .bridge.jobs import Launch
from .bridge.launchers import Imported
from .capacity.queued import QueuedJob
from .core.logs.events import LogEvent
from .core.logs.metrics import MetricLog
from .core.logs.saved import SavedLog
from .core.pricing.book import Price, PriceBook
from .core.pricing.cost import JobCost
from .core.render.calls import EstimatorCall
from .core.render.differences import Diff
from .core.specs.record import JobRecord
from .core.specs.snapshot import JobSnapshot, JobStatus
from .core.status import Verdict
from .diagnosis.causes.cause import Cause, Confidence, Diagnosis
from .diagnosis.health.health import Health
from .emulator.rehearsal import Rehearsal
from .forecast.estimate import Estimate
from .forecast.plan import Plan
from .hosting.endpoints import Endpoint
from .report.comparison.compare import Comparison
from .report.fleets.fleet import Fleet
from .tuning.aws import Trial, TuningSnapshot
from .tuning.job import TuningJob

__all__ = [
    "Cause",
    "Comparison",
    "Confidence",
    "Diagnosis",
    "Diff",
    "Endpoint",
    "Estimate",
    "EstimatorCall",
    "Fleet",
    "Health",
    "Imported",
    "JobCost",
    "JobRecord",
    "JobSnapshot",
    "JobStatus",
    "Launch",
    "LogEvent",
    "MetricLog",
    "Plan",
    "Policies",
    "Price",
    "PriceBook",
    "QueuedJob",
    "Rehearsal",
    "SavedLog",
    "Trial",
    "TuningJob",
    "TuningSnapshot",
    "Verdict",
]
