"""LIMIT rules: what the API would refuse, read from its own model, and what it would ignore."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..catalog import limits
from ..catalog.instances import find_instance, instances
from ..specs.compute import SERVERLESS
from ..specs.job import JobSpec
from ..specs.problems import Advice, Change, Field, Problem, Rule, Severity, rules_of
from ..specs.value import suggestion
from ..strategies import plan
from . import reading

TOOLKIT_HYPERPARAMETERS = 5  # sagemaker_program, …_submit_directory, …_container_log_level, …_job_name, …_region
SUFFIX = 21  # characters that submit adds to make a name unique: -YYMMDD-HHMMSS-xxxxxx

DEBUGGER = ("DebugHookConfig", "DebugRuleConfigurations", "ProfilerRuleConfigurations")

_RULES = rules_of(__package__)


def _over(rule: Rule, *, where: str, what: str, got: int, shape: str, fix: str) -> Iterator[Problem]:
    most = limits.maximum(shape)
    if got > most:
        yield rule.problem(Field(where), what, got=f"{got:,}", wanted=f"at most {most:,}", fix=Advice(fix))


def instance_exists(job: JobSpec) -> Iterator[Problem]:
    """LIMIT001: a mistyped instance type goes out unchanged from both SDKs. An older botocore may not know the newest types."""
    known = {*limits.members("TrainingInstanceType"), *instances()}
    for instance in job.compute.instances:
        if instance in known or (instance == SERVERLESS and job.serverless):
            continue
        yield _RULES["LIMIT001"].problem(
            Field("compute.groups" if job.compute.groups else "compute.instance"),
            "SageMaker training has no such instance type",
            got=repr(instance),
            wanted=f"one of the {len(known)} types of the API",
            fix=Advice(f"correct the name{suggestion(instance, known)}"),
        )


def name(job: JobSpec) -> Iterator[Problem]:
    """LIMIT002, LIMIT003: letters, digits and single hyphens; submit adds a suffix to make it unique."""
    if not limits.matches("TrainingJobName", job.name[:63]):
        legal = re.sub(r"[^a-zA-Z0-9]+", "-", job.name).strip("-") or "job"
        yield _RULES["LIMIT002"].problem(
            Field("name"),
            "not a legal training job name",
            got=repr(job.name),
            wanted="letters, digits and hyphens, starting with a letter or digit",
            fix=Change(name=legal),
        )
    elif len(job.name) > limits.maximum("TrainingJobName") - SUFFIX:
        yield _RULES["LIMIT003"].problem(
            Field("name"),
            "too long for the suffix that makes it unique",
            got=f"{len(job.name)} characters",
            wanted=f"at most {limits.maximum('TrainingJobName') - SUFFIX}",
            fix=Change(name=job.name[:42].rstrip("-")),
        )


def hyperparameters(job: JobSpec) -> Iterator[Problem]:
    """LIMIT004, LIMIT005: the toolkit's own count against the limit of 100; values are JSON texts of 2,500 at most."""
    injected = TOOLKIT_HYPERPARAMETERS + len(plan(job).toolkit) + (2 if job.compiled else 0)
    injected = injected if job.script is not None else 0
    passed = sum(part.at.startswith("/HyperParameters/") and part.instead_of is None for part in job.kept)
    yield from _over(
        _RULES["LIMIT004"],
        where="hyperparameters",
        what=f"too many hyperparameters, {injected} of them for the training toolkit",
        got=len(job.arguments) + injected + passed,
        shape="HyperParameters",
        fix="put settings into a file in source_dir",
    )
    longest = limits.maximum("HyperParameterValue")
    for key, value in job.hyperparameters.items():
        text = str(value)
        if len(text) + 2 * isinstance(value, str) > longest or "\n" in text:
            yield _RULES["LIMIT005"].problem(
                Field(f"hyperparameters.{key}"),
                "a value is one line of limited length",
                got=f"{len(text):,} characters" + (", several lines" if "\n" in text else ""),
                wanted=f"one line, at most {longest:,} characters with its quotes",
                fix=Advice("put it into a file in source_dir"),
            )


def run_time(job: JobSpec) -> Iterator[Problem]:
    """LIMIT006, LIMIT007: 28 days by the API, 5 days by the default quota."""
    if job.max_run_s > limits.MAX_RUN_S:
        yield _RULES["LIMIT006"].problem(
            Field("max_run_s"),
            "a training job runs for 28 days at most",
            got=f"{job.max_run_s:,} s",
            wanted=f"at most {limits.MAX_RUN_S:,} s",
            fix=Change("and resume from checkpoints", max_run_s=86_400),
        )
    elif job.max_run_s > limits.MAX_RUN_QUOTA_S:
        yield _RULES["LIMIT007"].problem(
            Field("max_run_s"),
            "above the default account quota",
            got=f"{job.max_run_s:,} s",
            wanted=f"at most {limits.MAX_RUN_QUOTA_S:,} s unless the quota was raised",
            fix=Advice("ask for quota L-33A961FD, or a lower max_run_s"),
        )


