"""DIST rules: the strategy's own list, and what a strategy needs of instance groups."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Final

from ..specs import JobSpec, Problem, Severity
from ..strategies import GROUPS_HYPERPARAMETER, SingleProcess, SMModelParallelV2, plan, strategy

CUDA_12: Final = "2.0.1-gpu-py310-cu121"


def distribution(job: JobSpec) -> Iterator[Problem]:
    """DIST002 and up: what the chosen strategy says of this job, or of the only group that it has."""
    if len(job.compute.groups) == 1:
        (group,) = job.compute.groups
        compute = dataclasses.replace(job.compute, groups=(), instance=group.instance, count=group.count)
        job = job.replace(compute=compute)
    yield from strategy(job).problems(job)


def groups(job: JobSpec) -> Iterator[Problem]:
    """DIST023: one group is launched, and SDK v2 wants its name; the container would launch each group by itself."""
    chosen = strategy(job)
    names = [group.name for group in job.compute.groups]
    said = job.keeps(f"/HyperParameters/{GROUPS_HYPERPARAMETER}")
    alone = len(names) == 1 and not isinstance(
        chosen, SMModelParallelV2
    )  # which takes none: _distribution_configuration
    if not names or alone or said or isinstance(chosen, SingleProcess):
        return
    yield Problem(
        id="DIST023",
        severity=Severity.ERROR,
        where="distribution",
        what=f"{chosen.name!r} cannot be started on these instance groups",
        got=f"{len(names)} groups: {', '.join(names)}",
        wanted="one instance type" if len(names) == 1 else "one group, or no distribution",
        fix="compute=Compute('ml.p4d.24xlarge', count=2), or distribution=None and a script that starts its own workers",
        evidence="SageMaker SDK 2.257.7, validate_distribution",
    )


def newer_cuda(job: JobSpec) -> Iterator[Problem]:
    """DIST024: the libraries that start through MPI were built for CUDA 11; the SDK refuses the image when the job is sent."""
    wish = plan(job).estimator
    image = job.image_uri or ""
    if CUDA_12 not in image or "smdistributed" not in wish or "torch_distributed" in wish:
        return
    yield Problem(
        id="DIST024",
        severity=Severity.ERROR,
        where="image_uri",
        what=f"{strategy(job).name!r} does not run in this image: its CUDA is newer than the library's",
        got=repr(image),
        wanted="an image of CUDA 11",
        fix="leave image_uri out, or distribution=TorchDistributed()",
        evidence="SageMaker SDK 2.257.7, Framework.UNSUPPORTED_DLC_IMAGE_FOR_SM_PARALLELISM",
    )


RULES = (distribution, groups, newer_cuda)
