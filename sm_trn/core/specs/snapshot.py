"""One parsed DescribeTrainingJob answer, at one time. AWS's words are kept where they are not understood."""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from types import MappingProxyType
from typing import Any

from .json import NOTHING
from .units import WallSeconds

# The account of every ARN that the emulator makes. AWS has no such account, so nothing emulated can pass for real.
EMULATED_ACCOUNT = "000000000000"
DELETED = "Deleted"  # our word, where AWS has none: there is no job any more


class JobStatus(enum.Enum):
    """``TrainingJobStatus`` of the service model.

    >>> st.JobStatus("Stopping").terminal
    False
    """

    IN_PROGRESS = "InProgress"
    COMPLETED = "Completed"
    FAILED = "Failed"
    STOPPING = "Stopping"
    STOPPED = "Stopped"
    DELETING = "Deleting"

    @property
    def terminal(self) -> bool:
        """Stopping is not Stopped: a stopping job still saves its model and is still billed."""
        return self in (JobStatus.COMPLETED, JobStatus.FAILED, JobStatus.STOPPED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """A phase of ``SecondaryStatusTransitions``. ``ended`` is None while the phase lasts."""

    status: str
    started: datetime
    ended: datetime | None
    message: str

    def seconds(self, now: datetime) -> float:
        return max(0.0, ((self.ended or now) - self.started).total_seconds())


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSnapshot:
    """``billable_s`` and ``training_s`` are wall seconds per instance and absent until the service knows them."""

    name: str
    arn: str
    status: JobStatus | None
    status_word: str
    secondary: str
    instance: str
    count: int
    created: datetime | None
    started: datetime | None
    ended: datetime | None
    modified: datetime | None
    transitions: tuple[Transition, ...]
    training_s: WallSeconds | None
    billable_s: WallSeconds | None
    spot: bool
    max_run_s: int | None
    failure_reason: str
    model_s3_uri: str | None
    image: str | None
    final_metrics: Mapping[str, float] = field(default_factory=lambda: NOTHING)
    hyperparameters: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    raw: Mapping[str, Any] = field(default_factory=lambda: NOTHING, repr=False, compare=False)

    @property
    def terminal(self) -> bool:
        """Only AWS's terminal states are; a status we do not know never is."""
        return self.status is not None and self.status.terminal

    @property
    def over(self) -> bool:
        """Return True if nothing more will come: the job has ended, or was deleted."""
        return self.terminal or self.status_word == DELETED

    @property
    def region(self) -> str:
        return self.arn.split(":")[3] if self.arn.count(":") >= 5 else ""

    @property
    def account(self) -> str:
        return self.arn.split(":")[4] if self.arn.count(":") >= 5 else ""

    @property
    def emulated(self) -> bool:
        return self.account == EMULATED_ACCOUNT

    @property
    def in_tokens(self) -> bool:
        """Return True if the job is serverless: such a job is billed in tokens, and its seconds have no price."""
        return bool(self.raw.get("ServerlessJobConfig"))

    @property
    def program(self) -> str:
        """The entry script that the toolkit in the container was told to run; empty for an image's own program."""
        text = self.hyperparameters.get("sagemaker_program", "")
        try:
            return str(json.loads(text))
        except ValueError:
            return text

    @property
    def machines(self) -> tuple[tuple[str, int], ...]:
        """How many of which type: several types only with instance groups."""
        groups = (self.raw.get("ResourceConfig") or {}).get("InstanceGroups") or ()
        return tuple((item["InstanceType"], item["InstanceCount"]) for item in groups) or ((self.instance, self.count),)

    @property
    def interruptions(self) -> int:
        return sum(transition.status == "Interrupted" for transition in self.transitions)


def parse_time(value: object) -> datetime | None:
    """An AWS time – datetime, epoch seconds or ISO text – as an aware UTC datetime; None stays None.
    Raises TypeError for anything else, ValueError for a text that is no time."""
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        raise TypeError(f"time: got {value!r}, wanted a datetime, epoch seconds or ISO text")
    if isinstance(value, (int, float)):
        return datetime.fromtimestamp(value, tz=timezone.utc)
    if isinstance(value, str):
        value = datetime.fromisoformat(value.replace("Z", "+00:00"))
    if not isinstance(value, datetime):
        raise TypeError(f"time: got {value!r}, wanted a datetime, epoch seconds or ISO text")
    return value.replace(tzinfo=timezone.utc) if value.tzinfo is None else value.astimezone(timezone.utc)


def _resources(answer: Mapping[str, Any]) -> tuple[str, int]:
    config = answer.get("ResourceConfig") or {}
    groups = config.get("InstanceGroups") or ()
    if groups:
        return "+".join(sorted({group["InstanceType"] for group in groups})), sum(g["InstanceCount"] for g in groups)
    return config.get("InstanceType", ""), int(config.get("InstanceCount", 1))


def _seconds(value: Any) -> WallSeconds | None:
    return None if value is None else WallSeconds(float(value))


def _transition(item: Mapping[str, Any]) -> Transition | None:
    started = parse_time(item.get("StartTime"))
    if started is None:
        return None
    return Transition(
        status=item.get("Status", ""),
        started=started,
        ended=parse_time(item.get("EndTime")),
        message=item.get("StatusMessage", ""),
    )


def _in_utc(value: Any) -> Any:
    """The same with its times in UTC: botocore gives each time a zone of its own, which takes ten times the time's room."""
    if isinstance(value, datetime):
        return parse_time(value)
    if isinstance(value, Mapping):
        return {name: _in_utc(part) for name, part in value.items()}
    return [_in_utc(part) for part in value] if isinstance(value, list) else value


def parse_snapshot(described: Mapping[str, Any]) -> JobSnapshot:
    """Read a DescribeTrainingJob answer. Fields that AWS left out are absent, not zero. Every time is in UTC, those of ``raw`` too."""
    answer: dict[str, Any] = _in_utc(described)
    word = answer.get("TrainingJobStatus", "")
    instance, count = _resources(answer)
    parsed = (_transition(item) for item in answer.get("SecondaryStatusTransitions") or ())
    return JobSnapshot(
        name=answer["TrainingJobName"],
        arn=answer.get("TrainingJobArn", ""),
        status=JobStatus(word) if word in {member.value for member in JobStatus} else None,
        status_word=word,
        secondary=answer.get("SecondaryStatus", ""),
        instance=instance,
        count=count,
        created=parse_time(answer.get("CreationTime")),
        started=parse_time(answer.get("TrainingStartTime")),
        ended=parse_time(answer.get("TrainingEndTime")),
        modified=parse_time(answer.get("LastModifiedTime")),
        transitions=tuple(transition for transition in parsed if transition is not None),
        training_s=_seconds(answer.get("TrainingTimeInSeconds")),
        billable_s=_seconds(answer.get("BillableTimeInSeconds")),
        spot=bool(answer.get("EnableManagedSpotTraining", False)),
        max_run_s=(answer.get("StoppingCondition") or {}).get("MaxRuntimeInSeconds"),
        failure_reason=answer.get("FailureReason", ""),
        model_s3_uri=(answer.get("ModelArtifacts") or {}).get("S3ModelArtifacts"),
        image=(answer.get("AlgorithmSpecification") or {}).get("TrainingImage"),
        final_metrics=MappingProxyType(
            {item["MetricName"]: float(item["Value"]) for item in answer.get("FinalMetricDataList") or ()}
        ),
        hyperparameters=MappingProxyType(dict(answer.get("HyperParameters") or {})),
        raw=MappingProxyType(answer),
    )
