"""What a machine of one's own cannot do of a job, or does differently, as problems. Must not know how a job is rendered.

Ids TARGET050 to TARGET099.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from .. import _entry
from ..catalog import images
from ..specs import InputMode, JobSpec, Problem, Runner, S3Kind, Severity, Spread
from ..strategies import debugged, plan, profiled, strategy
from . import unsaid

REHEARSE: Final = "rehearse it in the emulator, which says what it puts in the place of that"
IMAGES: Final = "the library comes with AWS's images; it is in no package index"
CONTAINER: Final = "/opt/ml"
STARTS_OTHERWISE: Final = (
    "/InputDataConfig",
    "/AlgorithmSpecification/ContainerEntrypoint",
    "/AlgorithmSpecification/ContainerArguments",
    "/ServerlessJobConfig",
)


def problems(job: JobSpec) -> Iterator[Problem]:
    """Everything that the commands leave out or do differently, each by its id."""
    for rule in RULES:
        yield from rule(job)


def launcher(job: JobSpec) -> Iterator[Problem]:
    """TARGET051, TARGET053: launchers and libraries that exist in AWS's containers only."""
    runner, name = plan(job).runner, strategy(job).name
    if runner not in {Runner.PYTHON, Runner.TORCHRUN}:
        yield Problem(
            id="TARGET051",
            severity=Severity.ERROR,
            where="distribution",
            what="this launcher is a part of SageMaker's containers",
            got=f"{name!r}, which is started by {runner.value}",
            wanted="torchrun, or one process",
            fix=f"distribution=TorchDistributed() or None here, or {REHEARSE}",
            evidence="sagemaker-training 5.1.4, its runners",
        )
    elif strategy(job).image_family is not None:
        yield Problem(
            id="TARGET053",
            severity=Severity.ERROR,
            where="distribution",
            what="this library is in images of its own",
            got=repr(name),
            wanted="a distribution that PyTorch itself has",
            fix=f"distribution=TorchDistributed() here, or {REHEARSE}",
            evidence=IMAGES,
        )


def compiler(job: JobSpec) -> Iterator[Problem]:
    """TARGET052: no Training Compiler."""
    if job.compiled:
        yield Problem(
            id="TARGET052",
            severity=Severity.ERROR,
            where="compiler",
            what="the Training Compiler is a part of SageMaker's containers",
            got="TrainingCompiler()",
            wanted="no compiler",
            fix=f"compiler=None here, or {REHEARSE}",
            evidence=IMAGES,
        )


def groups(job: JobSpec) -> Iterator[Problem]:
    """TARGET054: several kinds of host need several commands, and who is who is not known here."""
    if len(job.compute.instances) > 1:
        yield Problem(
            id="TARGET054",
            severity=Severity.ERROR,
            where="compute.groups",
            what="the commands are for hosts of one kind",
            got=", ".join(job.compute.instances),
            wanted="one instance type",
            fix="compute=Compute(…) with one type here",
        )


def channels(job: JobSpec) -> Iterator[Problem]:
    """TARGET055, TARGET056: what SageMaker does with objects before a script sees them."""
    for name, channel in job.channels.items():
        asked = [
            word
            for word, there in (
                ("Pipe mode", channel.mode is InputMode.PIPE),
                (channel.kind.value, channel.kind is not S3Kind.PREFIX),
                (f"{channel.compression} objects, unpacked", bool(channel.compression)),
                (f"{channel.record_wrapping} records", bool(channel.record_wrapping)),
            )
            if there
        ]
        if asked:
            yield Problem(
                id="TARGET055",
                severity=Severity.ERROR,
                where=f"inputs.{name}",
                what="a folder of files is all that a channel can be here",
                got=", ".join(asked),
                wanted="an S3 prefix or a folder, as it is",
                fix=f"inputs={{{name!r}: 's3://…'}} here",
            )
        if channel.spread is Spread.SHARDED_BY_S3_KEY and job.compute.hosts > 1:
            yield Problem(
                id="TARGET056",
                severity=Severity.WARNING,
                where=f"inputs.{name}",
                what="every host gets the whole channel, not its share",
                got=f"{channel.spread.value} on {job.compute.hosts} hosts",
                wanted=Spread.FULLY_REPLICATED.value,
                fix="a script that shards by rank, or the share in each host's folder",
            )


