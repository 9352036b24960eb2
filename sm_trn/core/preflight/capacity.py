"""LIMIT rules of newer parts of a request: instance preferences, waiting for capacity, serverless jobs, private registries."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator

from .. import fields
from ..catalog.instances import find_instances
from ..specs.compute import SERVERLESS, Accelerator, Compute
from ..specs.data import S3Kind
from ..specs.framework import RegistryAccess
from ..specs.job import JobSpec
from ..specs.problems import Advice, Change, Field, Problem, Severity, rules_of
from .kept import REQUEST, faults

API = "API reference, CreateTrainingJob and ResourceConfig"
# Parts of a job whose values have no rules of their own.
CHECKED = ("compute.preferences", "compute.placement", "registry", "experiment", "mlflow", "model_package", "serverless", "max_pending_s",
           "container_entrypoint", "container_arguments")  # fmt: skip

# Names of Batch: https://docs.aws.amazon.com/batch/latest/APIReference/API_CreateJobQueue.html
_LONGEST_NAME = 128
_NAME = re.compile(rf"[A-Za-z0-9_-]{{1,{_LONGEST_NAME}}}")

VALUES = tuple(field for field in fields.JOB if field.spec.startswith(CHECKED))

_RULES = rules_of(__package__)
LIMIT026 = _RULES["LIMIT026"]
LIMIT027 = _RULES["LIMIT027"]
LIMIT028 = _RULES["LIMIT028"]
LIMIT029 = _RULES["LIMIT029"]
LIMIT030 = _RULES["LIMIT030"]
LIMIT031 = _RULES["LIMIT031"]
NET005 = _RULES["NET005"]


def values(job: JobSpec) -> Iterator[Problem]:
    """LIMIT026: what the model says of lengths, ranges and words."""
    for place, got, wanted in faults(REQUEST, fields.write(VALUES, job, "request"), partial=True):
        named = place.lstrip("/").replace("/", ".")
        field = next((each.spec for each in VALUES if f"{named}.".startswith(f"{each.request}.")), named)
        yield LIMIT026.problem(
            Field(field), f"the API refuses {named}", got=got, wanted=wanted, fix=Advice("correct the value")
        )


def preferences(job: JobSpec) -> Iterator[Problem]:
    """LIMIT027: what excludes instance preferences, and how they are counted."""
    compute, where = job.compute, Field("compute.preferences")
    if not compute.preferences:
        return
    counts = [each.count for each in compute.preferences]
    names = [each.instance for each in compute.preferences]
    one = "one of the two"
    if job.spot is not None:
        what = "instance preferences exclude spot"
        yield LIMIT027.problem(where, what, got="spot", wanted=one, fix=Change(spot=None))
    if compute.placement is not None:
        what = "instance preferences exclude a placement"
        yield LIMIT027.problem(where, what, got="placement", wanted=one, fix=Advice("leave placement out"))
    if None in counts and any(counts):
        what, wanted = "some preferences say a count", "a count of each, or of none"
        got = ", ".join(f"{name}: {count}" for name, count in zip(names, counts, strict=True))
        yield LIMIT027.problem(where, what, got=got, wanted=wanted, fix=Advice("give every preference its count"))
    if len(set(names)) < len(names):
        what, fix = "an instance type appears twice", Advice("leave the second out")
        yield LIMIT027.problem(where, what, got=", ".join(names), wanted="each once", fix=fix)
    if compute.training_plan and any(each.training_plan for each in compute.preferences):
        what = "a training plan of the job excludes plans of preferences"
        yield LIMIT027.problem(where, what, got="both", wanted=one, fix=Advice("keep the preferences' own"))


def pending(job: JobSpec) -> Iterator[Problem]:
    """LIMIT028: a wait for capacity that has no effect."""
    rows = find_instances(job.compute.instances)
    if job.max_pending_s is not None and rows and all(row.accelerator is Accelerator.CPU for row in rows):
        yield LIMIT028.problem(
            Field("max_pending_s"),
            "it has no effect on jobs of CPU instances",
            got=f"{job.max_pending_s} s, {', '.join(job.compute.instances)}",
            fix=Advice("leave it out"),
        )


def serverless(job: JobSpec) -> Iterator[Problem]:
    """LIMIT029: machines of a serverless job, and evaluations without a type."""
    asked = job.serverless
    if asked is None:
        return
    if job.compute.instance != SERVERLESS:
        yield LIMIT029.problem(
            Field("compute"),
            "the service chooses the machines of a serverless job",
            got=", ".join(job.compute.instances),
            wanted=f"Compute({SERVERLESS!r})",
            fix=Change(compute=Compute(SERVERLESS)),
        )
    if asked.job_type == "Evaluation" and asked.evaluation_type is None:
        yield LIMIT029.problem(
            Field("serverless.evaluation_type"),
            "an evaluation says what it evaluates",
            got="nothing",
            wanted="LLMAJEvaluation, CustomScorerEvaluation or BenchmarkEvaluation",
            fix=Advice("serverless=Serverless(…, evaluation_type='BenchmarkEvaluation')"),
        )


def attributes(job: JobSpec) -> Iterator[Problem]:
    """LIMIT030: attribute names without an augmented manifest."""
    for name, channel in job.channels.items():
        if channel.attribute_names and channel.kind is not S3Kind.AUGMENTED_MANIFEST:
            yield LIMIT030.problem(
                Field(f"inputs.{name}.attribute_names"),
                "attribute names are those of an augmented manifest",
                got=f"{channel.kind.value} with {', '.join(channel.attribute_names)}",
                wanted=S3Kind.AUGMENTED_MANIFEST.value,
                fix=Advice("leave them out, or name the manifest"),
            )


def queue(job: JobSpec) -> Iterator[Problem]:
    """LIMIT031: what Batch refuses of a place in a queue, and an attempt that it ends before the job may."""
    place = job.queue
    if place is None:
        return
    for field, value in (("name", place.name), ("share", place.share), ("quota_share", place.quota_share)):
        if value is not None and not value.startswith("arn:") and _NAME.fullmatch(value) is None:
            wanted = f"at most {_LONGEST_NAME} letters, digits, hyphens and underscores"
            yield LIMIT031.problem(
                Field(f"queue.{field}"), "Batch refuses the name", got=value, wanted=wanted, fix=Advice("correct it")
            )
    if place.timeout_s < job.max_run_s:
        yield LIMIT031.problem(
            Field("queue.timeout_s"),
            "Batch ends an attempt before the job's own time is over",
            got=f"{place.timeout_s} s, max_run_s {job.max_run_s} s",
            fix=Change(queue=dataclasses.replace(place, timeout_s=job.max_run_s)),
            severity=Severity.WARNING,
        )


def registry(job: JobSpec) -> Iterator[Problem]:
    """NET005: a private registry is reached through the job's network."""
    if (
        job.registry is not None
        and job.registry.access is RegistryAccess.VPC
        and not (job.network and job.network.subnets)
    ):
        yield NET005.problem(
            Field("registry"),
            "the registry is in your network, and the job has none",
            got="registry=Registry(), no subnets",
            wanted="a network that reaches the registry",
            fix=Advice("network=Network(subnets=…, security_groups=…)"),
        )


RULES = (values, preferences, pending, serverless, attributes, queue, registry)
