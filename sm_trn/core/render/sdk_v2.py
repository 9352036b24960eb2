"""Target ``estimator-v2``: the call that makes SDK v2's estimator, as plain data. ``sm_trn.core.sdk`` makes it an object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from .. import _entry
from ..catalog import compiler, images
from ..catalog.images import image_uri
from ..specs.data import Channel, FileSystem
from ..specs.debugging import DebugHook, DebugRule
from ..specs.destination import Destination
from ..specs.framework import HuggingFace, HuggingFaceNeuronX, PyTorch
from ..specs.job import Git, JobSpec
from ..specs.launch import Library, Runner
from ..specs.problems import Advice, Field, Problem, Rule, Severity
from ..strategies import debugged, plan, profiled
from ..strategies.smp import SMModelParallel
from . import passthrough
from .calls import EstimatorCall

TARGET103 = Rule(
    "TARGET103",
    (Severity.ERROR,),
    "a default_partition without partitions",
    "SDK v2 compares the two and ends with a KeyError.",
    "SageMaker SDK 2.257.7, fw_utils.py, validate_mp_config",
)


TARGET104 = Rule(
    "TARGET104",
    (Severity.ERROR,),
    "rules that SDK v2 does not send",
    "It raises for profiler rules without a profiler, and writes a rule's actions itself.",
    "SageMaker SDK 2.257.7, estimator.py, _prepare_profiler_for_training; debugger/debugger.py, prepare_actions",
)


def problems(job: JobSpec) -> Iterator[Problem]:
    """TARGET103, TARGET104, and what neither SDK has words for."""
    yield from passthrough.problems(job)
    smp = job.distribution
    if isinstance(smp, SMModelParallel) and smp.default_partition is not None and smp.partitions is None:
        yield TARGET103.problem(
            Field("distribution.default_partition"),
            "SDK v2 ends with a KeyError where partitions is not given",
            got=f"default_partition={smp.default_partition}",
            wanted="partitions beside it",
            fix=Advice(f"partitions={smp.pipeline_parallel_degree or 1}, or submit the job with Session.submit"),
        )

    if job.profiler_rules and not profiled(job):
        yield TARGET104.problem(
            Field("profiler_rules"),
            "SDK v2 raises for profiler rules without a profiler",
            got=f"{len(job.profiler_rules)} of them, and no profiler",
            wanted="a profiler",
            fix=Advice("profiler=True, or submit the job with Session.submit"),
        )
    if any("action_json" in rule.parameters for rule in job.debug_rules):
        yield TARGET104.problem(
            Field("debug_rules"),
            "SDK v2 takes a rule's actions from objects of its own, and drops this parameter",
            got="action_json",
            wanted="rules without it",
            fix=Advice("submit the job with Session.submit: the request target says it"),
        )


def render(job: JobSpec, at: Destination) -> EstimatorCall:
    """The estimator's class and arguments. Raises UnknownName when no image fits the framework or the region."""
    launch, kept = plan(job), job.checkpoints
    kwargs: dict[str, Any] = {
        **_source(job, at),
        "role": at.role,
        "volume_size": job.compute.volume_gb,
        "volume_kms_key": job.compute.volume_kms_key,
        "keep_alive_period_in_seconds": job.compute.keep_alive_s,
        "training_plan": job.compute.training_plan,
        "max_run": job.max_run_s,
        "max_retry_attempts": job.retries,
        "hyperparameters": {**job.arguments, **launch.beside},
        "base_job_name": at.named(job),
        "output_path": job.output.s3_uri or f"s3://{at.bucket}/",
        "output_kms_key": job.output.kms_key,
        "disable_output_compression": None if job.output.compress else True,
        "disable_profiler": not profiled(job, at.region),
        **_debugging(job, at),
        "enable_sagemaker_metrics": True,
        "distribution": _plain(launch.estimator) or None,
        "metric_definitions": [{"Name": rule.name, "Regex": rule.regex} for rule in job.metrics] or None,
        "environment": dict(job.variables) or None,
        "tags": [{"Key": key, "Value": value} for key, value in job.tags.items()] or None,
        "tensorboard_output_config": _tensorboard(job),
        "enable_infra_check": job.infra_check or None,
        "enable_remote_debug": job.remote_debug or None,
        "use_spot_instances": True if job.spot else None,
        "max_wait": job.spot.max_wait_s if job.spot else None,
        "checkpoint_s3_uri": kept.s3_uri if kept else None,
        "checkpoint_local_path": kept.local_path if kept else None,
    }
    kwargs |= _machines(job) | _network(job) | _container(job, at)
    fit = {"inputs": _inputs(job), "job_name": at.job_name, "wait": False}
    return EstimatorCall(cls=_estimator(job), kwargs=_given(kwargs), fit=_given(fit))


