"""KEPT rules, and LIMIT rules of newer parts of a request: what the service's own model says of them; COST003.

KEPT is of parts of an attached job's request that the spec has no words for.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from .. import fields
from ..catalog import limits
from ..specs.data import S3Kind
from ..specs.job import JobSpec
from ..specs.json import leaves, thawed
from ..specs.kept import Kept
from ..specs.problems import Advice, Change, Field, Problem, Rule, Severity, rules_of
from ..specs.value import suggestion

SHOWN = 12
REQUEST = "CreateTrainingJobRequest"
_KINDS: Mapping[str, tuple[type, ...]] = {
    "structure": (dict,), "map": (dict,), "list": (list,), "string": (str,), "boolean": (bool,), "integer": (int,), "long": (int,),
    "float": (int, float), "double": (int, float),
}  # fmt: skip

# Names of Batch: https://docs.aws.amazon.com/batch/latest/APIReference/API_CreateJobQueue.html
_LONGEST_NAME = 128
_NAME = re.compile(rf"[A-Za-z0-9_-]{{1,{_LONGEST_NAME}}}")

# Parts of a job whose values have no rules of their own.
VALUES = tuple(field for field in fields.JOB if field.spec.startswith(("compute.preferences", "compute.placement")))
_RULES = rules_of(__package__)


def listed(job: JobSpec) -> Iterator[Problem]:
    """KEPT001: what is not in the spec's own words is sent again word for word."""
    if job.kept:
        more = f", and {len(job.kept) - SHOWN} more" if len(job.kept) > SHOWN else ""
        texts = (str(part).lstrip("/") for part in job.kept[:SHOWN])
        yield _RULES["KEPT001"].problem(
            Field("kept"),
            "parts of the original request are sent again as they were",
            got=", ".join(text if len(text) <= 80 else f"{text[:77]}…" for text in texts) + more,
            fix=Advice("leave kept out, so that only the spec is sent"),
        )


def against_the_model(job: JobSpec) -> Iterator[Problem]:
    """KEPT002: a part that the service's own model refuses: no such field, another type, a value out of its range or list."""
    for part in job.kept:
        shape = _shape_at(part)
        fault = (
            None if shape is None or part.sent is None else next(faults(shape, json.loads(part.sent), part.at), None)
        )
        if shape is None and not part.at.startswith("/HyperParameters"):
            fault = (part.at, "the field", "a field of CreateTrainingJob")
        if fault is not None:
            where, got, wanted = fault
            yield _RULES["KEPT002"].problem(
                Field("kept"),
                f"the service refuses {where.lstrip('/')}",
                got=got,
                wanted=wanted,
                fix=Advice("correct the part, or leave it out of kept"),
            )


def _shape_at(part: Kept) -> str | None:
    """The name of the shape that the part's place has in the request; None where the request has no such place."""
    name = REQUEST
    for step in part.steps:
        shape = limits.shapes()[name]
        if shape["type"] == "structure" and step in shape["members"]:
            name = shape["members"][step]["shape"]
        elif shape["type"] == "map":
            name = shape["value"]["shape"]
        elif shape["type"] == "list":
            name = shape["member"]["shape"]
        else:
            return None
    return name


def faults(name: str, value: Any, at: str = "", *, partial: bool = False) -> Iterator[tuple[str, str, str]]:
    """Each place that does not fit its shape, with what stands there and what was wanted. Patterns of texts are the service's affair.

    Of a ``partial`` value nothing is missing: the rest is written elsewhere.
    """
    shape = limits.shapes()[name]
    kinds = _KINDS.get(shape["type"])
    if kinds is not None and (not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds)):
        yield at, repr(value)[:80], f"a {shape['type']}"
    elif "enum" in shape and value not in shape["enum"]:
        yield at, repr(value), "one of " + ", ".join(shape["enum"][:12])
    elif shape["type"] == "structure":
        yield from (
            (f"{at}/{key}", "nothing", "a value: it is required")
            for key in shape.get("required", ())
            if value.get(key) is None and not partial
        )
        yield from (
            (f"{at}/{key}", "the field", f"one of {', '.join(shape['members'])}")
            for key in value
            if key not in shape["members"]
        )
    elif shape["type"] != "structure" and not isinstance(value, bool) and not _within(shape, value):
        yield at, repr(value)[:80], f"{shape.get('min', 'any')} to {shape.get('max', 'any')}"
    for step, inner_name, inner in _inside(shape, value):
        yield from faults(inner_name, inner, f"{at}/{step}", partial=partial)


def _inside(shape: Mapping[str, Any], value: Any) -> Iterator[tuple[str, str, Any]]:
    """The parts of a value: step, name of the shape, part."""
    if shape["type"] == "structure" and isinstance(value, dict):
        yield from (
            (key, member["shape"], value[key]) for key, member in shape["members"].items() if value.get(key) is not None
        )
    elif shape["type"] == "list" and isinstance(value, list):
        yield from ((str(index), shape["member"]["shape"], part) for index, part in enumerate(value))
    elif shape["type"] == "map" and isinstance(value, dict):
        yield from ((key, shape["value"]["shape"], part) for key, part in value.items())


