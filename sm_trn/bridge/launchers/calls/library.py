"""What a call or an attribute is, whoever's it is: Python's, boto3's, the SDK's or an object's."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from .. import estimators, methods
from ..records import AS_MAPPING
from ..state import Sighting, State, expression
from ..values import (
    Arguments,
    Bound,
    Function,
    Instance,
    Names,
    Reason,
    Ref,
    Symbol,
    Text,
    Unknown,
    UserClass,
    causes_in,
    known,
    parts_of,
    text,
    unknown,
)
from . import images, inputs, paths, sdk, starting
from .placeholders import given_symbol, in_region

_TIMES: Final = frozenset({
    "time.strftime", "time.time", "time.gmtime", "time.localtime", "time.ctime", "datetime.datetime.now", "datetime.datetime.utcnow",
    "datetime.datetime.today", "datetime.date.today", "datetime.now", "datetime.utcnow", "datetime.today", "date.today", "uuid.uuid4",
    "uuid.uuid1", "uuid4", "random.randint", "random.choice", "random.random", "random.randrange", "time.time_ns",
    "sagemaker.utils.sagemaker_timestamp", "sagemaker.utils.sagemaker_short_timestamp", "secrets.token_hex", "strftime", "gmtime",
    "datetime.datetime.fromtimestamp", "datetime.datetime.strftime", "random.choices", "random.sample",
    "secrets.choice", "secrets.token_urlsafe", "os.urandom", "calendar.timegm", "random.getrandbits",
})  # fmt: skip


_NOTHING: Final = frozenset({
    "print", "display", "IPython.display.display", "pprint.pprint", "warnings.filterwarnings", "warnings.simplefilter", "time.sleep",
    "os.makedirs", "os.mkdir", "os.system", "os.chdir", "os.remove", "shutil.rmtree", "shutil.copy", "shutil.copyfile",
    "logging.basicConfig",
    "random.seed", "numpy.random.seed", "setattr", "subprocess.check_call", "subprocess.call", "subprocess.run", "os.rename", "gc.collect",
    "urllib.request.urlretrieve", "tarfile.open",
})  # fmt: skip


_TIME_TEXT: Final = Text((Symbol.TIME,))


_RESULTS: Final = frozenset({
    "model_data", "latest_training_job", "name", "training_job_name", "job_name", "best_training_job", "endpoint_name", "jobs",
    "_current_job_name", "best_estimator", "training_job_analytics", "logs", "job_id", "status",
})  # fmt: skip


def attribute(state: State, node: ast.AST, owner: object, name: str) -> object:
    """``owner.name``."""
    if isinstance(owner, Unknown):
        return Bound(owner, name) if name in {"fit", "deploy", "set_hyperparameters", "update", "append"} else owner
    if isinstance(owner, Ref):
        path = f"{owner.path}.{name}"
        if name in state.settings and not owner.path.startswith(("sagemaker", "boto3", "os")):
            return state.settings[name]
        if path == "os.environ":
            return Instance("os.environ", {}, state.place(node))
        return methods.CONSTANTS.get(path, Ref(path))
    if isinstance(owner, UserClass):
        value = owner.scope.names.get(name, state.unknown(node, Reason.UNDEFINED, give=name))
        return Bound(owner, name) if isinstance(value, Function) and value.kind == "classmethod" else value
    if isinstance(owner, Instance):
        return owner.arguments if name == "__dict__" else _of_instance(state, node, owner, name)
    return (
        owner
        if owner == _TIME_TEXT and name not in {"strftime", "format", "isoformat", "replace", "split"}
        else Bound(owner, name)
    )


def _of_instance(state: State, node: ast.AST, owner: Instance, name: str) -> object:
    if owner.cls == "Session":
        fixed: dict[str, object] = {
            "boto_region_name": Symbol.REGION, "region_name": Symbol.REGION, "_region_name": Symbol.REGION,
            "default_bucket_prefix": None, "boto_session": owner, "config": None, "sagemaker_config": {},
        }  # fmt: skip
        if name in fixed and name not in owner.arguments:
            return given_symbol(state, fixed[name])
    if name in owner.arguments:
        return owner.arguments[name]
    if owner.own is not None:
        value = owner.own.scope.names.get(name)
        if isinstance(value, Function) or (value is None and owner.own.fields and name in AS_MAPPING):
            return Bound(owner, name)
        return value if name in owner.own.scope.names else state.unknown(node, Reason.UNDEFINED, give=name)
    if owner.cls == "namespace" and "…" in owner.arguments:
        return owner.arguments["…"]
    if owner.cls == "widget" and name == "value":
        return owner.arguments.get("chosen", state.unknown(node, Reason.CALL))
    if owner.cls in estimators.POSITIONAL and name in _RESULTS:
        return state.unknown(node, Reason.RESULT)
    if owner.cls in estimators.POSITIONAL and name == "hyperparameters":
        return Bound(owner, name)
    if owner.cls == "path" and name in {"name", "parent", "parents", "stem", "suffix"}:
        return paths.part_of_path(state, node, owner, name)
    if estimators.SEEN.get(owner.cls) == "pipeline" and name in {"properties", "outputs"}:
        return state.unknown(node, Reason.PIPELINE)
    return Bound(owner, name)


def called(state: State, node: ast.expr, function: object, given: Arguments, names: Names) -> object:
    """The value of a call whose arguments are evaluated."""
    if isinstance(function, Ref):
        return _of_library(state, node, function, given, names)
    if isinstance(function, Bound):
        return _of_method(state, node, function.owner, function.name, given, names)
    if isinstance(function, Unknown) or function == _TIME_TEXT:
        return function
    if isinstance(function, Instance) and function.cls == "path":
        return function
    return state.unknown(node, Reason.CALL)


def _of_sagemaker(state: State, node: ast.expr, function: Ref, given: Arguments, names: Names) -> object:
    path, last = function.path, function.last
    if last == "attach":
        state.sightings.append(Sighting(state.place(node), f"{path.split('.')[-2]}.attach(…)", "attached job"))
        return state.unknown(node, Reason.RESULT)
    if last in {"Run", "load_run"} and path.startswith("sagemaker.experiments"):
        return Instance(
            "Run", dict(zip(("experiment_name", "run_name"), given, strict=False)) | names, state.place(node)
        )
    if sdk.asks_for_image(function, names):
        return images.retrieved(state, node, last, given, names)
    if path in _TIMES:
        return _TIME_TEXT
    return sdk.of_sdk(state, node, function, given, names)


def _of_library(state: State, node: ast.expr, function: Ref, given: Arguments, names: Names) -> object:
    path, last = function.path, function.last
    if path.startswith("sagemaker"):
        return _of_sagemaker(state, node, function, given, names)
    if last in {"create", "load"} and path.split(".")[-2:-1] in (["Experiment"], ["Trial"]):
        return Instance("experiment", dict(names), state.place(node))
    if path in _TIMES or (path.startswith("datetime") and last in {"now", "utcnow", "today", "strftime"}):
        return _TIME_TEXT
    handler = _FUNCTIONS.get(path)
    if handler is not None:
        return handler(state, node, given, names)
    if path in methods.PURE or path in methods.STRUCTURAL:
        if _TIME_TEXT in given and path in {"int", "float", "round", "abs"}:
            return _TIME_TEXT
        return methods.computed(path, given, names, state.cause(node, Reason.CALL))
    if path in _NOTHING:
        return _set_attribute(given) if path == "setattr" else None
    if (
        path in {"ipywidgets.Dropdown", "ipywidgets.widgets.Dropdown", "Dropdown", "ipywidgets.Select"}
        or last == "Dropdown"
    ):
        return _widget(state, node, names)
    if last == "get_execution_role":
        state.assumed[state.place(node), f"{path} gives the role, as the SDK's function of this name does"] = None
        return given_symbol(state, Symbol.ROLE)
    return state.unknown(node, Reason.CALL)


def _set_attribute(given: Arguments) -> object:
    if len(given) == 3 and isinstance(given[0], Instance) and isinstance(given[1], str):
        given[0].arguments[given[1]] = given[2]
    return None


def _widget(state: State, node: ast.expr, names: Names) -> object:
    """A list to choose from: what it shows first is what it gives, unless somebody chooses another."""
    options = names.get("options")
    chosen = names.get("value", options[0] if isinstance(options, (list, tuple)) and options else None)
    if isinstance(chosen, tuple) and len(chosen) == 2:
        chosen = chosen[1]
    if chosen is None or not known(chosen):
        return Instance(
            "widget", {"chosen": unknown([*causes_in(options)] or [state.cause(node, Reason.CALL)])}, state.place(node)
        )
    state.assumed[state.place(node), f"the first choice of the list: {chosen!r}"] = None
    return Instance("widget", {"chosen": chosen}, state.place(node))


def _of_method(state: State, node: ast.expr, owner: object, name: str, given: Arguments, names: Names) -> object:
    cause = state.cause(node, Reason.CALL)
    if isinstance(owner, Unknown):
        state.lost += owner.causes if name == "fit" else ()
        if name == "fit" and all(cause.reason is not Reason.RESULT for cause in owner.causes):
            what = expression(node.func) if isinstance(node, ast.Call) else "fit"
            state.sightings.append(Sighting(state.place(node), f"{what}(…)", "start of something that is not known"))
        return owner
    if isinstance(owner, (str, Text)):
        if owner == _TIME_TEXT:
            return _TIME_TEXT
        return methods.of_text(owner, name, given, names, cause)
    if isinstance(owner, list):
        return methods.of_list(owner, name, given, names, cause)
    if isinstance(owner, dict):
        if name == "get" and given:
            given = [in_region(state, node, owner, given[0]), *given[1:]]
        return methods.of_mapping(owner, name, given, names, cause)
    if isinstance(owner, Instance):
        return _of_object(state, node, owner, name, given, names)
    if isinstance(owner, set):
        return methods.of_set(owner, name, given, cause)
    return Unknown((cause,))


def _of_object(state: State, node: ast.expr, owner: Instance, name: str, given: Arguments, names: Names) -> object:
    if owner.cls in estimators.POSITIONAL:
        return starting.method_of_estimator(state, node, owner, name, given, names)
    if owner.cls == "path":
        return paths.method_of_path(state, node, owner, name, given)
    handler = inputs.METHODS.get(owner.cls)
    if handler is not None:
        return handler(state, node, owner, name, given, names)
    if name == "fit" and owner.cls == "HyperparameterTuner":
        starting.tuned(state, node, owner, given, names)
        return None
    if name in estimators.SIGHTED_METHODS:
        state.sightings.append(Sighting(state.place(node), f"{owner.cls}.{name}(…)", estimators.SIGHTED_METHODS[name]))
    return state.unknown(node, Reason.CALL)


def _text(state: State, node: ast.expr, given: Arguments, names: Names) -> object:
    del names
    value = given[0] if given else ""
    if isinstance(value, Instance) and value.cls == "path":
        return value.arguments["path"]
    parts = (value,) if isinstance(value, (Symbol, Unknown)) else parts_of(value)
    if parts is not None:
        return text(parts)
    return str(value) if known(value) else unknown([*causes_in(value)] or [state.cause(node, Reason.CALL)])


def _is_instance(state: State, node: ast.expr, given: Arguments, names: Names) -> object:
    del names
    kinds = {"str": str, "int": int, "list": list, "dict": dict, "tuple": tuple, "float": float, "bool": bool}
    if (
        len(given) == 2
        and isinstance(given[1], Ref)
        and given[1].path in kinds
        and not isinstance(given[0], (Unknown, Instance))
    ):
        return isinstance(given[0], kinds[given[1].path]) or (given[1].path == "str" and isinstance(given[0], Text))
    return unknown([*causes_in(given)] or [state.cause(node, Reason.CALL)])


def _get_attribute(state: State, node: ast.expr, given: Arguments, names: Names) -> object:
    del names
    if len(given) >= 2 and isinstance(given[1], str) and not isinstance(given[0], (str, int, float, list, dict)):
        return attribute(state, node, given[0], given[1])
    return state.unknown(node, Reason.CALL)


_FUNCTIONS: Final[Mapping[str, Callable[[State, ast.expr, Arguments, Names], object]]] = MappingProxyType(
    {
        **paths.FUNCTIONS,
        **inputs.FUNCTIONS,
        "str": _text,
        "isinstance": _is_instance,
        "getattr": _get_attribute,
    }
)
