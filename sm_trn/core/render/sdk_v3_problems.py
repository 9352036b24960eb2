"""Problems of the target ``model-trainer-v3``: what it cannot express, or expresses differently. Must not know how a job is rendered.

Ids TARGET001 to TARGET049, and those of ``passthrough``, which both SDKs share. Facts are those of sagemaker 3.27.0
(sagemaker-train 1.27.0, sagemaker-core 2.27.0): its fields, and the scripts that it uploads into the container in place
of the training toolkit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import Any, Final

from typing_extensions import assert_never

from ..specs.data import Channel
from ..specs.job import JobSpec
from ..specs.launch import Library, Runner
from ..specs.problems import Advice, Field, Problem, Rule, python, rules_of
from ..strategies import plan
from . import passthrough

FIELDS: Final = "sagemaker 3.27.0, ModelTrainer's fields"
DRIVERS: Final = "sagemaker-train 1.27.0, container_drivers"
RESERVED: Final = frozenset({"code", "sm_drivers"})  # channels that ModelTrainer adds
STAY: Final = "estimator-v2, or submit it with Session.submit: the request target says it"

_RULES = rules_of(__package__)


def problems(job: JobSpec) -> Iterator[Problem]:
    """Everything that ModelTrainer would drop or change, each by its id."""
    for rule in RULES:
        yield from rule(job)
    yield from passthrough.without_words(
        job, "v3", _RULES["TARGET022"], "SDK v3's ModelTrainer has no argument for this field"
    )


def launcher(job: JobSpec) -> Iterator[Problem]:
    """TARGET001, 002, 004, 005: launchers that went with the training toolkit."""
    launch = plan(job)
    match launch.library:
        case Library.SMDDP:
            yield _dropped(
                _RULES["TARGET001"],
                "distribution",
                "SDK v3 has no SageMaker data parallelism",
                "smdistributed.dataparallel",
                "distribution=TorchDistributed() for NCCL on a PyTorch of today",
            )
        case Library.SMP:
            yield _dropped(
                _RULES["TARGET004"],
                "distribution",
                "SDK v3 has no version 1 of the model-parallel library",
                "smdistributed.modelparallel",
                "distribution=SMModelParallelV2(…) in an image of version 2",
            )
        case Library.PYTORCH_DDP:
            what = "SDK v3 starts no workers this way: Torchrun and MPI are all it has"
            yield _dropped(
                _RULES["TARGET005"], "distribution", what, launch.library.value, "distribution=TorchDistributed()"
            )
        case Library.SMP_V2 | None:
            pass  # torchrun starts it
        case _:
            assert_never(launch.library)
    if launch.runner is Runner.XLA_SPAWN:
        yield _dropped(
            _RULES["TARGET002"], "distribution", "SDK v3 has no launcher for PyTorch/XLA on GPUs", "pytorchxla", ""
        )


def mpi_hosts(job: JobSpec) -> Iterator[Problem]:
    """TARGET008: its mpirun is told the workers of one host as the number of all."""
    launch = plan(job)
    if launch.runner is Runner.MPI and launch.library is None and job.compute.hosts > 1:
        yield _error(
            _RULES["TARGET008"],
            "distribution",
            "SDK v3's MPI launcher starts the workers of one host in all: the other hosts idle, and are billed",
            got=f"{job.compute.hosts} hosts of {launch.workers_per_host} workers; mpirun -np {launch.workers_per_host}",
            wanted="one host",
            fix=f"count=1, distribution=TorchDistributed(), or {STAY}",
            evidence=f"{DRIVERS}/distributed_drivers/mpi_driver.py",
        )


def shell_names(job: JobSpec) -> Iterator[Problem]:
    """TARGET009: names become shell variables and values stand in single quotes; others end the job before the script."""
    evidence = f"{DRIVERS}/scripts/environment.py, sourced by bash with set -e"
    for key, value in job.arguments.items():
        if not re.fullmatch(r"[A-Za-z0-9_-]+", key):
            yield _error(
                _RULES["TARGET009"],
                f"hyperparameters.{key}",
                "the name becomes a shell variable, and this one cannot",
                got=repr(key),
                wanted="letters, digits, '_' and '-'",
                fix=f"rename it, or {STAY}",
                evidence=evidence,
            )
        if isinstance(value, str) and "'" in value:
            yield _error(
                _RULES["TARGET009"],
                f"hyperparameters.{key}",
                "the value is put into single quotes unescaped",
                got=repr(value),
                wanted="a value without '",
                fix=f"put it into a file of source_dir, or {STAY}",
                evidence=evidence,
            )
    for name in job.inputs:
        if not re.fullmatch(r"[A-Za-z0-9_]+", name):
            legal = re.sub(r"[^A-Za-z0-9_]", "_", name)
            yield _error(
                _RULES["TARGET009"],
                f"inputs.{name}",
                "the name becomes a shell variable, and this one cannot",
                got=repr(name),
                wanted="letters, digits and '_'",
                fix=f"inputs={{{legal!r}: …}}",
                evidence=evidence,
            )


def read_back(job: JobSpec) -> Iterator[Problem]:
    """TARGET010: texts go unquoted and are read as JSON in the container, so some arrive as another text."""
    for key, value in job.arguments.items():
        if isinstance(value, str) and (arrived := arrives(value)) != value:
            yield _error(
                _RULES["TARGET010"],
                f"hyperparameters.{key}",
                "SDK v3 sends texts unquoted, and the container reads this one as JSON",
                got=f"{value!r}, which the script would get as {arrived!r}",
                wanted="a text that is no JSON, or the value itself",
                fix=f"{key}={arrived!r} if that is meant, or {STAY}",
                evidence=f"{DRIVERS}/common/utils.py, safe_deserialize",
            )


def arrives(text: str) -> str:
    """Return the text that reaches the script's command line: it is decoded twice on the way. Containers stay the same JSON."""
    value = _decoded(text)
    value = _decoded(value) if isinstance(value, str) else value
    if isinstance(value, (list, dict)):
        return text
    return value if isinstance(value, str) else json.dumps(value)


