"""What the SDK's, boto3's and Python's own functions give that launchers call, and what attributes their objects have."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Final, TypeAlias

from . import estimators, images, methods, texts, unfollowed
from .state import Fit, Sighting, Site, State, expression
from .values import (
    Bound,
    Function,
    Instance,
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

Arguments: TypeAlias = list[object]
Names: TypeAlias = dict[str, object]
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
_ABOVE: Final = 8  # folders above a path
_SESSIONS: Final = frozenset({"Session", "LocalSession", "PipelineSession", "LocalPipelineSession"})


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
        return owner.scope.names.get(name, state.unknown(node, Reason.UNDEFINED, give=name))
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
        if isinstance(value, Function):
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
        return _of_path(state, node, owner, name)
    if estimators.SEEN.get(owner.cls) == "pipeline" and name in {"properties", "outputs"}:
        return state.unknown(node, Reason.PIPELINE)
    return Bound(owner, name)


def _of_path(state: State, node: ast.AST, owner: Instance, name: str) -> object:
    path = owner.arguments["path"]
    if not isinstance(path, str):
        return state.unknown(node, Reason.CONSTRUCT)
    if name == "parent":
        return Instance(
            "path", {**owner.arguments, "path": _parent(path, absolute="absolute" in owner.arguments)}, owner.place
        )
    if name == "parents":
        above: list[object] = [_of_path(state, node, owner, "parent")]
        while len(above) < _ABOVE and isinstance(above[-1], Instance):
            above.append(_of_path(state, node, above[-1], "parent"))
        return above
    return str(getattr(PurePosixPath(path), name))


def _parent(path: str, *, absolute: bool) -> str:
    """The folder that holds a path; above the launcher's own folder there are others where the path was made absolute."""
    if absolute and path in {"", "."}:
        return ".."
    return f"{path}/.." if absolute and PurePosixPath(path).name == ".." else str(PurePosixPath(path).parent)


def _from_here(node: ast.AST) -> bool:
    """Whether a path is made of the launcher's own place, which is absolute where the launcher is run."""
    return any(isinstance(inner, ast.Name) and inner.id == "__file__" for inner in ast.walk(node))


def given_symbol(state: State, value: object) -> object:
    """A placeholder's value where the user has given it, else the placeholder as a text."""
    if isinstance(value, Symbol):
        return state.settings.get(value.value, Text((value,)))
    return value


def in_region(state: State, node: ast.AST, owner: dict[object, object], key: object) -> object:
    """A key that is the region, as the region of this reading where the mapping has that one."""
    if not isinstance(key, Text) or key.symbols != {Symbol.REGION} or key.causes:
        return key
    placed = "".join(part if isinstance(part, str) else state.region for part in key.parts)
    if placed not in owner:
        return key
    state.assumed[state.place(node), f"the region is {state.region}"] = None
    return placed


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


def _of_library(state: State, node: ast.expr, function: Ref, given: Arguments, names: Names) -> object:
    path, last = function.path, function.last
    if last == "attach" and path.startswith("sagemaker"):
        state.sightings.append(Sighting(state.place(node), f"{path.split('.')[-2]}.attach(…)", "attached job"))
        return state.unknown(node, Reason.RESULT)
    if last in {"Run", "load_run"} and path.startswith("sagemaker.experiments"):
        return Instance(
            "Run", dict(zip(("experiment_name", "run_name"), given, strict=False)) | names, state.place(node)
        )
    made = _of_sdk(state, node, function, given, names) if path.startswith("sagemaker") else None
    if made is not None:
        return made[0]
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