def _tensorboard(job: JobSpec) -> EstimatorCall | None:
    if job.tensorboard is None:
        return None
    place, local = job.tensorboard.s3_uri, job.tensorboard.local_path
    return _part("TensorBoardOutputConfig", s3_output_path=place, container_local_output_path=local)


def _debugging(job: JobSpec, at: Destination) -> dict[str, object]:
    rules = [
        *(_rule("Rule", rule) for rule in job.debug_rules),
        *(_rule("ProfilerRule", rule) for rule in job.profiler_rules),
    ]
    hook: EstimatorCall | bool | None = _hook(job.debug_hook) if job.debug_hook else None
    measured = job.profiling if profiled(job, at.region) else None
    return {
        "debugger_hook_config": hook if debugged(job, at.region) else False,
        "profiler_config": measured and _part(
            "ProfilerConfig", s3_output_path=measured.s3_uri, system_monitor_interval_millis=measured.interval_ms
        ),
        "rules": rules or None,
    }  # fmt: skip


def _hook(hook: DebugHook) -> EstimatorCall:
    collections = [
        _part("CollectionConfig", name=each.name, parameters=dict(each.parameters) or None) for each in hook.collections
    ]
    return _part(
        "DebuggerHookConfig", s3_output_path=hook.s3_uri, container_local_output_path=hook.local_path,
        hook_parameters=dict(hook.parameters) or None, collection_configs=collections or None,
    )  # fmt: skip


def _rule(cls: str, rule: DebugRule) -> EstimatorCall:
    kwargs = {
        "name": rule.name,
        "image_uri": rule.image_uri,
        "instance_type": rule.instance,  # said even where there is none: it has no default
        "volume_size_in_gb": rule.volume_gb,
        **_given({"container_local_output_path": rule.local_path, "s3_output_path": rule.s3_uri}),
        "rule_parameters": dict(rule.parameters),
    }
    return EstimatorCall(cls=f"sagemaker.debugger.{cls}", maker="custom", kwargs=MappingProxyType(kwargs))


def _part(cls: str, **fields: Any) -> EstimatorCall:
    return EstimatorCall(cls=f"sagemaker.debugger.{cls}", kwargs=_given(fields))


