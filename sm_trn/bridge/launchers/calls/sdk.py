"""What functions and classes of the SDK give that are not methods of an object."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from .. import estimators, methods
from ..state import Sighting, State, expression
from ..values import (
    Arguments,
    Instance,
    Names,
    Reason,
    Ref,
    Symbol,
    parts_of,
    text,
)
from . import inputs, starting
from .placeholders import given_symbol

_SESSIONS: Final = frozenset({"Session", "LocalSession", "PipelineSession", "LocalPipelineSession"})


def of_jumpstart(path: str, names: Names) -> bool:
    """Whether a call asks JumpStart's tables, which lie in S3."""
    return "jumpstart" in path or names.get("model_id") is not None or path.endswith(".retrieve_default")


def asks_for_image(function: Ref, names: Names) -> bool:
    """Whether a call asks the SDK's tables for an image."""
    known_by = "image_uris" in function.path if function.last == "retrieve" else function.last == "get_image_uri"
    return known_by and not of_jumpstart(function.path, names)


def of_sdk(state: State, node: ast.expr, function: Ref, given: Arguments, names: Names) -> object:
    """What a call of the SDK gives."""
    path, last = function.path, function.last
    if of_jumpstart(path, names):
        if last in estimators.SEEN:
            state.sightings.append(Sighting(state.place(node), f"{last}(…)", "JumpStart"))
        return state.unknown(node, Reason.JUMPSTART)
    if last in estimators.POSITIONAL and last in estimators.WRITTEN:
        return starting.constructed(state, node, last, given, names)
    if last in estimators.PARTS:
        arguments: dict[str, object] = dict(zip(estimators.PARTS[last], given, strict=False)) | names
        return Instance("TrainingInput" if last == "s3_input" else last, arguments, state.place(node))
    if (made := _of_debugger(state, node, path, given, names)) is not None:
        return made
    if last in estimators.PIPELINE_PARAMETERS:
        return _parameter(state, node, given, names)
    if last in _SESSIONS:
        return inputs.session(last, given, names, state, node)
    if last in {"get_execution_role", "get_execution_role_arn"}:
        return given_symbol(state, Symbol.ROLE)
    if last in {"get_default_bucket", "default_bucket"}:
        return given_symbol(state, Symbol.BUCKET)
    if last in estimators.SEEN:
        starting.sighted(state, node, last, given, names)
        arguments = dict(zip(estimators.FIRST.get(last, ()), given, strict=False)) | names
        return Instance(last, arguments, state.place(node))
    if "workflow" in path.split("."):
        return _of_pipeline(state, node, last, given, names)
    return _SDK.get(last, _other)(state, node, given, names)


def _of_debugger(state: State, node: ast.expr, path: str, given: Arguments, names: Names) -> Instance | None:
    """A rule, or a configuration of one, by the two last words of its call."""
    owner, _, last = path.rpartition(".")
    owner = owner.rpartition(".")[2]
    if owner == "rule_configs":
        return Instance(owner, {**names, "": last}, state.place(node))
    order = estimators.RULES.get(f"{owner}.{last}")
    if order is None:
        return None
    return Instance(f"{owner}.{last}", {**dict(zip(order, given, strict=False)), **names}, state.place(node))


def _other(state: State, node: ast.expr, given: Arguments, names: Names) -> object:
    """Another function of the SDK: it may start an estimator that it is given."""
    for value in (*given, *names.values()):
        starting.handed_over(state, value, expression(node.func) if isinstance(node, ast.Call) else "another object")
    return state.unknown(node, Reason.CALL)


def _of_pipeline(state: State, node: ast.expr, last: str, given: Arguments, names: Names) -> object:
    state.sightings.append(Sighting(state.place(node), f"{last}(…)", "pipeline"))
    _other(state, node, given, names)
    return state.unknown(node, Reason.PIPELINE)


def _parameter(state: State, node: ast.expr, given: Arguments, names: Names) -> object:
    """A parameter of a pipeline: what it is when nobody gives another value, and said."""
    name = given[0] if given else names.get("name")
    word = name if isinstance(name, str) else ""
    if word in state.settings:
        return state.settings[word]
    if names.get("default_value") is None:
        return state.unknown(node, Reason.PIPELINE, give=word)
    state.assumed[state.place(node), f"the pipeline's parameter {word} is left at its default"] = None
    return names["default_value"]


def _base_named(state: State, node: ast.expr, given: Arguments, names: Names) -> object:
    """``name_from_base``: the base and a time stamp."""
    base = parts_of(given[0] if given else names.get("base"))
    return text((*base, "-", Symbol.TIME)) if base is not None else state.unknown(node, Reason.CALL)


def _joined_s3(state: State, node: ast.expr, given: Arguments, names: Names) -> object:
    del names
    return methods.s3_joined(given, state.cause(node, Reason.CALL))


_SDK: Final[Mapping[str, Callable[[State, ast.expr, Arguments, Names], object]]] = MappingProxyType(
    {
        "name_from_base": _base_named,
        "unique_name_from_base": _base_named,
        "s3_path_join": _joined_s3,
        "upload": inputs.s3_uploaded,
    }
)
