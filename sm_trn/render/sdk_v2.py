"""Target ``estimator-v2``: the call that makes SDK v2's estimator, as plain data. ``sm_trn.sdk`` makes it an object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from .. import _entry
from ..catalog import image_uri
from ..specs import Destination, HuggingFace, JobSpec, NeuronX, PyTorch
from ..specs.launch import NOTHING
from ..strategies import plan


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimatorCall:
    """``cls(**kwargs)`` and then ``.fit(**fit)``. A value inside ``kwargs`` may be such a call itself."""

    cls: str
    kwargs: Mapping[str, Any]
    fit: Mapping[str, Any] = field(default_factory=lambda: NOTHING)

    def __str__(self) -> str:
        """The call as Python source that can be pasted."""
        module, _, name = self.cls.rpartition(".")
        arguments = "".join(f"    {key}={_source(value)},\n" for key, value in self.kwargs.items())
        lines = f"from {module} import {name}\n\nestimator = {name}(\n{arguments})\n"
        return lines + f"estimator.fit({', '.join(f'{key}={_source(value)}' for key, value in self.fit.items())})"


def _source(value: Any) -> str:
    if isinstance(value, EstimatorCall):
        inside = ", ".join(f"{key}={_source(item)}" for key, item in value.kwargs.items())
        return f"{value.cls}({inside})"
    return repr(value)


def render(job: JobSpec, at: Destination) -> EstimatorCall:
    """The estimator's class and arguments. Raises UnknownName when no image fits the framework or the region."""
    kwargs: dict[str, Any] = {
        "entry_point": job.script.entry,
        "source_dir": at.source_uri or job.script.source_dir or str(_entry.scripts_folder()),
        "role": at.role,
        "instance_type": job.compute.instance,
        "instance_count": job.compute.count,
        "volume_size": job.compute.volume_gb,
        "max_run": job.max_run_s,
        "hyperparameters": dict(job.hyperparameters),
        "base_job_name": at.named(job),
        "output_path": f"s3://{at.bucket}/",
        "disable_profiler": True,
        "debugger_hook_config": False,
        "enable_sagemaker_metrics": True,
    } | _container(job, at)
    distribution = plan(job).estimator
    if distribution:
        kwargs["distribution"] = _plain(distribution)
    if job.metrics:
        kwargs["metric_definitions"] = [{"Name": rule.name, "Regex": rule.regex} for rule in job.metrics]
    if job.environment:
        kwargs["environment"] = dict(job.environment)
    if job.tags:
        kwargs["tags"] = [{"Key": key, "Value": value} for key, value in job.tags.items()]
    if job.spot is not None:
        kwargs |= {"use_spot_instances": True, "max_wait": job.spot.max_wait_s}
        if job.spot.checkpoint_s3_uri:
            kwargs["checkpoint_s3_uri"] = job.spot.checkpoint_s3_uri
            if job.spot.checkpoint_local_path:
                kwargs["checkpoint_local_path"] = job.spot.checkpoint_local_path
    fit: dict[str, Any] = {"wait": False}
    if job.inputs:
        fit["inputs"] = dict(job.inputs)
    if at.job_name:
        fit["job_name"] = at.job_name
    return EstimatorCall(cls=_estimator(job), kwargs=MappingProxyType(kwargs), fit=MappingProxyType(fit))


def _estimator(job: JobSpec) -> str:
    return (
        "sagemaker.huggingface.HuggingFace" if isinstance(job.framework, HuggingFace) else "sagemaker.pytorch.PyTorch"
    )


def _container(job: JobSpec, at: Destination) -> dict[str, Any]:
    """How the estimator finds its image. Trainium's is passed by URI: the SDK knows one image of 2022 only."""
    framework = job.framework
    if job.image_uri or isinstance(framework, NeuronX):
        chosen: dict[str, Any] = {"image_uri": image_uri(job, at.region)}
        if isinstance(framework, HuggingFace):  # the constructor asks for it even beside image_uri
            chosen["py_version"] = framework.python
        return chosen
    image_uri(job, at.region)  # refuses here what the SDK would refuse, or guess, later
    chosen = {"py_version": framework.python}
    if isinstance(framework, PyTorch):
        chosen["framework_version"] = framework.version
    else:
        chosen |= {"transformers_version": framework.transformers, "pytorch_version": framework.pytorch}
    if job.compiler is not None and job.compiled:
        module = "sagemaker.huggingface" if isinstance(framework, HuggingFace) else "sagemaker.pytorch"
        settings = MappingProxyType({"enabled": True, "debug": job.compiler.debug})
        chosen["compiler_config"] = EstimatorCall(cls=f"{module}.TrainingCompilerConfig", kwargs=settings)
    return chosen


def _plain(value: Any) -> Any:
    return {key: _plain(item) for key, item in value.items()} if isinstance(value, Mapping) else value