def _given(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    return MappingProxyType({name: value for name, value in fields.items() if value is not None})


def _machines(job: JobSpec) -> dict[str, Any]:
    if not job.compute.groups:
        return {"instance_type": job.compute.instance, "instance_count": job.compute.count}
    groups = [
        EstimatorCall(
            cls="sagemaker.instance_group.InstanceGroup",
            kwargs=MappingProxyType(
                {"instance_group_name": group.name, "instance_type": group.instance, "instance_count": group.count}
            ),
        )
        for group in job.compute.groups
    ]
    return {"instance_groups": groups}


def _network(job: JobSpec) -> dict[str, Any]:
    network = job.network
    if network is None:
        return {}
    return {
        "subnets": list(network.subnets) or None,
        "security_group_ids": list(network.security_groups) or None,
        "encrypt_inter_container_traffic": network.encrypt_traffic or None,
        "enable_network_isolation": network.isolation or None,
    }


def _inputs(job: JobSpec) -> dict[str, Any] | None:
    """Plain URIs stay plain; a channel with more to say becomes a TrainingInput."""
    return {
        name: _file_system(channel)
        if isinstance(channel, FileSystem)
        else channel.uri
        if channel == Channel(channel.uri)
        else _training_input(channel)
        for name, channel in job.sources.items()
    } or None


def _file_system(system: FileSystem) -> EstimatorCall:
    kwargs = {
        "file_system_id": system.file_system_id,
        "file_system_type": system.kind.value,
        "directory_path": system.directory,
        "file_system_access_mode": "rw" if system.writable else "ro",
        "content_type": system.content_type,
    }
    return EstimatorCall(cls="sagemaker.inputs.FileSystemInput", kwargs=_given(kwargs))


def _training_input(channel: Channel) -> EstimatorCall:
    kwargs = {
        "s3_data": channel.uri,
        "distribution": channel.spread.value,
        "s3_data_type": channel.kind.value,
        "compression": channel.compression,
        "content_type": channel.content_type,
        "record_wrapping": channel.record_wrapping,
        "instance_groups": list(channel.groups) or None,
        "input_mode": channel.mode.value if channel.mode else None,
    }
    return EstimatorCall(cls="sagemaker.inputs.TrainingInput", kwargs=_given(kwargs))


def _source(job: JobSpec, at: Destination) -> dict[str, Any]:
    script = job.script
    if script is None:
        return {}
    shipped = None if script.git else str(_entry.scripts_folder())
    return {
        "entry_point": script.entry,
        "source_dir": at.source_uri or script.source_dir or shipped,
        "git_config": None if script.git is None or at.source_uri else _git(script.git),
        "dependencies": None if at.source_uri else list(script.dependencies) or None,
    }


def _git(git: Git) -> dict[str, str]:
    return {name: value for name in ("repo", "branch", "commit") if (value := getattr(git, name)) is not None}


def _estimator(job: JobSpec) -> str:
    if job.script is None:
        return "sagemaker.estimator.Estimator"
    return (
        "sagemaker.huggingface.HuggingFace" if isinstance(job.framework, HuggingFace) else "sagemaker.pytorch.PyTorch"
    )


def _container(job: JobSpec, at: Destination) -> dict[str, Any]:
    """How the estimator finds its image: by versions, or by the URI where the SDK's lists lack what its registries have."""
    framework = job.framework
    uri = image_uri(job, at.region)  # refuses here what the SDK would refuse, or guess, later
    if job.script is None:
        return {"image_uri": uri}
    chosen: dict[str, Any] = {"image_uri": uri}
    hugging_face = isinstance(framework, (HuggingFace, HuggingFaceNeuronX))
    if not job.image_uri and isinstance(framework, (PyTorch, HuggingFace)) and _accepted(job):
        chosen = {"py_version": framework.python}
        if isinstance(framework, PyTorch):
            chosen["framework_version"] = framework.version
        else:
            chosen |= {"transformers_version": framework.transformers, "pytorch_version": framework.pytorch}
    elif hugging_face:  # asked for beside image_uri too
        row = images.choose(job)
        chosen["py_version"] = framework.python or (row.python if row else "py3")
    if job.compiler is not None and job.compiled:
        module = "sagemaker.huggingface" if isinstance(framework, HuggingFace) else "sagemaker.pytorch"
        settings = MappingProxyType({"enabled": True, "debug": job.compiler.debug})
        chosen["compiler_config"] = EstimatorCall(cls=f"{module}.TrainingCompilerConfig", kwargs=settings)
    return chosen


def _accepted(job: JobSpec) -> bool:
    """Whether the estimator takes the version with the strategy: it compares spellings, and asks nothing beside image_uri."""
    row = images.choose(job)
    if row is not None and not row.sdk_v2:
        return False
    launch, version = plan(job), job.framework.pytorch
    if launch.runner is Runner.TORCHRUN:
        return version in compiler.TORCHRUN_SPELLINGS
    return launch.library is not Library.SMDDP or version in compiler.SMDDP_SPELLINGS


def _plain(value: Any) -> Any:
    return {key: _plain(item) for key, item in value.items()} if isinstance(value, Mapping) else value