def _of_sdk(state: State, node: ast.expr, function: Ref, given: Arguments, names: Names) -> tuple[object] | None:
    """What a call of the SDK gives, in a tuple; None where nothing here knows it."""
    path, last = function.path, function.last
    if "jumpstart" in path or names.get("model_id") is not None or (last == "retrieve_default"):
        if last in estimators.SEEN:
            state.sightings.append(Sighting(state.place(node), f"{last}(…)", "JumpStart"))
        return (state.unknown(node, Reason.JUMPSTART),)
    if last in estimators.POSITIONAL and last in estimators.WRITTEN:
        return (_estimator(state, node, last, given, names),)
    if last in estimators.PARTS:
        arguments: dict[str, object] = dict(zip(estimators.PARTS[last], given, strict=False)) | names
        return (Instance("TrainingInput" if last == "s3_input" else last, arguments, state.place(node)),)
    if last in estimators.PIPELINE_PARAMETERS:
        return (_parameter(state, node, given, names),)
    if last in _SESSIONS:
        return (_session(last, given, names, state, node),)
    if last in {"get_execution_role", "get_execution_role_arn"}:
        return (given_symbol(state, Symbol.ROLE),)
    if last in {"get_default_bucket", "default_bucket"}:
        return (given_symbol(state, Symbol.BUCKET),)
    if last in estimators.SEEN:
        _sight(state, node, last, given, names)
        arguments = dict(zip(estimators.FIRST.get(last, ()), given, strict=False)) | names
        return (Instance(last, arguments, state.place(node)),)
    if last in {"retrieve", "get_image_uri"} and ("image_uris" in path or last == "get_image_uri"):
        return (images.retrieved(state, node, last, given, names),)
    if "workflow" in path.split("."):
        return (_of_pipeline(state, node, last, given, names),)
    return (_SDK.get(last, _other)(state, node, given, names),)


def _other(state: State, node: ast.expr, given: Arguments, names: Names) -> object:
    """Another function of the SDK: it may start an estimator that it is given."""
    for value in (*given, *names.values()):
        _handed(state, value, expression(node.func) if isinstance(node, ast.Call) else "another object")
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


def _session(last: str, given: Arguments, names: Names, state: State, node: ast.expr) -> Instance:
    """A session of either library; an explicit region and an explicit default bucket are what it answers."""
    arguments: dict[str, object] = {"kind": last}
    inner = names.get("boto_session", given[0] if given else None)
    region = names.get("region_name", inner.arguments.get("region_name") if isinstance(inner, Instance) else None)
    if region is not None:
        arguments |= {"region_name": region, "boto_region_name": region}
    if names.get("default_bucket") is not None:
        arguments["bucket"] = names["default_bucket"]
    if names.get("default_bucket_prefix") is not None:
        arguments["default_bucket_prefix"] = names["default_bucket_prefix"]
    return Instance("Session", arguments, state.place(node))


def _sight(state: State, node: ast.expr, last: str, given: Arguments, names: Names) -> None:
    state.sightings.append(Sighting(state.place(node), f"{last}(…)", estimators.SEEN[last]))
    for value in (*given, *names.values()):
        _handed(state, value, last)


def _handed(state: State, value: object, last: str) -> None:
    """An estimator in another object's arguments is started by that object."""
    if isinstance(value, Instance) and value.cls in estimators.WRITTEN:
        for site in reversed(state.sites):
            if site.place == value.place and site.fit is None:
                site.within = site.within or last
                site.arguments = dict(value.arguments)
                break


def _estimator(state: State, node: ast.expr, cls: str, given: Arguments, names: Names) -> Instance:
    positional = estimators.named(cls, given)
    old = {"image_uri": "image_name"} if any(name in estimators.RENAMED for name in names) else {}
    arguments, renamed = estimators.renamed({old.get(name, name): value for name, value in positional.items()} | names)
    if len(given) > len(estimators.POSITIONAL[cls]):
        arguments["…"] = state.unknown(node, Reason.CONSTRUCT, detail="more arguments than names")
    place = state.place(node)
    if (causes := unfollowed.doubts(state)) != []:
        arguments["…"] = unknown(causes, rest=True)
    if isinstance(arguments.get("hyperparameters"), dict):
        arguments["hyperparameters"] = _own_copy(cls, arguments["hyperparameters"])
    made = Instance(cls, arguments, place)
    turn = state.turns.get(place, 0)
    state.turns[place] = turn + 1
    made.arguments["__turn__"] = turn
    state.sites.append(Site(place, cls, dict(arguments), turn, tuple(state.conditions), renamed=renamed))
    return made


