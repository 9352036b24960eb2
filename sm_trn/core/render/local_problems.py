"""Problems of target ``local``: what a machine without SageMaker cannot do for a job, or does differently. Ids TARGET051 to TARGET063."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from .. import fields
from ..catalog import images
from ..preflight.source import REQUIREMENTS, source_folder
from ..specs.data import Channel, InputMode, S3Kind, Spread
from ..specs.job import JobSpec
from ..specs.json import leaves, thawed
from ..specs.launch import Runner
from ..specs.problems import Advice, Field, Problem, python, rules_of
from ..strategies import plan, strategy
from . import passthrough

REHEARSE: Final = "rehearse it in the emulator, which says what it puts in the place of that"
STARTS_OTHERWISE: Final = (
    "/InputDataConfig",
    "/AlgorithmSpecification/ContainerEntrypoint",
    "/AlgorithmSpecification/ContainerArguments",
    "/ServerlessJobConfig",
)  # members that name another program than the script, or data that is not in S3

_RULES = rules_of(__package__)


ML: Final = "/opt/ml"
# Fields that the commands follow, or that have problems of their own.
FOLLOWED: Final = frozenset(
    {
        "metrics", "variables", "max_run_s", "compute.instance", "compute.count", "compute.groups", "compute.volume_gb",
        "output.compress", "checkpoints.s3_uri", "checkpoints.local_path",
    }
)  # fmt: skip


def problems(job: JobSpec) -> Iterator[Problem]:
    """Yield everything that the commands leave out or do differently."""
    for rule in (launcher, compiler, groups, channels, script, requirements, container_paths, otherwise, service):
        yield from rule(job)


def launcher(job: JobSpec) -> Iterator[Problem]:
    """TARGET051, TARGET053: launchers and libraries that exist in AWS's containers only."""
    runner, name = plan(job).runner, strategy(job).name
    if runner not in {Runner.PYTHON, Runner.TORCHRUN}:
        yield _RULES["TARGET051"].problem(
            Field("distribution"),
            "this launcher is a part of SageMaker's containers",
            got=f"{name!r}, which is started by {runner.value}",
            wanted="torchrun, or one process",
            fix=Advice(f"distribution=TorchDistributed() or None here, or {REHEARSE}"),
        )
    elif strategy(job).image_family is not None:
        yield _RULES["TARGET053"].problem(
            Field("distribution"),
            "this library is in images of its own",
            got=repr(name),
            wanted="a distribution that PyTorch itself has",
            fix=Advice(f"distribution=TorchDistributed() here, or {REHEARSE}"),
        )


def compiler(job: JobSpec) -> Iterator[Problem]:
    """TARGET052: no Training Compiler."""
    if job.compiled:
        yield _RULES["TARGET052"].problem(
            Field("compiler"),
            "the Training Compiler is a part of SageMaker's containers",
            got="TrainingCompiler()",
            wanted="no compiler",
            fix=Advice(f"compiler=None here, or {REHEARSE}"),
        )


def groups(job: JobSpec) -> Iterator[Problem]:
    """TARGET054: several kinds of host need several commands, and who is who is not known here."""
    if len(job.compute.instances) > 1:
        yield _RULES["TARGET054"].problem(
            Field("compute.groups"),
            "the commands are for hosts of one kind",
            got=", ".join(job.compute.instances),
            wanted="one instance type",
            fix=Advice("compute=Compute(…) with one type here"),
        )


def channels(job: JobSpec) -> Iterator[Problem]:
    """TARGET055, TARGET056: what SageMaker does with objects before a script sees them."""
    for name, source in job.sources.items():
        if isinstance(source, Channel):
            continue
        yield _RULES["TARGET055"].problem(
            Field(f"inputs.{name}"),
            "only S3 and folders of this machine can be read here",
            got=python(source),
            wanted="an S3 prefix or a folder, as it is",
            fix=Advice(f"inputs={{{name!r}: './folder'}} here"),
        )
    for name, channel in job.channels.items():
        settings = [
            word
            for word, there in (
                ("Pipe mode", channel.mode is InputMode.PIPE),
                (channel.kind.value, channel.kind is not S3Kind.PREFIX),
                (f"{channel.compression} objects, unpacked", bool(channel.compression)),
                (f"{channel.record_wrapping} records", bool(channel.record_wrapping)),
            )
            if there
        ]
        if settings:
            yield _RULES["TARGET055"].problem(
                Field(f"inputs.{name}"),
                "a folder of files is all that a channel can be here",
                got=", ".join(settings),
                wanted="an S3 prefix or a folder, as it is",
                fix=Advice(f"inputs={{{name!r}: 's3://…'}} here"),
            )
        if channel.spread is Spread.SHARDED_BY_S3_KEY and job.compute.hosts > 1:
            yield _RULES["TARGET056"].problem(
                Field(f"inputs.{name}"),
                "every host gets the whole channel, not its share",
                got=f"{channel.spread.value} on {job.compute.hosts} hosts",
                wanted=Spread.FULLY_REPLICATED.value,
                fix=Advice("a script that shards by rank, or the share in each host's folder"),
            )


