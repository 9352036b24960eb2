"""DIST rules of the Neuron options: do the parallel sizes fit the workers, and is there a NeuronCore to use them?"""

from __future__ import annotations

from collections.abc import Iterator

from ..catalog.instances import find_instance
from ..specs.compute import Accelerator, Compute
from ..specs.job import JobSpec
from ..specs.neuron import NeuronOptions
from ..specs.problems import AnyOf, Change, Field, Problem, rules_of
from ..strategies import plan

_RULES = rules_of(__package__)
DIST020 = _RULES["DIST020"]
DIST021 = _RULES["DIST021"]
DIST022 = _RULES["DIST022"]


def parallel_sizes(job: JobSpec) -> Iterator[Problem]:
    """DIST020: tensor × pipeline parallel workers share one replica, so they divide all workers."""
    if job.neuron is None:
        return
    asked, pipeline = job.neuron.tensor_parallel, job.neuron.pipeline_parallel
    workers = plan(job).workers_per_host * job.compute.hosts
    if workers % (asked * pipeline):
        stages = pipeline if workers % pipeline == 0 else 1
        legal = [size for size in range(1, workers + 1) if workers % (size * stages) == 0]
        near = [asked] if asked in legal else next_to(asked, legal)
        yield DIST020.problem(
            Field("neuron.tensor_parallel"),
            "tensor × pipeline parallel workers do not divide all workers",
            got=f"{asked} × {pipeline} of {workers} workers",
            wanted=f"a product that divides {workers}",
            fix=Change(tensor_parallel=near[-1], pipeline_parallel=stages),
        )


def no_neuron_cores(job: JobSpec) -> Iterator[Problem]:
    """DIST021: on other instances nothing reads these options, or the script stops at an argument that it does not know."""
    rows = [row for name in job.compute.instances if (row := find_instance(name)) is not None]
    if job.neuron in {None, NeuronOptions()} or not rows or any(row.accelerator is Accelerator.NEURON for row in rows):
        return
    yield DIST021.problem(
        Field("neuron"),
        "Neuron options mean nothing without NeuronCores",
        got=", ".join(f"{row.name!r} ({row.accelerator.name})" for row in rows),
        wanted="a Trainium instance",
        fix=AnyOf("leave neuron out", Change(compute=Compute("ml.trn1.32xlarge", count=job.compute.hosts))),
    )


def lost_compilation(job: JobSpec) -> Iterator[Problem]:
    """DIST022: a job that only compiles leaves nothing behind unless its cache lies in S3."""
    if job.neuron is not None and job.neuron.precompile and not job.neuron.cache_s3_uri:
        yield DIST022.problem(
            Field("neuron.precompile"),
            "what is compiled ahead would end with the machine",
            got="cache_s3_uri is not set",
            wanted="a cache in S3 that the training job names too",
            fix=Change(cache_s3_uri="s3://your-bucket/neuron-cache"),
        )


def next_to(asked: int, legal: list[int]) -> list[int]:
    """The legal numbers right below and above ``asked``; the one that shares a model among more workers comes last."""
    below, above = [each for each in legal if each < asked], [each for each in legal if each > asked]
    return below[-1:] + above[:1]


RULES = (parallel_sizes, no_neuron_cores, lost_compilation)