def _own_copy(cls: str, value: object) -> object:
    """Estimator copies the mapping it is given; the framework classes keep it, so that later changes of it count."""
    return dict(value) if cls == "Estimator" and isinstance(value, dict) else value


def fit(state: State, node: ast.expr, owner: Instance, given: Arguments, names: Names) -> None:
    """Note a call of ``fit``: the estimator as it is now, and how it is started."""
    called_with: dict[str, object] = dict(zip(estimators.FIT, given, strict=False)) | names
    if state.runs and called_with.get("experiment_config") is None:
        called_with["experiment_config"] = dict(state.runs[-1])
    arguments = {
        key: methods.STRUCTURAL["copy.deepcopy"]([value]) for key, value in owner.arguments.items() if key != "__turn__"
    }
    if (causes := [*causes_in(arguments.get("…")), *unfollowed.doubts(state)]) != []:
        arguments["…"] = unknown(causes, rest=True)
    inputs = methods.STRUCTURAL["copy.deepcopy"]([called_with.get("inputs")])
    started = Fit(state.place(node), {**called_with, "inputs": inputs})
    turn = owner.arguments.get("__turn__", 0)
    waiting = [site for site in state.sites if site.place == owner.place and site.turn == turn]
    if waiting and waiting[-1].fit is None:
        waiting[-1].fit, waiting[-1].arguments = started, arguments
        waiting[-1].conditions = tuple(state.conditions)
    else:
        renamed = waiting[-1].renamed if waiting else ()
        again = turn if isinstance(turn, int) else 0
        state.sites.append(
            Site(owner.place, owner.cls, arguments, again, tuple(state.conditions), started, renamed=renamed)
        )


def experiment_of(state: State, node: ast.expr, run: Instance) -> dict[str, object]:
    """What an open run of an experiment adds to a job. Source: sagemaker 2.257.7, experiments/run.py and _utils.py."""
    experiment, name = run.arguments.get("experiment_name"), run.arguments.get("run_name")
    first, second = parts_of(experiment), parts_of(name)
    if first is None or second is None:
        lost = state.unknown(node, Reason.CALL, detail="the experiment's run has no name here")
        return {"ExperimentName": experiment if first is not None else lost, "TrialName": lost, "RunName": lost}
    cause = state.cause(node, Reason.CALL)
    small = methods.of_text(text(first), "lower", [], {}, cause)
    run_name = methods.of_text(text((*first, "-", *second)), "lower", [], {}, cause)
    return {
        "ExperimentName": small,
        "TrialName": texts.joined("", ["Default-Run-Group-", small], cause),
        "RunName": run_name,
    }


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
        return methods.of_list(owner, name, given, cause)
    if isinstance(owner, dict):
        if name == "get" and given:
            given = [in_region(state, node, owner, given[0]), *given[1:]]
        return methods.of_mapping(owner, name, given, names, cause)
    if isinstance(owner, Instance):
        return _of_object(state, node, owner, name, given, names)
    if isinstance(owner, set) and name in {"add", "update", "discard"} and known(given):
        getattr(owner, name)(*given)
        return None
    return Unknown((cause,))


