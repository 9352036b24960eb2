"""The plan of how a request is run here: its hosts, its workers, and what replaces that which cannot exist on a CPU.

Pure: a function of the request, the options and the number of cores.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Final

from ...core.catalog.instances import find_instance
from ...core.specs.compute import Accelerator
from ..container.cluster import HOMOGENEOUS, Group, Plan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..api.shapes import Body
    from ..options import Options

# Hyperparameters that the SDK writes for `distribution=`, and what stands in for each on a CPU.
_LAUNCHERS: Final[Mapping[str, str]] = {
    "sagemaker_distributed_dataparallel_enabled": "SMDDP",
    "sagemaker_pytorch_ddp_enabled": "pytorchddp over MPI",
    "sagemaker_pytorch_xla_multi_worker_enabled": "pytorchxla",
    "sagemaker_mpi_enabled": "MPI",
}
_TORCHRUN: Final = "sagemaker_torch_distributed_enabled"


def plan_of(request: Body, options: Options, cores: int | None = None) -> Plan:
    """Return hosts and workers for this machine: at least one worker a host, else the cores shared by the hosts."""
    switched = _switched_on(request.get("HyperParameters") or {})
    substituted = _substituted(switched)
    algorithm = request["AlgorithmSpecification"]
    entrypoint = (*algorithm.get("ContainerEntrypoint", ()), *algorithm.get("ContainerArguments", ()))
    return Plan(
        groups=_groups(request["ResourceConfig"], cores or os.cpu_count() or 1),
        distributed=bool(switched & {*_LAUNCHERS, _TORCHRUN}),
        substituted=substituted,
        refusal=_refusal(request, substituted, entrypoint, options),
        entrypoint=entrypoint if algorithm.get("ContainerEntrypoint") else (),
    )


def _groups(resources: Body, cores: int) -> tuple[Group, ...]:
    """The hosts are numbered through all groups, in the order of the request."""
    requested = resources.get("InstanceGroups") or [_only_group(resources)]
    whole, first, groups = sum(group["InstanceCount"] for group in requested), 1, []
    for group in requested:
        row, count = find_instance(group["InstanceType"]), group["InstanceCount"]
        real = row.workers if row else 1
        groups.append(
            Group(
                name=group["InstanceGroupName"],
                instance_type=group["InstanceType"],
                hosts=tuple(f"algo-{number}" for number in range(first, first + count)),
                workers=max(1, min(real, cores // whole)),
                real_workers=real,
                neuron=row is not None and row.accelerator is Accelerator.NEURON,
            )
        )
        first += count
    return tuple(groups)


def _only_group(resources: Body) -> Body:
    count, instance = resources["InstanceCount"], resources["InstanceType"]
    return {"InstanceGroupName": HOMOGENEOUS, "InstanceType": instance, "InstanceCount": count}


def announcement(plan: Plan, stand_in: str, image: str, tier: str) -> str:
    """Return the first line of a job's log: what is emulated, and how."""
    return (
        f"sm_trn emulator: EMULATED {' + '.join(f'{len(group.hosts)} x {group.instance_type}' for group in plan.groups)} on "
        f"this machine's CPU: {'; '.join(_scale(plan, group) for group in plan.groups)}; {stand_in} stands in for image "
        f"{image!r}; isolation: {tier}"
    )


def _scale(plan: Plan, group: Group) -> str:
    here, there = (group.workers, group.real_workers) if plan.distributed else (1, 1)
    name = "" if group.name == HOMOGENEOUS else f"group {group.name!r}: "
    return f"{name}{len(group.hosts)} host(s) x {here} worker(s), {there} on the real instance"


def substitution_line(plan: Plan) -> str:
    return f"sm_trn emulator: SUBSTITUTED {plan.substituted}; it cannot run on a CPU, so its speed is not rehearsed"


def _switched_on(hyperparameters: Mapping[str, str]) -> frozenset[str]:
    """The containers test the decoded value for truth."""
    return frozenset(name for name, value in hyperparameters.items() if _decoded(value))


def _decoded(value: str) -> object:
    try:
        return json.loads(value)
    except ValueError:
        return value


def _substituted(switched: frozenset[str]) -> str:
    parts = [f"torchrun + gloo for {name}" for key, name in _LAUNCHERS.items() if key in switched]
    if "sagemaker_training_compiler_enabled" in switched:
        parts.append("no compilation for Training Compiler")
    return " and ".join(parts)


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
        mode = channel.get("InputMode") or request["AlgorithmSpecification"]["TrainingInputMode"]
        if source is None or source["S3DataType"] not in {"S3Prefix", "ManifestFile"}:
            what = "a file system" if source is None else source["S3DataType"]
            return f"ClientError: channel {name!r}: the emulator reads S3Prefix data and ManifestFile only, not {what}"
        if mode == "Pipe":
            return f"ClientError: channel {name!r}: the emulator has no Pipe mode; use File or FastFile"
    local = (request.get("CheckpointConfig") or {}).get("LocalPath") or "/opt/ml/checkpoints"
    if not local.startswith("/opt/ml/") or ".." in local.split("/"):
        return f"ClientError: CheckpointConfig.LocalPath: got {local!r}, wanted a folder under /opt/ml"
    return ""