def _within(shape: Mapping[str, Any], value: Any) -> bool:
    size = len(value) if isinstance(value, (str, list, dict)) else value
    return bool(shape.get("min", size) <= size <= shape.get("max", size))


def values(job: JobSpec) -> Iterator[Problem]:
    """LIMIT026: what the model says of lengths, ranges and words."""
    for place, got, wanted in faults(REQUEST, fields.write(VALUES, job, "request"), partial=True):
        named = place.lstrip("/").replace("/", ".")
        field = next((each.spec for each in VALUES if f"{named}.".startswith(f"{each.request}.")), named)
        yield _RULES["LIMIT026"].problem(
            Field(field), f"the API refuses {named}", got=got, wanted=wanted, fix=Advice("correct the value")
        )


def extra(job: JobSpec) -> Iterator[Problem]:
    """LIMIT026: members of ``extra`` that the model does not have or refuses, and those that a field of the job sets."""
    for name, value in job.extra.items():
        member = limits.shapes()[REQUEST]["members"].get(name)
        if member is None:
            what = f"CreateTrainingJob has no such member{suggestion(name, limits.shapes()[REQUEST]['members'])}"
            yield _refused(_RULES["LIMIT026"], f"extra.{name}", what, repr(name), "a member of the request")
            continue
        for place, got, wanted in faults(
            member["shape"], thawed(value), partial=name in fields.SHARED or name in fields.WRITING
        ):
            path = f"extra.{name}{place}".replace("/", ".")
            yield _refused(_RULES["LIMIT026"], path, f"the API refuses {path.removeprefix('extra.')}", got, wanted)
    for path, value in leaves(job.extra):
        owner = next((spec for request, spec in fields.OWNED if f"{path}.".startswith(f"{request}.")), None)
        if owner is not None:
            yield _refused(
                _RULES["LIMIT026"], f"extra.{path}", "the job sets this member itself", f"{thawed(value)!r}", owner
            )


def _refused(rule: Rule, where: str, what: str, got: str, wanted: str) -> Problem:
    return rule.problem(Field(where), what, got=got, wanted=wanted, fix=Advice("correct it, or leave it out"))


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
        yield _RULES["LIMIT027"].problem(where, what, got="spot", wanted=one, fix=Change(spot=None))
    if compute.placement is not None:
        what = "instance preferences exclude a placement"
        yield _RULES["LIMIT027"].problem(where, what, got="placement", wanted=one, fix=Advice("leave placement out"))
    if None in counts and any(counts):
        what, wanted = "some preferences say a count", "a count of each, or of none"
        got = ", ".join(f"{name}: {count}" for name, count in zip(names, counts, strict=True))
        yield _RULES["LIMIT027"].problem(
            where, what, got=got, wanted=wanted, fix=Advice("give every preference its count")
        )
    if len(set(names)) < len(names):
        what, fix = "an instance type appears twice", Advice("leave the second out")
        yield _RULES["LIMIT027"].problem(where, what, got=", ".join(names), wanted="each once", fix=fix)
    if compute.training_plan and any(each.training_plan for each in compute.preferences):
        what = "a training plan of the job excludes plans of preferences"
        yield _RULES["LIMIT027"].problem(where, what, got="both", wanted=one, fix=Advice("keep the preferences' own"))


def attributes(job: JobSpec) -> Iterator[Problem]:
    """LIMIT030: attribute names without an augmented manifest."""
    for name, channel in job.channels.items():
        if channel.attribute_names and channel.kind is not S3Kind.AUGMENTED_MANIFEST:
            yield _RULES["LIMIT030"].problem(
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
            yield _RULES["LIMIT031"].problem(
                Field(f"queue.{field}"), "Batch refuses the name", got=value, wanted=wanted, fix=Advice("correct it")
            )
    if place.timeout_s < job.max_run_s:
        yield _RULES["LIMIT031"].problem(
            Field("queue.timeout_s"),
            "Batch ends an attempt before the job's own time is over",
            got=f"{place.timeout_s} s, max_run_s {job.max_run_s} s",
            fix=Change(queue=dataclasses.replace(place, timeout_s=job.max_run_s)),
            severity=Severity.WARNING,
        )


def other_bills(job: JobSpec) -> Iterator[Problem]:
    """COST003: jobs that are billed by tokens, and jobs that may run on other machines than the one that is priced."""
    if job.serverless:
        yield _RULES["COST003"].problem(
            Field("extra.ServerlessJobConfig"),
            "this job is billed by tokens, so no price is shown",
            got=str(job.extra_at("ServerlessJobConfig.BaseModelArn")),
            fix=Advice("look its price up: https://aws.amazon.com/sagemaker/ai/pricing/"),
        )
    elif len(job.compute.preferences) > 1:
        first, *others = job.compute.instances
        yield _RULES["COST003"].problem(
            Field("compute.preferences"),
            f"costs and ceilings are those of {first}",
            got=f"{', '.join(others)} as well",
            fix=Advice("nothing, if that is meant"),
        )


RULES = (
    listed,
    against_the_model,
    values,
    extra,
    preferences,
    attributes,
    queue,
    other_bills,
)
