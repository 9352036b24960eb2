"""KEPT rules: parts of an attached job's request that the spec has no words for. What a change makes of them is the target's affair."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ..catalog import limits
from ..specs.job import JobSpec
from ..specs.kept import Kept
from ..specs.problems import Advice, Field, Problem, rules_of

SHOWN = 12
REQUEST = "CreateTrainingJobRequest"
_KINDS: Mapping[str, tuple[type, ...]] = {
    "structure": (dict,), "map": (dict,), "list": (list,), "string": (str,), "boolean": (bool,), "integer": (int,), "long": (int,),
    "float": (int, float), "double": (int, float),
}  # fmt: skip

_RULES = rules_of(__package__)
KEPT001 = _RULES["KEPT001"]
KEPT002 = _RULES["KEPT002"]


def listed(job: JobSpec) -> Iterator[Problem]:
    """KEPT001: what is not in the spec's own words is sent again word for word."""
    if job.kept:
        more = f", and {len(job.kept) - SHOWN} more" if len(job.kept) > SHOWN else ""
        yield KEPT001.problem(
            Field("kept"),
            "parts of the original request are sent again as they were",
            got=", ".join(map(_short, job.kept[:SHOWN])) + more,
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
            yield KEPT002.problem(
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

    Of a ``partial`` value nothing is missing, and fields that the model does not have are nobody's fault.
    """
    shape = limits.shapes()[name]
    kinds = _KINDS.get(shape["type"])
    if kinds is not None and (not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds)):
        yield at, repr(value)[:80], f"a {shape['type']}"
    elif "enum" in shape and value not in shape["enum"]:
        yield at, repr(value), "one of " + ", ".join(shape["enum"][:12])
    elif shape["type"] == "structure" and not partial:
        yield from (
            (f"{at}/{key}", "nothing", "a value: it is required")
            for key in shape.get("required", ())
            if value.get(key) is None
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


def _short(part: object) -> str:
    text = str(part).lstrip("/")
    return text if len(text) <= 80 else f"{text[:77]}…"


RULES = (listed, against_the_model)