def script(job: JobSpec) -> Iterator[Problem]:
    """TARGET057, TARGET062: kinds of script, and none."""
    if job.script is None:
        yield _RULES["TARGET062"].problem(
            Field("script"),
            "the program is inside the image, and this target starts scripts",
            got=images.describe(job),
            wanted="a script",
            fix=Advice("start the image itself, such as with docker run"),
        )
        return
    allowed = (".py", ".sh") if plan(job).runner is Runner.PYTHON else (".py",)
    if not job.script.entry.endswith(allowed):
        yield _RULES["TARGET057"].problem(
            Field("script.entry"),
            "nothing here starts this kind of script",
            got=repr(job.script.entry),
            wanted=" or ".join(allowed),
            fix=Advice("a Python script that starts it"),
        )


def requirements(job: JobSpec) -> Iterator[Problem]:
    """TARGET058: packages that a container would install."""
    folder = source_folder(job)
    if folder is not None and (folder / REQUIREMENTS).is_file():
        yield _RULES["TARGET058"].problem(
            Field("script.source_dir"),
            "the commands install nothing into your environment",
            consequence="a container would",
            got=REQUIREMENTS,
            fix=Advice(f"pip install -r {folder / REQUIREMENTS}, where the script runs"),
        )


def container_paths(job: JobSpec) -> Iterator[Problem]:
    """TARGET059, TARGET060: folders that exist in a container only; arguments are passed as they are."""
    for key, value in job.arguments.items():
        if isinstance(value, str) and (value == ML or value.startswith(f"{ML}/")):
            yield _RULES["TARGET059"].problem(
                Field(f"hyperparameters.{key}"),
                "this folder exists in a container only, and the value is passed as it is",
                got=repr(value),
                wanted="a folder of this machine",
                fix=Advice(
                    f"{key}='../{value.removeprefix(ML).strip('/') or 'model'}' here, or a script that reads SM_MODEL_DIR"
                ),
            )
    if job.checkpoints is not None:
        yield _RULES["TARGET060"].problem(
            Field("spot.checkpoint_s3_uri" if job.spot and job.spot.checkpoint_s3_uri else "checkpoint"),
            "nothing copies checkpoints to S3 here, or back",
            got=f"{job.checkpoints.local_path or '/opt/ml/checkpoints'} to {job.checkpoints.s3_uri}",
            wanted="a folder of this machine",
            fix=Advice("name one in the script's own argument, and copy it with aws s3 sync"),
        )


def otherwise(job: JobSpec) -> Iterator[Problem]:
    """TARGET063: what starts another program, or brings data from elsewhere than S3: fields, and kept parts of a request."""
    lost = [part for part in job.kept if part.at.startswith(STARTS_OTHERWISE) and part.sent is not None]
    if lost:
        yield _RULES["TARGET063"].problem(
            Field("kept"),
            "the commands cannot do what this job's request says",
            got=passthrough.listed(lost),
            wanted="a script, and data in S3 or here",
            fix=Advice(f"replace(kept=()) to leave it out, or {REHEARSE}"),
        )
    for path, value in leaves(job.extra):
        if f"/{path.replace('.', '/')}".startswith(STARTS_OTHERWISE):
            yield _RULES["TARGET063"].problem(
                Field(f"extra.{path}"),
                "the commands start the script, and nothing else",
                got=f"extra.{path}={thawed(value)!r}",
                wanted="a job without it",
                fix=Advice(f"leave it out here, or {REHEARSE}"),
            )


def service(job: JobSpec) -> Iterator[Problem]:
    """TARGET061: what only the service does: all that the request says and that is not ``FOLLOWED``."""
    words = fields.write(fields.JOB, job, "request")
    left_out = [field.spec for field in fields.JOB if field.spec not in FOLLOWED and fields.is_in(words, field.request)]
    left_out += [name for name in ("image_uri", "queue", "kept") if getattr(job, name)]
    left_out += [f"extra.{path}" for path, _ in leaves(job.extra)]
    if left_out:
        yield _RULES["TARGET061"].problem(
            Field(left_out[0]),
            "left out: only the service does this",
            got=", ".join(left_out),
            fix=Advice("nothing, if that is meant"),
        )