def _of_object(state: State, node: ast.expr, owner: Instance, name: str, given: Arguments, names: Names) -> object:
    if owner.cls in estimators.POSITIONAL:
        return _of_estimator(state, node, owner, name, given, names)
    if owner.cls == "path":
        return _path_method(state, node, owner, name, given)
    handler = _METHODS.get(owner.cls)
    if handler is not None:
        return handler(state, node, owner, name, given, names)
    if name == "fit" and owner.cls == "HyperparameterTuner":
        _tuned(state, node, owner, given, names)
        return None
    if name in estimators.SIGHTED_METHODS:
        state.sightings.append(Sighting(state.place(node), f"{owner.cls}.{name}(…)", estimators.SIGHTED_METHODS[name]))
    return state.unknown(node, Reason.CALL)


def _path_method(state: State, node: ast.expr, owner: Instance, name: str, given: Arguments) -> object:
    if name in {"resolve", "absolute"}:
        return Instance("path", {**owner.arguments, "absolute": True}, owner.place)
    if name == "expanduser":
        return owner
    if name in {"as_posix", "__str__"}:
        return owner.arguments["path"]
    if name == "joinpath":
        return Instance("path", {**owner.arguments, **_made_path(state, node, [owner, *given])}, owner.place)
    if name in {"mkdir", "touch", "unlink", "write_text"}:
        return None
    return state.unknown(node, Reason.CALL)


def _tuned(state: State, node: ast.expr, owner: Instance, given: Arguments, names: Names) -> None:
    """A tuner starts its estimator with the inputs of its own fit."""
    inner = owner.arguments.get("estimator")
    if isinstance(inner, Instance) and inner.cls in estimators.WRITTEN:
        started = Fit(
            state.place(node),
            {"inputs": methods.STRUCTURAL["copy.deepcopy"]([names.get("inputs", given[0] if given else None)])},
        )
        for site in reversed(state.sites):
            if site.place == inner.place and site.fit is None:
                site.fit, site.within = started, "HyperparameterTuner"
                break


def _of_estimator(state: State, node: ast.expr, owner: Instance, name: str, given: Arguments, names: Names) -> object:
    if name == "fit":
        fit(state, node, owner, given, names)
        return None
    if name == "set_hyperparameters":
        held = owner.arguments.setdefault("hyperparameters", {})
        if isinstance(held, dict):
            held.update({key: _encoded(value) for key, value in names.items()} if _encodes(owner) else names)
        follow(state, owner)
        return None
    if name == "hyperparameters":
        return owner.arguments.get("hyperparameters", {})
    if name in estimators.SIGHTED_METHODS:
        state.sightings.append(Sighting(state.place(node), f"{owner.cls}.{name}(…)", estimators.SIGHTED_METHODS[name]))
    return state.unknown(node, Reason.RESULT)


def _encodes(owner: Instance) -> bool:
    """The framework classes encode what ``set_hyperparameters`` is given, and encode it again when the job is started."""
    return owner.cls not in {"Estimator", "AlgorithmEstimator"}


def _encoded(value: object) -> object:
    if known(value):
        return json.dumps(value)
    parts = parts_of(value)
    return text(('"', *parts, '"')) if parts is not None else value


def follow(state: State, owner: Instance) -> None:
    """Keep a site that is not started yet as its estimator is now."""
    for site in state.sites:
        if site.place == owner.place and site.turn == owner.arguments.get("__turn__") and site.fit is None:
            site.arguments = {key: value for key, value in owner.arguments.items() if key != "__turn__"}


def _of_session(state: State, node: ast.expr, owner: Instance, name: str, given: Arguments, names: Names) -> object:
    if name == "default_bucket":
        return given_symbol(state, owner.arguments.get("bucket", Symbol.BUCKET))
    if name == "upload_data":
        return _uploaded(state, node, owner, given, names)
    if name in {"client", "resource"}:
        return Instance("client", {"service": given[0] if given else names.get("service_name")}, state.place(node))
    if name == "account_id":
        return given_symbol(state, Symbol.ACCOUNT)
    if name == "get_caller_identity_arn":
        return given_symbol(state, Symbol.ROLE)
    if name == "get_credentials":
        return state.unknown(node, Reason.CALL)
    return state.unknown(node, Reason.CALL)


