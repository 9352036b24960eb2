"""What DescribeTrainingJob alone tells of a job's end: its status, its phases, and FailureReason."""

from __future__ import annotations

from ...core.specs.snapshot import JobSnapshot, JobStatus
from .cause import Evidence

DESCRIBE = "describe"
# FailureReason's first word says who speaks. The service's own words stand above what the log says.
SERVICE = ("ClientError:", "CapacityError:", "InternalServerError:")
DECIDED = {
    "MaxRuntimeExceeded": "stop.max_runtime",
    "MaxWaitTimeExceeded": "stop.max_wait",
    "MaxPendingTimeExceeded": "stop.max_pending",
}


def decided(job: JobSnapshot) -> tuple[str, Evidence] | None:
    """The cause that the statuses decide, and the line that says so: limits, stops, interruptions, waiting for capacity."""
    words = [job.secondary, *(phase.status for phase in job.transitions)]
    for word, cause in DECIDED.items():
        if word in words:
            return cause, _line(f"SecondaryStatus {word}")
    message = job.transitions[-1].message if job.transitions else ""
    if job.status in {JobStatus.STOPPED, JobStatus.STOPPING}:
        if _ran_out(job):
            return "stop.max_runtime", _line(f"stopped after {job.training_s:g} s of at most {job.max_run_s} s")
        return "stop.user", _line(f"TrainingJobStatus {job.status_word}: {message}")
    if job.secondary == "Interrupted":
        return "spot.interrupted", _line(f"SecondaryStatus Interrupted: {message}")
    waits = "waiting for capacity" in message or "Insufficient capacity" in message
    if waits and not job.terminal and job.secondary in {"Starting", "Pending", "LaunchingMLInstances"}:
        return "capacity.waiting", _line(f"{job.secondary} - {message}")
    return None


def _ran_out(job: JobSnapshot) -> bool:
    return job.max_run_s is not None and job.training_s is not None and job.training_s >= job.max_run_s


def _line(text: str) -> Evidence:
    return Evidence(text=text, stream=DESCRIBE)
