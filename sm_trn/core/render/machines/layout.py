"""What a script finds in a container of SageMaker: its source, its channels, its variables. For targets without the service.

Source: sagemaker-training 5.1.4, environment.py and params.py. Starts nothing, and knows no target.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from ... import _entry
from ...catalog.instances import find_instance
from ...preflight.source import TOOLKIT_PREFIX, command_line
from ...specs.compute import Accelerator
from ...specs.job import JobSpec
from ...specs.json import Json

ML: Final = "/opt/ml"
CHECKPOINTS: Final = f"{ML}/checkpoints"  # where a job that names no folder of its own has them
Step: TypeAlias = tuple[str, ...]
FOLDERS: Final = ("code", "model", "output/data", "input/config", "input/data")  # below /opt/ml
# A log on a disk needs no progress of copies.
SYNC: Final = ("aws", "s3", "sync", "--only-show-errors")
COPY: Final = ("aws", "s3", "cp", "--only-show-errors")


def entry_of(job: JobSpec) -> str:
    """The script's file; "" for a job without one, which is not rendered (TARGET062)."""
    return job.script.entry if job.script is not None else ""


def data_folder(channel: str, base: str = ML) -> str:
    """Where a channel's files lie."""
    return f"{base}/input/data/{channel}"


def checkpoint_folder(job: JobSpec) -> str | None:
    """Where the script keeps its checkpoints; None for a job that names no place in S3 for them."""
    return (job.checkpoints.local_path or CHECKPOINTS) if job.checkpoints is not None else None


def variables(job: JobSpec, base: str, channels: Mapping[str, str]) -> dict[str, str]:
    """The job's own variables, and those of the toolkit that scripts read; ``channels`` are folders by their names.

    Who the hosts are is not among them: a target knows it, or the machines themselves.
    """
    row = find_instance(job.compute.instances[0])
    gpus = row.chips if row is not None and row.accelerator is Accelerator.CUDA else 0
    own = {key: value for key, value in job.arguments.items() if not key.startswith(TOOLKIT_PREFIX)}
    return {
        **job.variables,
        **{f"SM_CHANNEL_{name.upper()}": folder for name, folder in channels.items()},
        "SM_CHANNELS": _text(sorted(channels)),
        "SM_MODEL_DIR": f"{base}/model",
        "SM_OUTPUT_DATA_DIR": f"{base}/output/data",
        "SM_NUM_GPUS": str(gpus),
        "SM_USER_ENTRY_POINT": entry_of(job),
        "SM_USER_ARGS": _text(list(command_line(job))),
        "SM_HPS": _text(own),
        **{f"SM_HP_{name.upper()}": _text(value) for name, value in own.items()},
    }


def _text(value: Json) -> str:
    """As the toolkit writes a variable: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, separators=(",", ":"))


def source_steps(job: JobSpec, base: str, left_out: str) -> Iterator[Step]:
    """Put a copy of the source in ``code`` below ``base``: the script runs in a folder of its own, as in a container.

    ``left_out`` is a pattern of what the source may hold and the copy must not: the folder that the job writes into.
    """
    script = job.script
    if script is None:
        return
    code = f"{base}/code"
    packed = f"{base}/sourcedir.tar.gz"
    folder = script.source_dir or ("." if script.git else str(_entry.scripts_folder()))
    if script.git is not None:
        clone = f"{base}/repository"
        commit = script.git.commit or script.git.branch or "HEAD"
        yield ("git", "init", "--quiet", clone)
        yield ("git", "-C", clone, "fetch", "--depth=1", script.git.repo, commit)
        yield ("git", "-C", clone, "checkout", "--quiet", "FETCH_HEAD")
        folder = posixpath.normpath(f"{clone}/{folder}")
    if folder.startswith("s3://") and not folder.endswith(".tar.gz"):
        yield ("aws", "s3", "sync", folder, code)
        return
    if folder.startswith("s3://"):
        yield ("aws", "s3", "cp", folder, packed)
    else:  # a folder may hold the one that is written into
        exclude = (f"--exclude=./{left_out}", "--exclude=.git", "--exclude=__pycache__")
        yield ("tar", *exclude, "-czf", packed, "-C", folder, ".")
    yield ("tar", "-xzf", packed, "-C", code)
    for path in script.dependencies:
        beside = posixpath.normpath(f"{base}/repository/{path}") if script.git else path.rstrip("/")
        whole = posixpath.basename(path) in {"", "."}
        yield ("cp", "-R", f"{beside}/." if whole else beside, f"{code}/")


def delivery_steps(job: JobSpec, there: str) -> Iterator[Step]:
    """Copy what SageMaker uploads after success to ``there``: the model, and what the script wrote into its output folder."""
    encryption = ("--sse", "aws:kms", "--sse-kms-key-id", job.output.kms_key) if job.output.kms_key else ()
    if job.output.compress:
        yield ("tar", "-czf", f"{ML}/model.tar.gz", "-C", f"{ML}/model", ".")
        yield (*COPY, f"{ML}/model.tar.gz", f"{there}/model.tar.gz", *encryption)
        yield ("tar", "-czf", f"{ML}/output.tar.gz", "-C", f"{ML}/output/data", ".")
        yield (*COPY, f"{ML}/output.tar.gz", f"{there}/output.tar.gz", *encryption)
    else:
        yield (*SYNC, f"{ML}/model", f"{there}/model/", *encryption)
        yield (*SYNC, f"{ML}/output/data", f"{there}/data/", *encryption)