def _uploaded(state: State, node: ast.expr, owner: Instance, given: Arguments, names: Names) -> object:
    """The URI of an upload: a file's name follows the prefix, a folder's does not. What is absent is judged by its suffix."""
    values = dict(zip(("path", "bucket", "key_prefix"), given, strict=False)) | names
    bucket = values.get("bucket") or owner.arguments.get("bucket", Symbol.BUCKET)
    prefix = values.get("key_prefix", "data")
    path = values.get("path")
    cause = state.cause(node, Reason.CONSTRUCT)
    if isinstance(path, Instance) and path.cls == "path":
        path = path.arguments["path"]
    if isinstance(path, Unknown) or path is None:
        return unknown(causes_in(path)) if path is not None else Unknown((cause,))
    last = _last(path)
    if last is None:
        return unknown(causes_in(path)) if next(causes_in(path), None) else Unknown((cause,))
    is_file = "." in last.strip(".")
    if is_file or not str(path).endswith("/"):
        state.assumed[state.place(node), f"{last!r} is a {'file' if is_file else 'folder'}, judged by its name"] = None
    pieces = [
        "s3://",
        given_symbol(state, bucket) if isinstance(bucket, Symbol) else bucket,
        "/",
        *([prefix] if prefix else []),
    ]
    if is_file:
        pieces += ["/", last] if prefix else [last]
    found: list[str | Symbol | Unknown] = []
    for piece in pieces:
        parts = (piece,) if isinstance(piece, (Symbol, Unknown)) else parts_of(piece)
        found += parts if parts is not None else (Unknown((cause,)),)
    return text(found)


def _last(path: object) -> str | None:
    parts = parts_of(path)
    if not parts or not isinstance(parts[-1], str) or any(isinstance(part, Unknown) for part in parts):
        return None
    return parts[-1].rstrip("/").rpartition("/")[2]


def _of_client(state: State, node: ast.expr, owner: Instance, name: str, given: Arguments, names: Names) -> object:
    service = owner.arguments.get("service")
    if name == "get_caller_identity":
        return {"Account": given_symbol(state, Symbol.ACCOUNT), "Arn": given_symbol(state, Symbol.ROLE)}
    if name in {"get_role", "create_role"} and service == "iam":
        return {"Role": {"Arn": given_symbol(state, Symbol.ROLE)}}
    if name == "create_training_job":
        request: dict[str, object] = dict(names)
        if (causes := unfollowed.doubts(state)) != []:
            request["…"] = unknown(causes, rest=True)
        site = Site(
            state.place(node), "create_training_job", {}, 0, tuple(state.conditions), Fit(state.place(node), {})
        )
        site.request = {key: methods.STRUCTURAL["copy.deepcopy"]([value]) for key, value in request.items()}
        state.sites.append(site)
        return {}
    if isinstance(service, str) and service == "sagemaker" and name.startswith("create_"):
        state.sightings.append(Sighting(state.place(node), f"boto3 {name}(…)", "call of boto3"))
        return {}
    if name in {
        "upload_file",
        "put_object",
        "upload_fileobj",
        "download_file",
        "copy_object",
        "create_bucket",
        "head_bucket",
    }:
        return None
    if name in {"Bucket", "Object", "meta"}:
        return Instance("client", {"service": "s3 object", "name": given[0] if given else None}, state.place(node))
    return state.unknown(node, Reason.CALL)