def metrics(job: JobSpec) -> Iterator[Problem]:
    """LIMIT008, LIMIT009: 40 definitions; the API takes a regex without a group, or a broken one, and finds nothing with it."""
    yield from _over(
        _RULES["LIMIT008"],
        where="metrics",
        what="too many metric definitions",
        got=len(job.metrics),
        shape="MetricDefinitionList",
        fix="drop some of them",
    )
    longest = limits.maximum("MetricRegex")
    for index, rule in enumerate(job.metrics):
        fault, word = "", None
        try:
            pattern = re.compile(rule.regex)
            fault = "" if pattern.groups else "no capturing group"
            word = _word(pattern, job) if pattern.groups else None
        except re.error as error:
            fault = f"broken regex: {error}"
        if len(rule.regex) > longest:
            fault = f"{len(rule.regex):,} characters"
        if fault or word:
            yield _RULES["LIMIT009"].problem(
                Field(f"metrics[{index}]"),
                f"metric {rule.name!r} would never be found",
                severity=Severity.ERROR if fault else Severity.WARNING,
                got=fault or f"{word!r} in what the script prints, which is no number",
                wanted=f"a regex of at most {longest} characters whose first group is the number",
                fix=Advice(r"e.g. r'loss: ([0-9.]+)'"),
            )


def _word(pattern: re.Pattern[str], job: JobSpec) -> str | None:
    """Return the first group's match in a literal text of the script, where it is not a number."""
    for text in reading.literals(job).printed:
        match = pattern.search(text)
        if (
            match is not None
            and match[1]
            and not re.fullmatch(r"[-+]?[\d.]+(?:e[-+]?\d+)?|nan|-?inf", match[1], re.IGNORECASE)
        ):
            return str(match[1])
    return None


def environment(job: JobSpec) -> Iterator[Problem]:
    """LIMIT010: names are identifiers; values are short."""
    yield from _over(
        _RULES["LIMIT010"],
        where="environment",
        what="too many variables",
        got=len(job.environment),
        shape="TrainingEnvironmentMap",
        fix="drop some of them",
    )
    for key, value in job.environment.items():
        if not limits.matches("TrainingEnvironmentKey", key) or not limits.matches("TrainingEnvironmentValue", value):
            yield _RULES["LIMIT010"].problem(
                Field(f"environment.{key}"),
                "not a legal environment variable",
                got=f"{key!r} with {len(value):,} characters",
                wanted=f"a name of letters, digits and _, a value of at most {limits.maximum('TrainingEnvironmentValue')}",
                fix=Advice("rename it, or pass a file in source_dir"),
            )


def counts(job: JobSpec) -> Iterator[Problem]:
    """LIMIT011, LIMIT013: tags and channels, and what a channel may be called."""
    yield from _over(
        _RULES["LIMIT011"],
        where="tags",
        what="too many tags",
        got=len(job.tags),
        shape="TagList",
        fix="drop some of them",
    )
    yield from _over(
        _RULES["LIMIT011"],
        where="inputs",
        what="too many channels",
        got=len(job.inputs),
        shape="InputDataConfig",
        fix="merge some of them",
    )
    for channel in job.inputs:
        if not limits.matches("ChannelName", channel):
            yield _RULES["LIMIT013"].problem(
                Field(f"inputs.{channel}"),
                "not a legal channel name",
                got=repr(channel),
                wanted="letters, digits, '.', '-', '_', at most 64",
                fix=Advice("name it like a folder, for example train"),
            )


def volume(job: JobSpec) -> Iterator[Problem]:
    """LIMIT012: instances with NVMe storage ignore the volume size."""
    instance = find_instance(job.compute.instance)
    default = 30
    if instance is not None and instance.nvme and job.compute.volume_gb != default:
        yield _RULES["LIMIT012"].problem(
            Field("compute.volume_gb"),
            f"volume_gb has no effect: {instance.name} has NVMe storage only",
            got=f"{job.compute.volume_gb} GB",
            fix=Advice("leave it out"),
        )


def diagnostics(job: JobSpec) -> Iterator[Problem]:
    """LIMIT014, COMP008: profiler and debugger. AWS closed them to new accounts, and compiled training suffers from them."""
    profiler = job.extra_at("ProfilerConfig") is not None and job.extra_at("ProfilerConfig.DisableProfiler") is not True
    members = [*["ProfilerConfig"] * profiler, *[name for name in DEBUGGER if name in job.extra]]
    if not members:
        return
    where, got = Field(f"extra.{members[0]}"), ", ".join(members)
    yield _RULES["LIMIT014"].problem(
        where,
        "SageMaker's profiler and debugger are refused in an account that did not use them before 30 July 2026; "
        "elsewhere they cost time, and their rules start processing jobs",
        got=got,
        fix=Advice("leave it out; SDK v2 turns both on by itself"),
    )
    if job.compiled:
        yield _RULES["COMP008"].problem(
            where,
            "profiler and debugger slow compiled training down, or break it",
            got=got,
            wanted="neither of them",
            fix=Advice("leave them out"),
        )


RULES = (instance_exists, name, hyperparameters, run_time, metrics, environment, counts, volume, diagnostics)
