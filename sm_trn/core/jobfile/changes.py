"""A spec with some of its fields changed, each named by its path in a job file: ``compute.count=2``. Reads no file."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from typing import Any, Final

from cattrs.errors import BaseValidationError

from ..errors import InvalidJobFile
from ..specs.job import JobSpec
from ..specs.json import Json
from . import schema
from .faults import Fault, MismatchError, faults_of

OPEN: Final = frozenset({"hyperparameters", "environment", "tags"})  # tables whose keys are the user's, dots and all


def change_job(job: JobSpec, settings: Iterable[str] = (), *, unset: Iterable[str] = ()) -> JobSpec:
    """``job`` with ``path=value`` settings, and with the fields of ``unset`` at their defaults again.

    A value is JSON (``2``, ``true``, ``"text"``, ``{"kind": …}``) or else a text as it stands. Raises InvalidJobFile with
    every unknown field and wrong value.
    """
    tree = schema.unstructure(job)
    faults = [fault for path in unset if (fault := _remove(tree, _steps(path)))]
    for setting in settings:
        path, equals, text = setting.partition("=")
        if not equals or not path:
            faults.append(_fault("not a setting", setting, "path=value, such as compute.count=2"))
        elif not _insert(tree, _steps(path), _value(text)):
            faults.append(_fault("no such field", path, "the path of a field, such as compute.count"))
    try:
        changed = schema.structure(tree, JobSpec)
    except (BaseValidationError, MismatchError) as error:
        faults += [dataclasses.replace(fault, file="--set") for fault in faults_of(error)]
    if faults:
        raise InvalidJobFile(tuple(faults))
    return changed


def _steps(path: str) -> list[str]:
    first, _, rest = path.partition(".")
    return [first, rest] if first in OPEN and rest else path.split(".")


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _insert(tree: dict[str, Json], steps: list[str], value: Any) -> bool:
    *above, last = steps
    for depth, step in enumerate(above):
        below = tree.setdefault(step, {})
        if depth == 1 and above[0] == "inputs" and isinstance(below, str):
            below = tree[step] = {"uri": below}  # a channel that was only its place
        if not isinstance(below, dict):
            return False
        tree = below
    tree[last] = value
    return True


def _remove(tree: Any, steps: list[str]) -> Fault | None:
    *above, last = steps
    for step in above:
        tree = tree.get(step) if isinstance(tree, dict) else None
    if not isinstance(tree, dict):
        return _fault("no such field", ".".join(steps), "a field that is set")
    tree.pop(last, None)
    return None


def _fault(what: str, got: str, wanted: str) -> Fault:
    return Fault(what=what, got=got, wanted=wanted, file="--set")
