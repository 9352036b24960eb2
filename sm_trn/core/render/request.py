"""Target ``request``: the CreateTrainingJob request: the same, field by field, that SDK v2 would send."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from typing_extensions import assert_never

from ..catalog.images import image_uri
from ..specs.data import Channel, FileSystem
from ..specs.debugging import DebugHook, DebugRule, Profiling
from ..specs.destination import Destination
from ..specs.framework import Container
from ..specs.job import JobSpec
from ..specs.json import Json
from ..specs.launch import LaunchPlan, Library, Runner
from ..strategies import GROUPS_HYPERPARAMETER, debugged, plan, profiled
from .from_describe import CODE_CHANNEL, CODE_IN_CONTAINER
from .keeping import restored

CONTAINER_LOG_LEVEL = 20  # logging.INFO, as the SDK sends


def render(job: JobSpec, at: Destination) -> dict[str, Any]:
    """The request as a dict, kept parts and all. Raises UnknownName when no image fits the framework or the region."""
    request = typed(job, at)
    return restored(request, job.kept)[0] if job.kept else request


def typed(job: JobSpec, at: Destination) -> dict[str, Any]:
    """What the spec says without its kept parts. Raises as ``render``."""
    hyperparameters = _hyperparameters(job, at)
    request: dict[str, Any] = {
        "TrainingJobName": at.named(job),
        "AlgorithmSpecification": _algorithm(job, at),
        "RoleArn": at.role,
        "OutputDataConfig": _output(job, at),
        "ResourceConfig": _resources(job),
        "StoppingCondition": {"MaxRuntimeInSeconds": job.max_run_s},
        **({"HyperParameters": hyperparameters} if hyperparameters else {}),
    }
    code = {CODE_CHANNEL: Channel(at.source(job))} if isolated(job) and job.script is not None else {}
    channels = dict(job.sources) | code
    if channels:
        request["InputDataConfig"] = [_channel(name, channel) for name, channel in channels.items()]
    if job.spot is not None:
        request["EnableManagedSpotTraining"] = True
        request["StoppingCondition"]["MaxWaitTimeInSeconds"] = job.spot.max_wait_s
    kept = job.checkpoints
    if kept is not None:
        request["CheckpointConfig"] = _given(S3Uri=kept.s3_uri, LocalPath=kept.local_path)
    if job.variables:
        request["Environment"] = dict(job.variables)
    if job.tags:
        request["Tags"] = [{"Key": key, "Value": value} for key, value in job.tags.items()]
    if job.retries is not None:
        request["RetryStrategy"] = {"MaximumRetryAttempts": job.retries}
    return request | _network(job) | _looking_in(job) | _debugging(job, at, request["OutputDataConfig"]["S3OutputPath"])


def isolated(job: JobSpec) -> bool:
    """Whether the containers have no network."""
    return job.network is not None and job.network.isolation


def encode(hyperparameters: Mapping[str, Json]) -> dict[str, str]:
    """Every value as JSON text, which is how SDK v2 sends it and how the toolkit in the container reads it."""
    return {str(key): json.dumps(value) for key, value in hyperparameters.items()}


def _hyperparameters(job: JobSpec, at: Destination) -> dict[str, str]:
    """An image with a program of its own reads plain texts, as SDK v2's Estimator sends them; the toolkit reads JSON."""
    if job.script is None:
        return {key: str(value) for key, value in job.arguments.items()}
    return encode({**job.arguments, **toolkit_hyperparameters(job, at)})


def toolkit_hyperparameters(job: JobSpec, at: Destination) -> dict[str, Json]:
    """What the training toolkit in the container needs beside the user's own hyperparameters; without a script, nothing."""
    if job.script is None:
        return {}
    launch = plan(job)
    own: dict[str, Json] = dict(launch.toolkit)
    if len(job.compute.groups) == 1 and _names_groups(launch):
        own[GROUPS_HYPERPARAMETER] = [group.name for group in job.compute.groups]
    if job.compiler is not None and job.compiled:
        own["sagemaker_training_compiler_enabled"] = True
        own["sagemaker_training_compiler_debug_mode"] = job.compiler.debug
    return own | {
        "sagemaker_submit_directory": CODE_IN_CONTAINER if isolated(job) else at.source(job),
        "sagemaker_program": job.script.entry,
        "sagemaker_container_log_level": CONTAINER_LOG_LEVEL,
        "sagemaker_job_name": at.named(job),
        "sagemaker_region": at.region,
    }


def _names_groups(launch: LaunchPlan) -> bool:
    """Whether the toolkit is told the group that the workers are started on: by mpirun itself and for smdistributed."""
    match launch.library:
        case Library.SMDDP | Library.SMP | Library.SMP_V2:
            return True
        case Library.PYTORCH_DDP:
            return False
        case None:
            return launch.runner is Runner.MPI
    assert_never(launch.library)


def _algorithm(job: JobSpec, at: Destination) -> dict[str, Json]:
    algorithm: dict[str, Json] = {
        **_program(job, at),
        "TrainingInputMode": "File",
        "EnableSageMakerMetricsTimeSeries": True,
    }
    if job.metrics:
        algorithm["MetricDefinitions"] = [{"Name": rule.name, "Regex": rule.regex} for rule in job.metrics]
    return algorithm


