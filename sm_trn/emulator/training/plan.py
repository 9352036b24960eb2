"""How a request runs on this machine: its hosts and workers, what replaces a launcher that needs an accelerator, and its deadlines.

Everything here is a function of the request, the options and the number of cores; times are arguments, in epoch seconds.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ...core.catalog.images import NEURON, processor, recognise
from ...core.catalog.instances import find_instance
from ...core.specs.compute import Accelerator
from ..api.shapes import Body
from ..options import DEVICE, Options
from .engine import Event, JobState

HOMOGENEOUS: Final = "homogeneousCluster"  # the service's name of the only group
DAY: Final = 86_400  # MaxRuntimeInSeconds where it is not given
# Hyperparameters that the SDK writes for `distribution=`, and the launcher that each of them asks for.
_LAUNCHERS: Final[Mapping[str, str]] = {
    "sagemaker_distributed_dataparallel_enabled": "SMDDP",
    "sagemaker_pytorch_ddp_enabled": "pytorchddp over MPI",
    "sagemaker_pytorch_xla_multi_worker_enabled": "pytorchxla",
    "sagemaker_mpi_enabled": "MPI",
}
_TORCHRUN: Final = "sagemaker_torch_distributed_enabled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Hosts of one instance type; ``workers`` is how many each host has here, ``real_workers`` on the instance."""

    name: str
    instance_type: str
    hosts: tuple[str, ...]
    workers: int
    real_workers: int
    accelerator: Accelerator


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """``substituted`` is empty where every launcher of the request exists here, ``refusal`` where the request can run."""

    groups: tuple[Group, ...]
    distributed: bool
    substituted: str
    refusal: str
    entrypoint: tuple[str, ...]
    neuron: bool  # the device of TorchNeuron is simulated

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(host for group in self.groups for host in group.hosts)

    def group_of(self, host: str) -> Group:
        return next(group for group in self.groups if host in group.hosts)

    def hosts_of(self, channel: Body) -> tuple[str, ...]:
        """Return the hosts that get a channel: those of the groups that it names, or all."""
        named = channel["DataSource"].get("S3DataSource", {}).get("InstanceGroupNames")
        return tuple(host for group in self.groups for host in group.hosts if not named or group.name in named)

    def announcement(self, stand_in: str, image: str, isolation: str) -> str:
        """Return the first line of a job's log: what is emulated, and how."""
        scales = []
        for group in self.groups:
            here, there = (group.workers, group.real_workers) if self.distributed else (1, 1)
            name = "" if group.name == HOMOGENEOUS else f"group {group.name!r}: "
            scales.append(f"{name}{len(group.hosts)} host(s) x {here} worker(s), {there} on the real instance")
        return (
            f"EMULATED {' + '.join(f'{len(group.hosts)} x {group.instance_type}' for group in self.groups)} on this machine's CPU: "
            f"{'; '.join(scales)}; {stand_in} stands in for image {image!r}; isolation: {isolation}"
        )


def plan_of(request: Body, options: Options, cores: int | None = None) -> Plan:
    """Return the plan of a request. A host has at least one worker, and all hosts share the cores."""
    switched = {name for name, value in (request.get("HyperParameters") or {}).items() if _decoded(value)}
    replaced = [f"torchrun + gloo for {name}" for key, name in _LAUNCHERS.items() if key in switched]
    if "sagemaker_training_compiler_enabled" in switched:
        replaced.append("no compilation for Training Compiler")
    substituted = " and ".join(replaced)
    algorithm = request["AlgorithmSpecification"]
    entrypoint = (*algorithm.get("ContainerEntrypoint", ()), *algorithm.get("ContainerArguments", ()))
    return Plan(
        groups=_groups(request["ResourceConfig"], cores or os.cpu_count() or 1),
        distributed=bool(switched & {*_LAUNCHERS, _TORCHRUN}),
        substituted=substituted,
        refusal=_refusal(request, substituted, entrypoint, options),
        entrypoint=entrypoint if algorithm.get("ContainerEntrypoint") else (),
        neuron=_simulates_neuron(request),
    )