def _decoded(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def spelling(job: JobSpec) -> Iterator[Problem]:
    """TARGET011, TARGET012: what the script's command line spells differently from SDK v2's."""
    evidence = f"{DRIVERS}/common/utils.py, hyperparameters_to_cli_args"
    letters = [key for key in job.arguments if len(key) == 1]
    if letters:
        yield _RULES["TARGET011"].problem(
            Field(f"hyperparameters.{letters[0]}"),
            "SDK v3 passes names of one letter with two hyphens",
            got=", ".join(f"--{key}" for key in letters),
            wanted=", ".join(f"-{key}, as SDK v2's container passes it" for key in letters),
            fix=Advice("a longer name, or a script that takes both"),
            evidence=evidence,
        )
    booleans = [key for key, value in job.arguments.items() if isinstance(value, bool)]
    if booleans:
        yield _RULES["TARGET012"].problem(
            Field(f"hyperparameters.{booleans[0]}"),
            "SDK v3 passes booleans in small letters",
            got=f"{len(booleans)} of them: true, false",
            wanted="True, False, as SDK v2's container passes them",
            fix=Advice("a script that reads both"),
            evidence=evidence,
        )


def channels(job: JobSpec) -> Iterator[Problem]:
    """TARGET013, TARGET014, TARGET024: names that ModelTrainer takes for itself; local folders with more to say; a seed of 0."""
    for name in sorted(RESERVED & set(job.inputs)):
        yield _error(
            _RULES["TARGET013"],
            f"inputs.{name}",
            "SDK v3 adds a channel of this name",
            got=repr(name),
            wanted="another name",
            fix=f"inputs={{'{name}_data': …}}",
            evidence="sagemaker-train 1.27.0, _create_training_job_args",
        )
    for name, channel in job.channels.items():
        if channel.shuffle_seed == 0:
            yield _error(
                _RULES["TARGET024"],
                f"inputs.{name}.shuffle_seed",
                "SDK v3 does not send a seed of 0",
                got="0",
                wanted="another seed",
                fix=f"shuffle_seed=1, or {STAY}",
                evidence=_RULES["TARGET024"].evidence,
            )
        if not channel.uri.startswith("s3://") and channel != Channel(channel.uri):
            yield _error(
                _RULES["TARGET014"],
                f"inputs.{name}",
                "SDK v3 uploads a local folder as a plain File channel only",
                got=f"{channel.uri!r} with more settings",
                wanted="an S3 URI, or nothing but the folder",
                fix="upload it first and name its s3:// URI",
                evidence=FIELDS,
            )


def script(job: JobSpec) -> Iterator[Problem]:
    """TARGET015, TARGET016: kinds of script; requirements that it would not install."""
    if job.script is None:
        return
    allowed = (".py",) if plan(job).runner is not Runner.PYTHON else (".py", ".sh")
    if not job.script.entry.endswith(allowed):
        yield _error(
            _RULES["TARGET015"],
            "script.entry",
            "SDK v3 does not start this kind of script here",
            got=repr(job.script.entry),
            wanted=" or ".join(allowed),
            fix="a Python script that starts it",
            evidence=f"{DRIVERS}/distributed_drivers",
        )
    if (job.script.source_dir or "").startswith("s3://"):
        name = PurePosixPath(job.script.source_dir or "").name
        yield _RULES["TARGET016"].problem(
            Field("script.source_dir"),
            "SDK v3 installs a requirements.txt only where it is named, and whether there is one in S3 is not known here",
            got=repr(name),
            fix=Advice("SourceCode(requirements='requirements.txt') if there is one"),
        )


def series(job: JobSpec) -> Iterator[Problem]:
    """TARGET017: metrics come without time series."""
    if job.metrics:
        yield _RULES["TARGET017"].problem(
            Field("metrics"),
            "SDK v3 does not ask for metric time series: the console shows last values only",
            got="EnableSageMakerMetricsTimeSeries not sent",
            fix=Advice("read metrics from the log, as this package does"),
        )


def placement(job: JobSpec) -> Iterator[Problem]:
    """TARGET023: SDK v3 takes a placement only where nothing is left out of it."""
    chosen = job.compute.placement
    if chosen is None:
        return
    complete = chosen.shared and chosen.servers and all(server.server_id for server in chosen.servers)
    if not complete:
        yield _error(
            _RULES["TARGET023"],
            "compute.placement",
            "SDK v3 raises for a placement with something left out",
            got=python(chosen),
            wanted="shared=True, servers, and the id of each server",
            fix=f"say all of it, or {STAY}",
            evidence=_RULES["TARGET023"].evidence,
        )


def empty_tags(job: JobSpec) -> Iterator[Problem]:
    """TARGET018: SDK v3 leaves empty texts out of a tag, and the request is refused for what is missing."""
    for key, value in job.tags.items():
        if not value:
            yield _error(
                _RULES["TARGET018"],
                f"tags.{key}",
                "SDK v3 drops the empty value of a tag, and botocore refuses a tag without one",
                got=repr(value),
                wanted="a value",
                fix=f"tags={{{key!r}: '-'}}, or {STAY}",
                evidence="sagemaker-core 2.27.0, TrainingJob.create",
            )


def _error(rule: Rule, where: str, what: str, *, got: str, wanted: str, fix: str, evidence: str) -> Problem:
    return rule.problem(Field(where), what, got=got, wanted=wanted, fix=Advice(fix), evidence=evidence)


def _dropped(rule: Rule, where: str, what: str, got: str, instead: str) -> Problem:
    fix = f"{instead}; or {STAY}" if instead else STAY
    return _error(rule, where, what, got=got, wanted="a job without it", fix=fix, evidence=FIELDS)


RULES: Final[tuple[Callable[[JobSpec], Iterator[Problem]], ...]] = (
    launcher,
    mpi_hosts,
    shell_names,
    read_back,
    spelling,
    channels,
    script,
    series,
    empty_tags,
    placement,
    passthrough.problems,
)