def _of_environment(state: State, node: ast.expr, owner: Instance, name: str, given: Arguments, names: Names) -> object:
    del owner
    key = given[0] if given else names.get("key")
    if name in {"get", "getitem", "setdefault", "pop"} and isinstance(key, str):
        own = unfollowed.environment(state)
        if key in own:
            return own[key]
        if key in {"AWS_REGION", "AWS_DEFAULT_REGION"}:
            return given_symbol(state, Symbol.REGION)
        if key in state.settings:
            return state.settings[key]
        if len(given) > 1 or "default" in names:
            default = given[1] if len(given) > 1 else names["default"]
            if name == "setdefault":
                own[key] = default
            state.assumed[state.place(node), f"the environment has no {key}"] = None
            return default
        return state.unknown(node, Reason.CALL, give=key, detail=f"variable {key} of the environment")
    if name == "update":
        unfollowed.environment(state).update(
            {str(name): value for item in given if isinstance(item, dict) for name, value in item.items()}
        )
        unfollowed.environment(state).update(names)
        return None
    return state.unknown(node, Reason.CALL)


def _of_parser(state: State, node: ast.expr, owner: Instance, name: str, given: Arguments, names: Names) -> object:
    if name == "add_argument":
        flags = [flag for flag in given if isinstance(flag, str)]
        long = next((flag for flag in flags if flag.startswith("--")), flags[0] if flags else "")
        target = names.get("dest") or long.lstrip("-").replace("-", "_")
        if isinstance(target, str) and target:
            owner.arguments[target] = _default(state, node, target, names, required=not long.startswith("-"))
        return None
    if name in {"parse_args", "parse_known_args"}:
        made = Instance(
            "namespace", {key: value for key, value in owner.arguments.items() if key != "kind"}, state.place(node)
        )
        return (made, []) if name == "parse_known_args" else made
    return owner


def _default(state: State, node: ast.expr, target: str, names: Names, *, required: bool) -> object:
    if target in state.settings:
        return state.settings[target]
    if names.get("action") in {"store_true", "store_false"}:
        value: object = names.get("default", names["action"] == "store_false")
    elif "default" in names and not required:
        value = names["default"]
        if names.get("type") == Ref("int") and isinstance(value, str) and value.isdigit():
            value = int(value)
    elif required or names.get("required") is True:
        return state.unknown(node, Reason.CALL, give=target, detail="an argument of the command line")
    else:
        value = None
    state.assumed[
        state.place(node),
        f"--{target.replace('_', '-')} is left at its default {value!r}"
        if known(value)
        else f"--{target} is left at its default",
    ] = None
    return value


def _of_uploader(state: State, node: ast.expr, owner: Instance, name: str, given: Arguments, names: Names) -> object:
    del owner, name
    return _s3_uploaded(state, node, given, names)


_METHODS: Final[Mapping[str, Callable[[State, ast.expr, Instance, str, Arguments, Names], object]]] = MappingProxyType(
    {
        "Session": _of_session,
        "client": _of_client,
        "os.environ": _of_environment,
        "parser": _of_parser,
    }
)


def _s3_uploaded(state: State, node: ast.expr, given: Arguments, names: Names) -> object:
    """``S3Uploader.upload(local_path, desired_s3_uri)``: a file's name follows the URI."""
    values = dict(zip(("local_path", "desired_s3_uri"), given, strict=False)) | names
    last, target = _last(values.get("local_path")), values.get("desired_s3_uri")
    parts = parts_of(target)
    if last is None or parts is None:
        return unknown([*causes_in(list(values.values()))] or [state.cause(node, Reason.CALL)])
    is_file = "." in last.strip(".")
    state.assumed[state.place(node), f"{last!r} is a {'file' if is_file else 'folder'}, judged by its name"] = None
    return methods.s3_joined([target, last], state.cause(node, Reason.CALL)) if is_file else target


def _base_named(state: State, node: ast.expr, given: Arguments, names: Names) -> object:
    """``name_from_base``: the base and a time stamp."""
    base = parts_of(given[0] if given else names.get("base"))
    return text((*base, "-", Symbol.TIME)) if base is not None else state.unknown(node, Reason.CALL)


def _joined_s3(state: State, node: ast.expr, given: Arguments, names: Names) -> object:
    del names
    return methods.s3_joined(given, state.cause(node, Reason.CALL))


