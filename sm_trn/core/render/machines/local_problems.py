"""What a machine of one's own cannot do of a job, or does differently, as problems. Must not know how a job is rendered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...specs.job import JobSpec
from ...specs.problems import Advice, Field, Problem, rules_of
from . import problems as shared
from .layout import ML, checkpoint_folder

# Fields that the commands follow, or that have problems of their own.
FOLLOWED: Final = frozenset(
    {
        "metrics", "variables", "max_run_s", "compute.instance", "compute.count", "compute.groups", "compute.volume_gb",
        "output.compress", "checkpoints.s3_uri", "checkpoints.local_path", "container_entrypoint", "container_arguments",
    }
)  # fmt: skip

_RULES = rules_of(__package__)
TARGET059 = _RULES["TARGET059"]
TARGET060 = _RULES["TARGET060"]


def container_paths(job: JobSpec) -> Iterator[Problem]:
    """TARGET059, TARGET060: folders that exist in a container only; arguments are passed as they are."""
    for key, value in job.arguments.items():
        if isinstance(value, str) and (value == ML or value.startswith(f"{ML}/")):
            yield TARGET059.problem(
                Field(f"hyperparameters.{key}"),
                "this folder exists in a container only, and the value is passed as it is",
                got=repr(value),
                wanted="a folder of this machine",
                fix=Advice(
                    f"{key}='../{value.removeprefix(ML).strip('/') or 'model'}' here, or a script that reads SM_MODEL_DIR"
                ),
            )
    if job.checkpoints is not None:
        yield TARGET060.problem(
            Field("spot.checkpoint_s3_uri" if job.spot and job.spot.checkpoint_s3_uri else "checkpoint"),
            "nothing copies checkpoints to S3 here, or back",
            got=f"{checkpoint_folder(job)} to {job.checkpoints.s3_uri}",
            wanted="a folder of this machine",
            fix=Advice("name one in the script's own argument, and copy it with aws s3 sync"),
        )


def problems(job: JobSpec) -> Iterator[Problem]:
    """Everything that the commands leave out or do differently, each by its id."""
    return shared.problems_of(job, (shared.requirements, container_paths), FOLLOWED)