def _program(job: JobSpec, at: Destination) -> dict[str, str]:
    if isinstance(job.framework, Container) and not job.image_uri:
        return {"AlgorithmName": job.framework.algorithm} if job.framework.algorithm else {}  # neither: IMG006
    return {"TrainingImage": image_uri(job, at.region)}


def _mounted(name: str, system: FileSystem) -> dict[str, Json]:
    source: dict[str, Json] = {
        "FileSystemId": system.file_system_id,
        "FileSystemType": system.kind.value,
        "DirectoryPath": system.directory,
        "FileSystemAccessMode": "rw" if system.writable else "ro",
    }
    return _given(ChannelName=name, DataSource={"FileSystemDataSource": source}, ContentType=system.content_type)


def _channel(name: str, channel: Channel | FileSystem) -> dict[str, Json]:
    if isinstance(channel, FileSystem):
        return _mounted(name, channel)
    source = _given(
        S3DataType=channel.kind.value,
        S3Uri=channel.uri,
        S3DataDistributionType=channel.spread.value,
        InstanceGroupNames=list(channel.groups) or None,
    )
    return _given(
        ChannelName=name,
        DataSource={"S3DataSource": source},
        CompressionType=channel.compression,
        ContentType=channel.content_type,
        RecordWrapperType=channel.record_wrapping,
        InputMode=channel.mode.value if channel.mode else None,
    )


def _resources(job: JobSpec) -> dict[str, Json]:
    compute = job.compute
    if compute.groups:
        machines: dict[str, Json] = {
            "InstanceGroups": [
                {"InstanceGroupName": group.name, "InstanceType": group.instance, "InstanceCount": group.count}
                for group in compute.groups
            ]
        }
    else:
        machines = {"InstanceCount": compute.count, "InstanceType": compute.instance}
    return machines | _given(
        VolumeSizeInGB=compute.volume_gb,
        VolumeKmsKeyId=compute.volume_kms_key,
        KeepAlivePeriodInSeconds=compute.keep_alive_s,
        TrainingPlanArn=compute.training_plan,
    )


def _output(job: JobSpec, at: Destination) -> dict[str, Json]:
    return _given(
        S3OutputPath=job.output.s3_uri or f"s3://{at.bucket}/",
        KmsKeyId=job.output.kms_key,
        CompressionType=None if job.output.compress else "NONE",
    )


def _network(job: JobSpec) -> dict[str, Json]:
    network = job.network
    if network is None:
        return {}
    found: dict[str, Json] = {}
    if network.subnets:
        found["VpcConfig"] = {"Subnets": list(network.subnets), "SecurityGroupIds": list(network.security_groups)}
    if network.encrypt_traffic:
        found["EnableInterContainerTrafficEncryption"] = True
    if network.isolation:
        found["EnableNetworkIsolation"] = True
    return found


def _looking_in(job: JobSpec) -> dict[str, Json]:
    """What lets people see into the job."""
    found: dict[str, Json] = {}
    if job.tensorboard is not None:
        found["TensorBoardOutputConfig"] = _given(
            S3OutputPath=job.tensorboard.s3_uri, LocalPath=job.tensorboard.local_path
        )
    if job.infra_check:
        found["InfraCheckConfig"] = {"EnableInfraCheck": True}
    if job.remote_debug:
        found["RemoteDebugConfig"] = {"EnableRemoteDebug": True}
    return found


def _debugging(job: JobSpec, at: Destination, output: str) -> dict[str, Json]:
    """Profiler and debugger hook, and the rules of both."""
    found: dict[str, Json] = {"ProfilerConfig": {"DisableProfiler": True}}
    if profiled(job, at.region):
        asked = job.profiling or Profiling()
        measured = _given(S3OutputPath=asked.s3_uri or output, ProfilingIntervalInMilliseconds=asked.interval_ms)
        found["ProfilerConfig"] = {"DisableProfiler": False, **measured}
    if debugged(job, at.region):
        hook = job.debug_hook or DebugHook()
        found["DebugHookConfig"] = _given(
            S3OutputPath=hook.s3_uri or output,
            LocalPath=hook.local_path,
            HookParameters=dict(hook.parameters) or None,
            CollectionConfigurations=[
                _given(CollectionName=each.name, CollectionParameters=dict(each.parameters) or None)
                for each in hook.collections
            ],
        )
    for word, rules in (("DebugRule", job.debug_rules), ("ProfilerRule", job.profiler_rules)):
        if rules:
            found[f"{word}Configurations"] = [_rule(rule) for rule in rules]
    return found


def _rule(rule: DebugRule) -> dict[str, Json]:
    return _given(
        RuleConfigurationName=rule.name,
        RuleEvaluatorImage=rule.image_uri,
        InstanceType=rule.instance,
        VolumeSizeInGB=rule.volume_gb,
        LocalPath=rule.local_path,
        S3OutputPath=rule.s3_uri,
        RuleParameters=dict(rule.parameters) or None,
    )


def _given(**fields: Json) -> dict[str, Json]:
    """The fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}