def script(job: JobSpec) -> Iterator[Problem]:
    """TARGET057, TARGET058: kinds of script; packages that a container would install."""
    if job.script is None:
        yield Problem(
            id="TARGET062",
            severity=Severity.ERROR,
            where="script",
            what="the program is inside the image, and no image is started here",
            got=images.describe(job),
            wanted="a script",
            fix="docker run with that image, where it can be pulled",
        )
        return
    allowed = (".py", ".sh") if plan(job).runner is Runner.PYTHON else (".py",)
    if not job.script.entry.endswith(allowed):
        yield Problem(
            id="TARGET057",
            severity=Severity.ERROR,
            where="script.entry",
            what="nothing here starts this kind of script",
            got=repr(job.script.entry),
            wanted=" or ".join(allowed),
            fix="a Python script that starts it",
        )
    if (Path(job.script.source_dir or _entry.scripts_folder()) / "requirements.txt").is_file():
        yield Problem(
            id="TARGET058",
            severity=Severity.INFO,
            where="script.source_dir",
            what="the commands install nothing into your environment; a container would",
            got="requirements.txt",
            fix=f"pip install -r {job.name}/code/requirements.txt, after the first step",
        )


def container_paths(job: JobSpec) -> Iterator[Problem]:
    """TARGET059, TARGET060: folders that exist in a container only; arguments are passed as they are."""
    for key, value in job.arguments.items():
        if isinstance(value, str) and (value == CONTAINER or value.startswith(f"{CONTAINER}/")):
            yield Problem(
                id="TARGET059",
                severity=Severity.WARNING,
                where=f"hyperparameters.{key}",
                what="this folder exists in a container only, and the value is passed as it is",
                got=repr(value),
                wanted="a folder of this machine",
                fix=f"{key}='../{value.removeprefix(CONTAINER).strip('/') or 'model'}' here, or a script that reads SM_MODEL_DIR",
            )
    if job.checkpoints is not None:
        folder = job.checkpoints.local_path or f"{CONTAINER}/checkpoints"
        yield Problem(
            id="TARGET060",
            severity=Severity.WARNING,
            where="spot.checkpoint_s3_uri" if job.spot and job.spot.checkpoint_s3_uri else "checkpoint",
            what="nothing copies checkpoints to S3 here, or back",
            got=f"{folder} to {job.checkpoints.s3_uri}",
            wanted="a folder of this machine",
            fix="name one in the script's own argument, and copy it with aws s3 sync",
        )


def kept(job: JobSpec) -> Iterator[Problem]:
    """TARGET063: parts of an attached job's request that start another program, or bring data from elsewhere than S3."""
    lost = [part for part in job.kept if part.at.startswith(STARTS_OTHERWISE) and part.sent is not None]
    if lost:
        yield Problem(
            id="TARGET063",
            severity=Severity.ERROR,
            where="kept",
            what="the commands cannot do what this job's request says",
            got=unsaid.listed(lost),
            wanted="a script, and data in S3 or here",
            fix=f"replace(kept=()) to leave it out, or {REHEARSE}",
        )


def service(job: JobSpec) -> Iterator[Problem]:
    """TARGET061: what only the service does."""
    left_out = [
        word
        for word, there in (
            ("spot", job.spot is not None),
            ("retries", job.retries is not None),
            ("network", job.network is not None),
            ("output.s3_uri", job.output.s3_uri is not None),
            ("output.kms_key", job.output.kms_key is not None),
            ("compute.keep_alive_s", job.compute.keep_alive_s is not None),
            ("compute.volume_kms_key", job.compute.volume_kms_key is not None),
            ("tags", bool(job.tags)),
            ("profiler", profiled(job)),
            ("debugger", debugged(job)),
            ("image_uri", job.image_uri is not None),
            ("kept", bool(job.kept)),
        )
        if there
    ]
    if left_out:
        yield Problem(
            id="TARGET061",
            severity=Severity.INFO,
            where=left_out[0],
            what="left out: only the service does this",
            got=", ".join(left_out),
            fix="nothing, if that is meant",
        )


RULES: Final[tuple[Callable[[JobSpec], Iterator[Problem]], ...]] = (
    launcher,
    compiler,
    groups,
    channels,
    script,
    container_paths,
    kept,
    service,
)
