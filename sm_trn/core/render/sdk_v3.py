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

from .. import _entry, fields
from ..catalog.images import image_uri
from ..catalog.instances import find_instance
from ..specs.data import Channel, Source
from ..specs.destination import Destination
from ..specs.job import JobSpec
from ..specs.launch import LaunchPlan, Library, Runner
from ..strategies import plan
from .calls import EstimatorCall, with_objects

CONFIGS = "sagemaker.core.training.configs"
LAUNCHERS = "sagemaker.train.distributed"
MAPS = ("environment",)  # their keys are the user's
OTHER_NAMES = MappingProxyType({"tensorboard_output_config": "TensorBoardOutputConfig"})
# Classes that the configs of ModelTrainer do not hand on.
SHAPES = frozenset({"InstancePlacementConfig", "InstancePreference", "ModelPackageConfig", "PlacementSpecification"})


def render(job: JobSpec, at: Destination) -> EstimatorCall:
    """The trainer's arguments. Raises UnknownName when no image fits the framework or the region.

    Everything that ModelTrainer has a default for is said: its defaults are not SDK v2's (an hour of run time, not a day).
    """
    tree = fields.write(fields.JOB, job, "v3")
    fields.add_extra(tree, job, "v3")
    tree["output_data_config"] = {"s3_output_path": f"s3://{at.bucket}/", **tree["output_data_config"]}
    methods = {name: tree.pop(name) for name in tuple(tree) if name.startswith("with_")}  # of the trainer
    kwargs: dict[str, Any] = {
        "training_image": image_uri(job, at.region),
        "role": at.role,
        "base_job_name": job.name,  # ModelTrainer appends the time; no other name can be asked for
        "source_code": _source_code(job, at),
        "distributed": _launcher(plan(job), job),
        **with_objects(tree, class_of),
        "hyperparameters": dict(job.arguments) or None,
    }
    channels = [_channel(name, source) for name, source in job.sources.items()] or None
    return EstimatorCall(
        cls="sagemaker.train.ModelTrainer",
        kwargs=_given(kwargs),
        chain=MappingProxyType({name: with_objects(arguments, class_of) for name, arguments in methods.items()}),
        method="train",
        fit=_given({"input_data_config": channels, "wait": False, "logs": False}),
    )


def class_of(argument: str) -> str | None:
    """The class of an argument, or of the items of a list: ``RetryStrategy`` of ``retry_strategy``, ``Tag`` of ``tags``."""
    if argument in MAPS:
        return None
    camel = "".join(word.capitalize() for word in argument.removesuffix("s").split("_"))
    name = OTHER_NAMES.get(argument, camel)
    return f"sagemaker.core.shapes.{name}" if name in SHAPES else f"{CONFIGS}.{name}"


def _given(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    return MappingProxyType({name: value for name, value in arguments.items() if value is not None})


def _part(cls: str, arguments: Mapping[str, Any]) -> EstimatorCall:
    return EstimatorCall(cls=cls, kwargs=_given(arguments), method="")


def _source_code(job: JobSpec, at: Destination) -> EstimatorCall | None:
    if job.script is None:
        return None
    folder = at.source_uri or job.script.source_dir or str(_entry.scripts_folder())
    if folder.startswith("s3://") and not folder.endswith((".tar.gz", "/")):
        folder += "/"  # the only spelling of a folder in S3 that ModelTrainer accepts
    local = Path(job.script.source_dir or _entry.scripts_folder()) / "requirements.txt"
    arguments = {
        "source_dir": folder,
        "entry_script": job.script.entry,
        "requirements": "requirements.txt" if local.is_file() else None,  # SDK v2's container finds it by itself
    }
    return _part(f"{CONFIGS}.SourceCode", arguments)


def _launcher(launch: LaunchPlan, job: JobSpec) -> EstimatorCall | None:
    workers: int | None = launch.workers_per_host
    if not launch.named_workers and not (len(job.compute.instances) == 1 and find_instance(job.compute.instances[0])):
        workers = None  # every accelerator that the container finds, where the catalogue cannot tell
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


def _channel(name: str, source: Source) -> EstimatorCall:
    """Plain URIs and local folders stay plain; a channel with more to say is spelt out."""
    if isinstance(source, Channel) and source == Channel(source.uri):
        return _part(f"{CONFIGS}.InputData", {"channel_name": name, "data_source": source.uri})
    words = {"channel_name": name, **with_objects(fields.write(fields.table_of(source), source, "v3"), class_of)}
    return _part(f"{CONFIGS}.Channel", words)
