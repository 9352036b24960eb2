"""The built-in rules of SageMaker's Debugger, as SDK v2's ``rule_configs`` give them, and the image that evaluates them."""

from __future__ import annotations

import functools
import json
from importlib.resources import files
from typing import TypedDict

from ..errors import UnknownName
from ..specs.debugging import DebugRule, TensorCollection
from . import images


class _Rule(TypedDict):
    name: str
    parameters: dict[str, str]
    collections: list[tuple[str, dict[str, str] | None]]


class _Table(TypedDict):
    evaluators: dict[str, str]
    rules: dict[str, _Rule]
    profiler_rules: dict[str, dict[str, str]]


@functools.cache
def _table() -> _Table:
    found: _Table = json.loads(files(__package__).joinpath("debugger.json").read_text("utf-8"))
    return found


def rules() -> tuple[str, ...]:
    """The functions and classes of ``rule_configs`` that the table knows."""
    return (*_table()["rules"], *_table()["profiler_rules"])


def rule(function: str, region: str) -> tuple[DebugRule, tuple[TensorCollection, ...]] | None:
    """A built-in rule with the tensors that it needs; None where the table has none. Raises UnknownName for a region without
    an evaluator."""
    collections: tuple[TensorCollection, ...] = ()
    if function in _table()["profiler_rules"]:
        name, parameters = function, _table()["profiler_rules"][function]
    elif function in _table()["rules"]:
        row = _table()["rules"][function]
        name, parameters = row["name"], row["parameters"]
        collections = tuple(TensorCollection(each, parameters=given or {}) for each, given in row["collections"])
    else:
        return None
    return DebugRule(name=name, image_uri=evaluator(region), parameters=parameters), collections


def evaluator(region: str) -> str:
    """The image that evaluates AWS's rules. Raises UnknownName for a region that has none."""
    account = _table()["evaluators"].get(region)
    if account is None:
        raise UnknownName(f"region: got {region!r}, wanted one that evaluates rules of the debugger")
    return f"{images.ecr_host(account, region)}/sagemaker-debugger-rules:latest"
