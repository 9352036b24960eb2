"""LIMIT rules of what surrounds the training: warm pools, retries, groups, channels, checkpoints, network."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ..catalog import limits
from ..specs import InputMode, JobSpec, Problem, S3Kind, Severity

MODEL = "botocore, sagemaker/2017-07-24 service model"


def _fault(rule: str, where: str, what: str, *, got: str, wanted: str, fix: str) -> Problem:
    return Problem(
        id=rule, severity=Severity.ERROR, where=where, what=what, got=got, wanted=wanted, fix=fix, evidence=MODEL
    )


def warm_pool(job: JobSpec) -> Iterator[Problem]:
    """LIMIT015: a warm pool keeps on-demand machines, for six hours at most."""
    kept = job.compute.keep_alive_s
    if kept is None:
        return
    most = limits.maximum("KeepAlivePeriodInSeconds")
    if not 0 <= kept <= most:
        yield _fault("LIMIT015", "compute.keep_alive_s", "a warm pool lasts for a limited time", got=f"{kept:,} s",
                     wanted=f"0 to {most:,} s", fix=f"keep_alive_s={min(3600, most)}")  # fmt: skip
    if job.spot is not None:
        yield _fault("LIMIT015", "compute.keep_alive_s", "spot machines cannot be kept warm", got="spot and keep_alive_s",
                     wanted="one of them", fix="spot=None, or leave keep_alive_s out")  # fmt: skip


def retries(job: JobSpec) -> Iterator[Problem]:
    """LIMIT016: the service retries its own errors 1 to 30 times."""
    most = limits.maximum("MaximumRetryAttempts")
    if job.retries is not None and not 1 <= job.retries <= most:
        yield _fault(
            "LIMIT016",
            "retries",
            "not a number of retries",
            got=str(job.retries),
            wanted=f"1 to {most}",
            fix="retries=2",
        )


def hyperparameter_values(job: JobSpec) -> Iterator[Problem]:
    """LIMIT017: a name of at most 256 characters; NaN and infinity are no JSON, None and lists no argument."""
    longest = limits.maximum("HyperParameterKey")
    for key, value in job.hyperparameters.items():
        if isinstance(value, float) and not math.isfinite(value):
            yield _fault("LIMIT017", f"hyperparameters.{key}", "the SDKs send this as text that is not JSON", got=repr(value),
                         wanted="a finite number", fix="leave it out, or a large number")  # fmt: skip
        elif type(value) not in {str, int, float, bool}:
            yield _fault("LIMIT017", f"hyperparameters.{key}", "the script would get this as one odd argument", got=repr(value),
                         wanted="a text, number or boolean", fix="a text that the script splits, or a file in source_dir")  # fmt: skip
        if not 0 < len(key) <= longest:
            yield _fault("LIMIT017", f"hyperparameters.{key[:20]}", "not a hyperparameter's name", got=f"{len(key)} characters",
                         wanted=f"1 to {longest}", fix="a shorter name")  # fmt: skip


def groups(job: JobSpec) -> Iterator[Problem]:
    """LIMIT018: groups have different names, channels name groups that exist, and the compiler takes no groups."""
    names = [group.name for group in job.compute.groups]
    most = limits.maximum("InstanceGroups")
    if len(names) > most or len(set(names)) < len(names):
        yield _fault("LIMIT018", "compute.groups", "groups need different names, and there are few", got=", ".join(names),
                     wanted=f"at most {most} different names", fix="rename or merge them")  # fmt: skip
    known = limits.members("TrainingInstanceType")
    for group in job.compute.groups:
        if group.instance not in known:
            yield _fault("LIMIT018", f"compute.groups.{group.name}", "SageMaker training has no such instance type",
                         got=repr(group.instance), wanted="a type of the API", fix="correct the name")  # fmt: skip
    for name, channel in job.channels.items():
        strange = sorted(set(channel.groups) - set(names))
        if strange:
            yield _fault("LIMIT018", f"inputs.{name}", "the channel names a group that is not there", got=", ".join(strange),
                         wanted=", ".join(names) or "no groups", fix="leave groups out, or name one of them")  # fmt: skip
    if names and job.compiled:
        yield _fault("LIMIT018", "compute.groups", "SageMaker Training Compiler takes no instance groups", got=f"{len(names)} groups",
                     wanted="one instance type", fix="compute=Compute('ml.p4d.24xlarge', …)")  # fmt: skip


def channels(job: JobSpec) -> Iterator[Problem]:
    """LIMIT019: modes that do not go together."""
    for name, channel in job.channels.items():
        if channel.mode is InputMode.FAST_FILE and channel.kind is S3Kind.AUGMENTED_MANIFEST:
            yield _fault(
                "LIMIT019",
                f"inputs.{name}",
                "an augmented manifest is a pipe",
                got="FastFile",
                wanted="Pipe",
                fix="mode=InputMode.PIPE",
            )
        if channel.kind is S3Kind.AUGMENTED_MANIFEST and channel.record_wrapping != "RecordIO":
            yield _fault("LIMIT019", f"inputs.{name}", "an augmented manifest comes as RecordIO", got=repr(channel.record_wrapping),
                         wanted="'RecordIO'", fix="record_wrapping='RecordIO'")  # fmt: skip


def checkpoints(job: JobSpec) -> Iterator[Problem]:
    """SPOT006: two places for checkpoints, or one that is not in S3."""
    if job.checkpoint is None:
        return
    if job.spot is not None and job.spot.checkpoint_s3_uri:
        yield _fault("SPOT006", "checkpoint", "checkpoints are named twice", got="also in spot.checkpoint_s3_uri", wanted="one",
                     fix="leave checkpoint out")  # fmt: skip
    if not job.checkpoint.s3_uri.startswith("s3://"):
        yield _fault("SPOT006", "checkpoint.s3_uri", "checkpoints are kept in S3", got=repr(job.checkpoint.s3_uri), wanted="s3://bucket/prefix",
                     fix=f"s3_uri='s3://your-bucket/checkpoints/{job.name}'")  # fmt: skip


def network(job: JobSpec) -> Iterator[Problem]:
    """LIMIT020: the VPC's own limits; a container without network reaches no model hub."""
    if job.network is None:
        return
    for field, shape in (("subnets", "Subnets"), ("security_groups", "VpcSecurityGroupIds")):
        got, most = len(getattr(job.network, field)), limits.maximum(shape)
        if got > most:
            yield _fault(
                "LIMIT020",
                f"network.{field}",
                "too many",
                got=str(got),
                wanted=f"at most {most}",
                fix="drop some of them",
            )
    model = next(
        (str(job.arguments[flag]) for flag in ("model", "model_name_or_path", "model_id") if flag in job.arguments), ""
    )
    if job.network.isolation and model and not model.startswith(("/", "tiny-random")):
        yield Problem(
            id="LIMIT021",
            severity=Severity.WARNING,
            where="network.isolation",
            what="a container without network cannot download a model",
            got=repr(model),
            wanted="a model in a channel",
            fix="inputs={'model': 's3://…'} and a path below /opt/ml/input/data/model",
            evidence="API reference, EnableNetworkIsolation",
        )


RULES = (warm_pool, retries, hyperparameter_values, groups, channels, checkpoints, network)
