"""What a Slurm cluster cannot do of a job, or does differently, as problems. Must not know how a job is rendered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...preflight.source import mentions
from ...specs.job import JobSpec
from ...specs.problems import Advice, Field, Problem, rules_of
from . import problems as shared
from .layout import ML, checkpoint_folder

# Fields that the script for sbatch follows, or that have problems of their own.
FOLLOWED: Final = frozenset(
    {
        "metrics", "variables", "max_run_s", "retries", "spot", "compute.instance", "compute.count", "compute.groups",
        "compute.volume_gb", "output.s3_uri", "output.kms_key", "output.compress", "checkpoints.s3_uri", "checkpoints.local_path",
        "container_entrypoint", "container_arguments",
    }
)  # fmt: skip

_RULES = rules_of(__package__)
TARGET064 = _RULES["TARGET064"]
TARGET065 = _RULES["TARGET065"]


def named_folder(job: JobSpec) -> Iterator[Problem]:
    """TARGET064: a source that names /opt/ml and does not ask where it is."""
    if mentions(job, ML) and not mentions(job, "SAGEMAKER_BASE_DIR"):
        yield TARGET064.problem(
            Field("script"),
            "the script names this folder, and on the nodes another one stands in for it",
            got=ML,
            wanted="os.environ.get('SAGEMAKER_BASE_DIR', '/opt/ml')",
            fix=Advice(
                "read SM_MODEL_DIR, SM_CHANNEL_… or SAGEMAKER_BASE_DIR; arguments that name the folder are changed for you"
            ),
        )


def checkpoints(job: JobSpec) -> Iterator[Problem]:
    """TARGET065: checkpoints where another node may not find them."""
    folder = checkpoint_folder(job)
    if folder is not None and folder != ML and not folder.startswith(f"{ML}/"):
        yield TARGET065.problem(
            Field("spot.checkpoint_local_path" if job.spot and job.spot.checkpoint_s3_uri else "checkpoint.local_path"),
            "this folder may be each node's own, and only the first node's is copied to S3",
            got=repr(folder),
            wanted=f"a folder below {ML}, which all nodes share",
            fix=Advice("leave local_path out"),
        )


def problems(job: JobSpec) -> Iterator[Problem]:
    """Everything that the cluster leaves out or does differently, each by its id."""
    return shared.problems_of(job, (shared.requirements, named_folder, checkpoints), FOLLOWED)