def _simulates_neuron(request: Body) -> bool:
    """Return True where the job asks for it, or runs on Trainium2 or newer in no container of PyTorch/XLA."""
    if (request.get("Environment") or {}).get(DEVICE):
        return True
    resources, image = request["ResourceConfig"], request["AlgorithmSpecification"].get("TrainingImage", "")
    types = [group.get("InstanceType", "") for group in resources.get("InstanceGroups") or [resources]]
    return not isinstance(recognise(image), NEURON) and any(
        processor(name) == "neuron" and not name.startswith("ml.trn1") for name in types
    )


def input_mode(channel: Body, request: Body) -> str:
    """Return how a channel's data come to the job: File, FastFile or Pipe."""
    return str(channel.get("InputMode") or request["AlgorithmSpecification"]["TrainingInputMode"])


def _decoded(value: str) -> object:
    """The containers test the decoded value for truth."""
    try:
        return json.loads(value)
    except ValueError:
        return value


def _groups(resources: Body, cores: int) -> tuple[Group, ...]:
    """The hosts are numbered through all groups, in the order of the request."""
    only = {**resources, "InstanceGroupName": HOMOGENEOUS}
    requested = resources.get("InstanceGroups") or [only]
    total, first, groups = sum(group["InstanceCount"] for group in requested), 1, []
    for group in requested:
        row, count = find_instance(group["InstanceType"]), group["InstanceCount"]
        real = row.workers if row else 1
        groups.append(
            Group(
                name=group["InstanceGroupName"],
                instance_type=group["InstanceType"],
                hosts=tuple(f"algo-{number}" for number in range(first, first + count)),
                workers=max(1, min(real, cores // total)),
                real_workers=real,
                accelerator=row.accelerator if row else Accelerator.CPU,
            )
        )
        first += count
    return tuple(groups)


def _refusal(request: Body, substituted: str, entrypoint: tuple[str, ...], options: Options) -> str:
    if options.strict and substituted:
        return f"ClientError: strict emulation: {substituted} would be substituted; start without strict to allow it"
    hyperparameters = request.get("HyperParameters") or {}
    if not entrypoint and not {"sagemaker_program", "sagemaker_submit_directory"} <= set(hyperparameters):
        return (
            "ClientError: the emulator has no images: it runs scripts named by the hyperparameters sagemaker_program "
            "and sagemaker_submit_directory, or by ContainerEntrypoint"
        )
    for channel in request.get("InputDataConfig") or ():
        name, source = channel["ChannelName"], channel["DataSource"].get("S3DataSource")
        if source is None or source["S3DataType"] not in {"S3Prefix", "ManifestFile"}:
            kind = "a file system" if source is None else source["S3DataType"]
            return f"ClientError: channel {name!r}: the emulator reads S3Prefix data and ManifestFile only, not {kind}"
        if input_mode(channel, request) == "Pipe":
            return f"ClientError: channel {name!r}: the emulator has no Pipe mode; use File or FastFile"
    local = (request.get("CheckpointConfig") or {}).get("LocalPath") or "/opt/ml/checkpoints"
    if not local.startswith("/opt/ml/") or ".." in local.split("/"):
        return f"ClientError: CheckpointConfig.LocalPath: got {local!r}, wanted a folder under /opt/ml"
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadlines:
    """When a job's StoppingCondition ends it."""

    max_run_s: float
    wait_until: float
    pending_until: float

    def overdue(self, now: float, *, started: bool) -> Event | None:
        """Return the limit that a job without processes has passed."""
        if now >= self.wait_until:
            return Event.WAIT_EXCEEDED
        return Event.PENDING_EXCEEDED if now >= self.pending_until and not started else None

    def run_until(self, attempts: tuple[tuple[float, float | None], ...]) -> float:
        """Return the end of the last attempt: MaxRuntimeInSeconds is for all attempts together."""
        used = sum((end or start) - start for start, end in attempts)
        return attempts[-1][0] + self.max_run_s - used


def deadlines_of(request: Body, state: JobState, plan: Plan) -> Deadlines:
    """MaxPendingTimeInSeconds has no effect on clusters of CPU instances (the API reference of StoppingCondition)."""
    limits = request.get("StoppingCondition") or {}
    accelerated = any(group.accelerator is not Accelerator.CPU for group in plan.groups)
    pending = limits.get("MaxPendingTimeInSeconds") if accelerated else None
    return Deadlines(
        max_run_s=float(limits.get("MaxRuntimeInSeconds", DAY)),
        wait_until=state.created + float(limits.get("MaxWaitTimeInSeconds") or "inf"),
        pending_until=state.created + float(pending or "inf"),
    )
