"""A probe is one small question to the service: what it sends, what it needs, what it may cost and which rights it uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from .jobs import JOBS, JobPlan

if TYPE_CHECKING:
    from .bench import Bench

VALIDATION, LISTING, LIFE = "validation", "list and search", "life of a job"
TELEMETRY, LIMITS, STORAGE, HOSTING = "logs, metrics", "spot, limits, stop", "storage", "hosting"
BATTERIES: Final = (VALIDATION, LISTING, LIFE, TELEMETRY, LIMITS, STORAGE, HOSTING)
# What of IAM an operation needs, where that is not one right of the operation's own name.
# https://docs.aws.amazon.com/service-authorization/latest/reference/reference_policies_actions-resources-contextkeys.html
_RIGHTS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "sagemaker:CreateTrainingJob": ("sagemaker:CreateTrainingJob", "sagemaker:AddTags", "iam:PassRole"),
        "sagemaker:CreateModel": ("sagemaker:CreateModel", "sagemaker:AddTags", "iam:PassRole"),
        "sagemaker:CreateEndpointConfig": ("sagemaker:CreateEndpointConfig", "sagemaker:AddTags"),
        "sagemaker:CreateEndpoint": ("sagemaker:CreateEndpoint", "sagemaker:AddTags"),
        "sagemaker-runtime:InvokeEndpoint": ("sagemaker:InvokeEndpoint",),
        "s3:HeadObject": ("s3:GetObject",),
        "s3:ListObjectsV2": ("s3:ListBucket",),
        "s3:DeleteObjects": ("s3:DeleteObject",),
        "s3:presigned": ("s3:GetObject",),
        "cloudwatch:GetMetricData": ("cloudwatch:GetMetricData",),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """``sends`` are its calls (``sagemaker:CreateTrainingJob``), ``jobs`` the keys of the run's jobs that it looks at.

    ``send`` asks, through a bench that keeps what is answered. A probe of ``bucket`` needs the run's objects in S3.
    """

    name: str
    battery: str
    sends: tuple[str, ...]
    send: Callable[[Bench], None]
    jobs: tuple[str, ...] = ()
    bucket: bool = False

    @property
    def plans(self) -> tuple[JobPlan, ...]:
        """The jobs that it looks at."""
        return tuple(JOBS[key] for key in self.jobs)

    @property
    def actions(self) -> frozenset[str]:
        """The IAM actions that its calls need."""
        return frozenset(action for call in self.sends for action in _RIGHTS.get(call, (call,)))
