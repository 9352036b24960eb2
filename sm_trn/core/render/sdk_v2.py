"""Target ``estimator-v2``: the call that makes SDK v2's estimator, as plain data. ``sm_trn.core.sdk`` makes it an object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from .. import _entry, fields
from ..catalog import compiler, images
from ..catalog.images import image_uri
from ..specs.data import Channel, FileSystem, Source
from ..specs.destination import Destination
from ..specs.framework import HuggingFace, HuggingFaceNeuronX, PyTorch
from ..specs.job import Git, JobSpec
from ..specs.launch import Library, Runner
from ..specs.problems import Advice, Field, Problem, rules_of
from ..strategies import plan
from ..strategies.smp import SMModelParallel
from . import passthrough
from .calls import EstimatorCall, with_objects

# The classes of arguments, and of the items of lists.
CLASSES: Final[Mapping[str, str]] = {
    "shuffle_config": "sagemaker.inputs.ShuffleConfig",
    "instance_groups": "sagemaker.instance_group.InstanceGroup",
    "tensorboard_output_config": "sagemaker.debugger.TensorBoardOutputConfig",
}

_RULES = rules_of(__package__)


def problems(job: JobSpec) -> Iterator[Problem]:
    """TARGET103, TARGET105, and what neither SDK has words for."""
    yield from passthrough.problems(job)
    yield from passthrough.without_words(
        job, "v2", _RULES["TARGET105"], "SDK v2's estimators have no argument for this field"
    )
    if isinstance(job.distribution, SMModelParallel):
        yield from _refused_of_smp(job.distribution)


def _refused_of_smp(smp: SMModelParallel) -> Iterator[Problem]:
    """Yield options that the library takes and validate_mp_config refuses."""
    if smp.default_partition is not None and smp.partitions is None:
        yield _RULES["TARGET103"].problem(
            Field("distribution.default_partition"),
            "SDK v2 ends with a KeyError where partitions is not given",
            got=f"default_partition={smp.default_partition}",
            wanted="partitions beside it",
            fix=Advice(f"partitions={smp.pipeline_parallel_degree or 1}, or submit the job with Session.submit"),
        )
    if smp.placement_strategy not in {None, "spread", "cluster"}:
        yield _RULES["TARGET103"].problem(
            Field("distribution.placement_strategy"),
            "SDK v2 refuses an order of D, P and T",
            got=repr(smp.placement_strategy),
            wanted="'spread' or 'cluster'",
            fix=Advice("submit the job with Session.submit: the request target says it"),
        )


def render(job: JobSpec, at: Destination) -> EstimatorCall:
    """The estimator's class and arguments. Raises UnknownName when no image fits the framework or the region."""
    launch = plan(job)
    tree = fields.write(fields.JOB, job, "v2")
    fields.add_extra(tree, job, "v2")
    kwargs: dict[str, Any] = {
        **_source(job, at),
        "role": at.role,
        "hyperparameters": {**job.arguments, **launch.beside},
        "base_job_name": at.named(job),
        "output_path": f"s3://{at.bucket}/",
        "disable_profiler": True,
        "debugger_hook_config": False,
        "enable_sagemaker_metrics": True,
        "distribution": _plain(launch.estimator) or None,
        **with_objects(tree, CLASSES.get),
        **_container(job, at),
    }
    fit = {"inputs": _inputs(job), "job_name": at.job_name, "wait": False, **kwargs.pop("fit", {})}
    return EstimatorCall(cls=estimator_class(job), kwargs=_given(kwargs), fit=_given(fit))


def _source_words(source: Source) -> dict[str, Any]:
    return with_objects(fields.write(fields.table_of(source), source, "v2"), CLASSES.get)


def _object(cls: str, kwargs: Mapping[str, Any]) -> EstimatorCall:
    return EstimatorCall(cls=cls, kwargs=MappingProxyType(kwargs), method="")


def _given(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    return MappingProxyType({name: value for name, value in arguments.items() if value is not None})


def _inputs(job: JobSpec) -> dict[str, Any] | None:
    """Plain URIs stay plain; a channel with more to say becomes an object."""
    inputs: dict[str, Any] = {}
    for name, source in job.sources.items():
        if isinstance(source, FileSystem):
            inputs[name] = _object("sagemaker.inputs.FileSystemInput", _source_words(source))
        elif isinstance(source, Channel) and source == Channel(source.uri):
            inputs[name] = source.uri
        elif isinstance(source, Channel):  # TARGET105: a dataset is not rendered
            inputs[name] = _object("sagemaker.inputs.TrainingInput", _source_words(source))
    return inputs or None


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


def estimator_class(job: JobSpec) -> str:
    """The class of SDK v2 that makes an estimator of the job."""
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
    """Return True if the estimator takes the version with the strategy: it compares spellings, and asks nothing beside image_uri."""
    row = images.choose(job)
    if row is not None and not row.sdk_v2:
        return False
    launch, version = plan(job), job.framework.pytorch
    if launch.runner is Runner.TORCHRUN:
        return version in compiler.TORCHRUN_SPELLINGS
    return launch.library is not Library.SMDDP or version in compiler.SMDDP_SPELLINGS


def _plain(value: Any) -> Any:
    return {key: _plain(item) for key, item in value.items()} if isinstance(value, Mapping) else value