def _rule(state: State, node: ast.expr, given: Arguments, names: Names) -> object:
    del given
    return Instance("Rule", dict(names), state.place(node))


_SDK: Final[Mapping[str, Callable[[State, ast.expr, Arguments, Names], object]]] = MappingProxyType(
    {
        "name_from_base": _base_named,
        "unique_name_from_base": _base_named,
        "s3_path_join": _joined_s3,
        "upload": _s3_uploaded,
        "sagemaker": _rule,
        "custom": _rule,
    }
)


def _boto_session(state: State, node: ast.expr, given: Arguments, names: Names) -> object:
    return _session("boto3", [], {**names, **({"region_name": given[3]} if len(given) > 3 else {})}, state, node)


def _client(state: State, node: ast.expr, given: Arguments, names: Names) -> object:
    return Instance("client", {"service": given[0] if given else names.get("service_name")}, state.place(node))


def _text(state: State, node: ast.expr, given: Arguments, names: Names) -> object:
    del names
    value = given[0] if given else ""
    if isinstance(value, Instance) and value.cls == "path":
        return value.arguments["path"]
    parts = (value,) if isinstance(value, (Symbol, Unknown)) else parts_of(value)
    if parts is not None:
        return text(parts)
    return str(value) if known(value) else unknown([*causes_in(value)] or [state.cause(node, Reason.CALL)])


def _path_joined(state: State, node: ast.expr, given: Arguments, names: Names) -> object:
    del names
    return methods.joined_path(
        [item.arguments["path"] if isinstance(item, Instance) and item.cls == "path" else item for item in given],
        state.cause(node, Reason.CALL),
    )


def _path(state: State, node: ast.expr, given: Arguments, names: Names) -> object:
    del names
    own: dict[str, object] = {"absolute": True} if _from_here(node) else {}
    return Instance("path", {**own, **_made_path(state, node, given)}, state.place(node))


def _made_path(state: State, node: ast.expr, given: Arguments) -> dict[str, object]:
    return {"path": methods.pure_path(_path_joined(state, node, given, {})) if given else "."}


def _folder_of(state: State, node: ast.expr, given: Arguments, names: Names) -> object:
    """``os.path.dirname``; of the launcher's own place it is the launcher's folder, and folders above that."""
    path = given[0] if len(given) == 1 else None
    if isinstance(path, str) and _from_here(node):
        return _parent(path, absolute=True)
    return methods.computed("os.path.dirname", given, names, state.cause(node, Reason.CALL))


def _same_path(state: State, node: ast.expr, given: Arguments, names: Names) -> object:
    del names
    return given[0] if given else state.unknown(node, Reason.CALL)


def _here(state: State, node: ast.expr, given: Arguments, names: Names) -> object:
    del state, node, given, names
    return "."


def _parser(state: State, node: ast.expr, given: Arguments, names: Names) -> object:
    del given, names
    return Instance("parser", {}, state.place(node))


def _environment(state: State, node: ast.expr, given: Arguments, names: Names) -> object:
    return _of_environment(state, node, Instance("os.environ", {}, state.place(node)), "get", given, names)


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
        "boto3.Session": _boto_session,
        "boto3.session.Session": _boto_session,
        "boto3.client": _client,
        "boto3.resource": _client,
        "str": _text,
        "os.path.join": _path_joined,
        "posixpath.join": _path_joined,
        "pathlib.Path": _path,
        "pathlib.PurePath": _path,
        "pathlib.PurePosixPath": _path,
        "os.path.dirname": _folder_of,
        "os.path.abspath": _same_path,
        "os.path.realpath": _same_path,
        "os.path.expanduser": _same_path,
        "os.getcwd": _here,
        "argparse.ArgumentParser": _parser,
        "os.getenv": _environment,
        "os.environ.get": _environment,
        "isinstance": _is_instance,
        "getattr": _get_attribute,
    }
)
