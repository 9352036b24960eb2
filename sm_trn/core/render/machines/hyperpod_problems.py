"""What pods of HyperPod cannot do of a job, or do differently, as problems. Must not know how a job is rendered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...catalog.hyperpod import efa_interfaces
from ...preflight.source import mentions
from ...specs.job import JobSpec
from ...specs.launch import Runner
from ...specs.problems import Advice, Field, Problem, Severity, rules_of
from ...strategies import plan
from . import problems as shared

# Fields that the manifest follows, or that have problems of their own.
FOLLOWED: Final = frozenset(
    {
        "metrics", "variables", "max_run_s", "retries", "compute.instance", "compute.count", "compute.groups",
        "compute.volume_gb", "output.s3_uri", "output.kms_key", "output.compress", "checkpoints.s3_uri", "checkpoints.local_path",
        "container_entrypoint", "container_arguments", "image_uri",
    }
)  # fmt: skip

_RULES = rules_of(__package__)
TARGET066 = _RULES["TARGET066"]
TARGET067 = _RULES["TARGET067"]
TARGET068 = _RULES["TARGET068"]
TARGET069 = _RULES["TARGET069"]
TARGET070 = _RULES["TARGET070"]


def launcher(job: JobSpec) -> Iterator[Problem]:
    """TARGET066, TARGET067: what hyperpodrun does not start."""
    if plan(job).runner is Runner.PYTHON and job.compute.hosts > 1:
        yield TARGET066.problem(
            Field("distribution"),
            "HyperPod's launcher makes one group of the processes of all pods",
            got=f"one process on each of {job.compute.hosts} hosts",
            wanted="torchrun, or one host",
            fix=Advice("distribution=TorchDistributed()"),
        )
    if job.variables.get("RUN_NEURON_PARALLEL_COMPILE") == "1":
        yield TARGET067.problem(
            Field("neuron" if job.neuron else "environment.RUN_NEURON_PARALLEL_COMPILE"),
            "HyperPod's launcher has to be a pod's first process, and this one would start it",
            got="RUN_NEURON_PARALLEL_COMPILE=1",
            wanted="a job that compiles while it runs",
            fix=Advice("compile on SageMaker or Slurm, into a cache in S3"),
        )


def instance(job: JobSpec) -> Iterator[Problem]:
    """TARGET068: instance types that HyperPod's own table lacks."""
    unknown = [name for name in job.compute.instances if name not in efa_interfaces()]
    if unknown:
        yield TARGET068.problem(
            Field("compute.instance"),
            "the table of HyperPod's own command line does not have this type, so the pods ask for no EFA",
            got=", ".join(unknown),
            wanted="an instance type of the cluster",
            fix=Advice("sagemaker list-cluster-nodes says which types the cluster has"),
        )


def host_names(job: JobSpec) -> Iterator[Problem]:
    """TARGET069: a script that asks which hosts there are."""
    asked = [name for name in ("SM_HOSTS", "SM_CURRENT_HOST") if mentions(job, name)]
    if asked and job.compute.hosts > 1:
        yield TARGET069.problem(
            Field("script"),
            "the names of the pods are not known before they run",
            got=", ".join(asked),
            wanted="RANK, WORLD_SIZE and GROUP_RANK",
            fix=Advice("read the variables of torchrun"),
        )


def places(job: JobSpec) -> Iterator[Problem]:
    """TARGET070: what has to lie in S3 first."""
    source = job.script.source_dir if job.script is not None else None
    if job.script is not None and (source is None or not source.startswith("s3://")):
        yield TARGET070.problem(
            Field("script"),
            "the pods fetch the source from S3, and a manifest uploads nothing",
            got=source or job.script.entry,
            wanted="an archive at the place that the manifest names",
            fix=Advice(
                "tar -czf sourcedir.tar.gz -C FOLDER . and aws s3 cp it there, or source_dir='s3://…/sourcedir.tar.gz'"
            ),
            severity=Severity.INFO,
        )
    for name, channel in job.channels.items():
        if not channel.uri.startswith("s3://"):
            yield TARGET070.problem(
                Field(f"inputs.{name}"),
                "the pods fetch data from S3 alone",
                got=channel.uri,
                wanted="an S3 prefix",
                fix=Advice(f"aws s3 sync {channel.uri} s3://…, and inputs={{{name!r}: 's3://…'}}"),
                severity=Severity.ERROR,
            )


def problems(job: JobSpec) -> Iterator[Problem]:
    """Everything that the pods leave out or do differently, each by its id."""
    return shared.problems_of(job, (launcher, instance, host_names, places), FOLLOWED)
