"""Target ``model-trainer-v3``: the call that makes SDK v3's ModelTrainer, as plain data. ``sm_trn.core.sdk`` makes it an object.

What ModelTrainer cannot say stands beside, in ``sdk_v3_problems``; here a job is taken that has none of it.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from typing_extensions import assert_never

from .. import _entry
from ..catalog.images import image_uri
from ..catalog.instances import find_instance
from ..specs.data import Channel, FileSystem
from ..specs.destination import Destination
from ..specs.job import JobSpec
from ..specs.launch import LaunchPlan, Library, Runner
from ..strategies import plan
from .calls import EstimatorCall

CONFIGS = "sagemaker.core.training.configs"
LAUNCHERS = "sagemaker.train.distributed"


def render(job: JobSpec, at: Destination) -> EstimatorCall:
    """The trainer's arguments. Raises UnknownName when no image fits the framework or the region.

    Everything that ModelTrainer has a default for is said: its defaults are not SDK v2's (an hour of run time, not a day).
    """
    kwargs: dict[str, Any] = {
        "training_image": image_uri(job, at.region),
        "role": at.role,
        "base_job_name": job.name,  # ModelTrainer appends the time; no other name can be asked for
        "source_code": _source_code(job, at),
        "distributed": _launcher(plan(job), job),
        "compute": _compute(job),
        "networking": _networking(job),
        "stopping_condition": _config(
            "StoppingCondition",
            max_runtime_in_seconds=job.max_run_s,
            max_wait_time_in_seconds=job.spot.max_wait_s if job.spot else None,
        ),
        "output_data_config": _config(
            "OutputDataConfig",
            s3_output_path=job.output.s3_uri or f"s3://{at.bucket}/",
            kms_key_id=job.output.kms_key,
            compression_type="GZIP" if job.output.compress else "NONE",
        ),
        "checkpoint_config": _checkpoints(job),
        "environment": dict(job.variables) or None,
        "hyperparameters": dict(job.arguments) or None,
        "tags": [_config("Tag", key=key, value=value) for key, value in job.tags.items()] or None,
    }
    channels = [_channel(name, channel) for name, channel in job.sources.items()] or None
    return EstimatorCall(
        cls="sagemaker.train.ModelTrainer",
        kwargs=_given(kwargs),
        chain=_chain(job),
        method="train",
        fit=_given({"input_data_config": channels, "wait": False, "logs": False}),
    )


def _given(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    return MappingProxyType({name: value for name, value in fields.items() if value is not None})


def _config(kind: str, /, **fields: Any) -> EstimatorCall:
    return _part(f"{CONFIGS}.{kind}", fields)


def _part(cls: str, fields: Mapping[str, Any]) -> EstimatorCall:
    return EstimatorCall(cls=cls, kwargs=_given(fields), method="")


def _source_code(job: JobSpec, at: Destination) -> EstimatorCall | None:
    if job.script is None:
        return None
    folder = at.source_uri or job.script.source_dir or str(_entry.scripts_folder())
    if folder.startswith("s3://") and not folder.endswith((".tar.gz", "/")):
        folder += "/"  # the only spelling of a folder in S3 that ModelTrainer accepts
    local = Path(job.script.source_dir or _entry.scripts_folder()) / "requirements.txt"
    return _config(
        "SourceCode",
        source_dir=folder,
        entry_script=job.script.entry,
        requirements="requirements.txt" if local.is_file() else None,  # SDK v2's container finds it by itself
    )


def _launcher(launch: LaunchPlan, job: JobSpec) -> EstimatorCall | None:
    workers = _workers(launch, job)
    match launch.runner:
        case Runner.PYTHON:
            return None
        case Runner.TORCHRUN:
            smp = _part(f"{LAUNCHERS}.SMP", launch.parameters) if launch.library is Library.SMP_V2 else None
            return _part(f"{LAUNCHERS}.Torchrun", {"process_count_per_node": workers, "smp": smp})
        case (
            Runner.MPI | Runner.SMDDP | Runner.XLA_SPAWN
        ):  # TARGET001, 002, 004, 005: of these only plain MPI is rendered
            options = shlex.split(launch.mpi_options) or None
            return _part(f"{LAUNCHERS}.MPI", {"process_count_per_node": workers, "mpi_additional_options": options})
    assert_never(launch.runner)


def _workers(launch: LaunchPlan, job: JobSpec) -> int | None:
    """Workers per host; None, which is every accelerator that the container finds, where the catalogue cannot tell."""
    known = all(find_instance(name) for name in job.compute.instances)
    alike = len(job.compute.instances) == 1
    return launch.workers_per_host if launch.named_workers or (known and alike) else None


def _compute(job: JobSpec) -> EstimatorCall:
    compute = job.compute
    groups = [
        _config(
            "InstanceGroup", instance_group_name=group.name, instance_type=group.instance, instance_count=group.count
        )
        for group in compute.groups
    ]
    return _config(
        "Compute",
        instance_type=compute.instance or None,
        instance_count=None if groups else compute.count,
        instance_groups=groups or None,
        volume_size_in_gb=compute.volume_gb,
        volume_kms_key_id=compute.volume_kms_key,
        keep_alive_period_in_seconds=compute.keep_alive_s,
        enable_managed_spot_training=True if job.spot else None,
        training_plan_arn=compute.training_plan,
    )


def _networking(job: JobSpec) -> EstimatorCall | None:
    network = job.network
    if network is None:
        return None
    return _config(
        "Networking",
        subnets=list(network.subnets) or None,
        security_group_ids=list(network.security_groups) or None,
        enable_network_isolation=network.isolation or None,
        enable_inter_container_traffic_encryption=network.encrypt_traffic or None,
    )


def _checkpoints(job: JobSpec) -> EstimatorCall | None:
    kept = job.checkpoints
    return None if kept is None else _config("CheckpointConfig", s3_uri=kept.s3_uri, local_path=kept.local_path)


def _file_system(name: str, system: FileSystem) -> EstimatorCall:
    source = _config(
        "FileSystemDataSource",
        file_system_id=system.file_system_id,
        file_system_access_mode="rw" if system.writable else "ro",
        file_system_type=system.kind.value,
        directory_path=system.directory,
    )
    return _config("InputData", channel_name=name, data_source=source, content_type=system.content_type)


def _channel(name: str, channel: Channel | FileSystem) -> EstimatorCall:
    """Plain URIs and local folders stay plain; a channel with more to say is spelt out."""
    if isinstance(channel, FileSystem):
        return _file_system(name, channel)
    if channel == Channel(channel.uri):
        return _config("InputData", channel_name=name, data_source=channel.uri)
    source = _config(
        "S3DataSource",
        s3_data_type=channel.kind.value,
        s3_uri=channel.uri,
        s3_data_distribution_type=channel.spread.value,
        instance_group_names=list(channel.groups) or None,
    )
    return _config(
        "Channel",
        channel_name=name,
        data_source=_config("DataSource", s3_data_source=source),
        compression_type=channel.compression,
        content_type=channel.content_type,
        record_wrapper_type=channel.record_wrapping,
        input_mode=channel.mode.value if channel.mode else None,
    )


def _chain(job: JobSpec) -> Mapping[str, Mapping[str, Any]]:
    """What is no argument of ModelTrainer but a method of it."""
    chain: dict[str, Mapping[str, Any]] = {}
    if job.metrics:
        rules = [_config("MetricDefinition", name=rule.name, regex=rule.regex) for rule in job.metrics]
        chain["with_metric_definitions"] = MappingProxyType({"metric_definitions": rules})
    if job.retries is not None:
        strategy = _config("RetryStrategy", maximum_retry_attempts=job.retries)
        chain["with_retry_strategy"] = MappingProxyType({"retry_strategy": strategy})
    if job.tensorboard is not None:
        events = _config(
            "TensorBoardOutputConfig", s3_output_path=job.tensorboard.s3_uri, local_path=job.tensorboard.local_path
        )
        chain["with_tensorboard_output_config"] = MappingProxyType({"tensorboard_output_config": events})
    if job.infra_check:
        looks = _config("InfraCheckConfig", enable_infra_check=True)
        chain["with_infra_check_config"] = MappingProxyType({"infra_check_config": looks})
    if job.remote_debug:
        opens = _config("RemoteDebugConfig", enable_remote_debug=True)
        chain["with_remote_debug_config"] = MappingProxyType({"remote_debug_config": opens})
    return MappingProxyType(chain)
