"""The queue of AWS Batch that a job waits in, and how often Batch starts it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from types import MappingProxyType
from typing import ClassVar

from .json import NOTHING
from .value import suggesting

# Ranges below are those of https://docs.aws.amazon.com/batch/latest/APIReference/API_SubmitServiceJob.html


@suggesting
@dataclass(frozen=True, slots=True, kw_only=True)
class RetryRule:
    """Batch's action when an attempt ended for a reason: ``RETRY`` or ``EXIT``. A ``*`` at the end of the reason is any text.

    >>> st.specs.RetryRule(action="EXIT", reason="*").action
    'EXIT'
    """

    action: str
    reason: str | None = None

    def __post_init__(self) -> None:
        if self.action not in {"RETRY", "EXIT"}:
            raise ValueError(f"queue.retry.rules: got the action {self.action!r}, wanted RETRY or EXIT")


@suggesting
@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """How often Batch starts a queued job, and after which failures. Where no rule fits, the job is started again.

    >>> st.specs.Retry(attempts=3).rules
    ()
    """

    attempts: int
    rules: tuple[RetryRule, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "rules", tuple(self.rules))
        if not 1 <= self.attempts <= 10:
            raise ValueError(f"queue.retry.attempts: got {self.attempts!r}, wanted 1 to 10")
        if len(self.rules) > 5:
            raise ValueError(f"queue.retry.rules: got {len(self.rules)}, wanted at most 5")


@suggesting
@dataclass(frozen=True, slots=True)
class Queue:
    """A training queue of AWS Batch, and a job's place in it. It is no part of the job's own request.

    ``name`` is the queue's name or ARN. Of jobs in one share, Batch starts those of a higher ``priority`` first; the queue's policy
    says whether it wants a ``share``, a ``quota_share`` or neither. ``retry`` None is one attempt, as the SageMaker SDK asks for.
    ``timeout_s`` ends an attempt, however long ``max_run_s`` is. ``preemptions`` is how often the job may lose its place to another
    one before it fails; None is without a limit. ``tags`` are of the queued job.

    >>> st.Queue("team", priority=10, share="research").timeout_s
    86400
    """

    ELSEWHERE: ClassVar[Mapping[str, str]] = MappingProxyType({
        "retry_config": "retry=Retry(attempts=…)", "share_identifier": "share=…", "quota_share_name": "quota_share=…",
        "preemption_config": "preemptions=…", "timeout": "timeout_s=…",
    })  # fmt: skip

    name: str
    _: KW_ONLY
    priority: int | None = None
    share: str | None = None
    quota_share: str | None = None
    retry: Retry | None = None
    timeout_s: int = 86_400
    preemptions: int | None = None
    tags: Mapping[str, str] = field(default_factory=lambda: NOTHING)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tags", MappingProxyType(dict(self.tags)))
        if not self.name:
            raise ValueError("queue.name: got '', wanted the name or the ARN of a job queue")
        if self.priority is not None and not 0 <= self.priority <= 9999:
            raise ValueError(f"queue.priority: got {self.priority!r}, wanted 0 to 9999")
        if self.share is not None and self.quota_share is not None:
            raise ValueError("queue: got share and quota_share, wanted the one that the queue's policy has")
        if self.timeout_s < 1:
            raise ValueError(f"queue.timeout_s: got {self.timeout_s!r}, wanted at least 1")
        if self.preemptions is not None and self.preemptions < 0:
            raise ValueError(f"queue.preemptions: got {self.preemptions!r}, wanted at least 0")

    @property
    def starts(self) -> int | None:
        """How often the job may start at most; None where its quota share may preempt it without a limit.

        A start that found no capacity does not count: nothing of it is billed.
        """
        attempts = self.retry.attempts if self.retry is not None else 1
        if self.quota_share is None:
            return attempts
        return None if self.preemptions is None else attempts + self.preemptions
