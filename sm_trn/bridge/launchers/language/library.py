"""What the launcher calls that is not its own: Python's functions that compute alone are Python's, files beside it are read where the
path is certain, and of everything else nobody knows what it gives.
"""

from __future__ import annotations

import argparse
import ast
import collections
import configparser
import copy
import functools
import io
import json
import operator
import posixpath
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from types import MappingProxyType, SimpleNamespace
from typing import Any, Final

import yaml

from ..values import Asked, Moment, Needs, Node, Raised, Reason, Ref, Symbol, Unknown, Unresolvable
from . import allowed
from .allowed import STANDS, QuietParser
from .estimators import ESTIMATORS
from .functions import READS
from .heap import reachable

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# Modules of one name under different paths, and classes of which the pure one is taken.
_SAME: Final[Mapping[str, str]] = MappingProxyType(
    {
        "os.path": "posixpath",
        "pathlib.Path": "pathlib.PurePosixPath",
        "pathlib.PosixPath": "pathlib.PurePosixPath",
        "pathlib.PurePath": "pathlib.PurePosixPath",
    }
)
_SDK: Final = frozenset({"sagemaker", "boto3", "botocore", "sagemaker_training"})
CLOCK: Final = frozenset({"now", "utcnow", "today"})
STANDARD: Final = sys.stdlib_module_names
_TIMES: Final = frozenset({
    "time.time", "time.strftime", "time.gmtime", "time.localtime", "time.time_ns", "time.ctime", "time.asctime", "time.monotonic",
    "datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today", "datetime.date.today", "uuid.uuid4", "uuid.uuid1",
    "datetime.now", "time.perf_counter", "secrets.token_hex", "datetime.datetime.strftime",
})  # fmt: skip
ORDERLESS: Final = frozenset({len, sorted, sum, min, max, any, all, set, frozenset, bool, isinstance, set.add})

# Methods that move values without looking at them.
MOVES: Final[Mapping[type, frozenset[str]]] = MappingProxyType(
    {
        list: frozenset({"append", "extend", "insert", "pop", "copy", "reverse", "clear", "__len__", "__iter__"}),
        dict: frozenset(
            {"get", "pop", "setdefault", "update", "copy", "items", "keys", "values", "clear", "popitem", "__len__"}
        ),
        tuple: frozenset({"__len__", "__iter__"}),
    }
)
MOVING: Final = frozenset({
    list, tuple, dict, zip, enumerate, reversed, iter, next, len, map, filter, range, copy.copy, copy.deepcopy, property, staticmethod,
    classmethod, SimpleNamespace, collections.OrderedDict, collections.defaultdict, collections.namedtuple,
    slice, sorted, any, all, functools.partial, object,
})  # fmt: skip


class SourcePath(PurePosixPath):
    """A path of the launcher: what asks the file system is not known."""


_KEEP_MARKS: Final = frozenset({
    json.dumps, posixpath.join, posixpath.basename, posixpath.dirname, posixpath.split, str, list, tuple, dict, abs,
    posixpath.normpath, operator.add, SourcePath,
})  # fmt: skip
_SIZED: Final = frozenset(
    {"ljust", "rjust", "center", "zfill", "expandtabs", "replace", "bytes", "bytearray", "lcm", "pow", "to_bytes", "translate"}
)  # fmt: skip


# A line of a file of variables that every reader of such files reads alike.
_VARIABLE: Final = re.compile(
    r"""\s*(#.*|((export\s+)?(?P<name>\w+)\s*=\s*((?P<value>[^\s'"#$\\]*)|(?P<mark>['"])(?P<quoted>[^'"$\\]*)(?P=mark))\s*)?)"""
)


def found(state: Any, node: ast.AST, path: str) -> Any:
    """What a dotted path of somebody else's module is."""
    path = next(
        (path.replace(old, new, 1) for old, new in _SAME.items() if path == old or path.startswith(f"{old}.")), path
    )
    if path.startswith("pathlib.PurePosixPath."):
        return Ref(path, state.place(node))
    first = path.partition(".")[0]
    if first in _SDK:
        return Node(path, state.place(node))
    if path in {"pathlib.PurePosixPath", "pathlib.PurePath"}:
        return SourcePath
    if path == "os.environ":
        return state.environment
    if path in {"os.sep", "os.path.sep"}:
        return "/"
    if path in SPECIAL_PATHS:
        return SPECIAL_PATHS[path]
    if path in FUNCTIONS or path in _TIMES:
        return Ref(path, state.place(node))
    module, _, name = path.rpartition(".")
    if module == "typing" and name == "TYPE_CHECKING":
        return False
    held = allowed.of_module(module, name)
    return held if held is not None else Ref(path, state.place(node))


def keeps_marks(function: Any) -> bool:
    """Whether Python's function keeps placeholders in texts as they are."""
    try:
        owner = getattr(function, "__self__", None)
        return function in _KEEP_MARKS or isinstance(
            owner, (PurePosixPath, argparse._ActionsContainer, argparse.Namespace)
        )
    except TypeError:
        return False


def looked_at(owner: Any, name: str, names: Mapping[str, Any]) -> list[Any]:
    """The arguments by name that Python's function computes with: argparse hands on a default that is no text as it is."""
    kind = names.get("type")
    untouched = (
        isinstance(owner, argparse._ActionsContainer) and name == "add_argument" and (kind is None or kind is str)
    )
    return [value for word, value in names.items() if not (untouched and word == "default")]


def affordable(state: Any, node: ast.AST, function: Any, given: list[Any], names: Mapping[str, Any]) -> None:
    """Raises Needs for a call that may take long or give something large."""
    name = getattr(function, "__name__", "")
    large = name in _SIZED and any(isinstance(each, int) and abs(each) > 10_000 for each in (*given, *names.values()))
    large |= name in _SIZED and sum(len(each) for each in given if hasattr(each, "__len__")) > 10_000
    large |= any(isinstance(each, range) and len(each) > 20_000 for each in given)
    large |= name in {"format", "strftime", "__format__"} and any(
        isinstance(each, str) and re.search(r"\d{5,}", each) for each in given
    )
    large |= name == "split" and bool(given) and given[0] is None
    large |= function is range and any(isinstance(each, int) and abs(each) > 10**12 for each in given)
    if large:
        raise Needs((state.cause(node, Reason.CONSTRUCT, detail="it may take long, or give something large"),))


def variable(state: Any, node: ast.AST, given: list[Any], names: Mapping[str, Any], *, required: bool = False) -> Any:
    """A variable of the environment: what the launcher has set, what the user gives, the default that is written there."""
    key = given[0] if given else names.get("key")
    if not isinstance(key, str) or state.marks.within(key):
        return state.unknown(node, Reason.CALL)
    if key in state.given and id(state.environment) in state.lost:
        return state.given.text(key)
    if id(state.environment) in state.lost:
        return state.lacking(*state.lost[id(state.environment)][1].causes)
    if key in state.environment.known:
        return state.settled(key, state.environment.known[key])
    if key in {"AWS_REGION", "AWS_DEFAULT_REGION"}:
        return state.symbol(Symbol.REGION)
    if key in state.given:
        return state.given.text(key)
    if not required and (len(given) > 1 or "default" in names):
        default = given[1] if len(given) > 1 else names["default"]
        state.assume(node, f"the environment has no {key}")
        return default
    return state.asked_of_user(node, give=key, detail=f"variable {key} of the environment")


def _set_default(state: Any, node: ast.AST, given: list[Any], names: dict[str, Any]) -> Any:
    value = variable(state, node, given, names)
    state.set_item(node, state.environment, given[0], value)
    return value


def environment_method(state: Any, node: ast.AST, name: str, given: list[Any], names: dict[str, Any]) -> Any:
    """A method of ``os.environ``."""
    if name == "get":
        return variable(state, node, given, names)
    if name == "setdefault":
        return _set_default(state, node, given, names)
    if name == "update" and not any(isinstance(state.resolved(each), Unresolvable) for each in given):
        for key, value in state.python(dict, *given, **names).items():
            state.set_item(node, state.environment, key, value)
        return None
    if name not in READS:
        state.lose(state.environment, [state.cause(node, Reason.CALL)])
    return state.unknown(node, Reason.CALL)


def _moment(state: Any, node: ast.AST, given: list[Any], names: dict[str, Any]) -> Any:
    del given, names
    return Moment((state.cause(node, Reason.PLACEHOLDER),))


def path_method(state: Any, node: ast.AST, path: SourcePath, name: str, given: list[Any], names: dict[str, Any]) -> Any:
    """A method of a path that PurePosixPath has not, or NotImplemented."""
    if name in {"resolve", "absolute", "expanduser"}:
        if name == "expanduser" and not str(path).startswith("/"):
            return state.unknown(node, Reason.CALL)
        whole = _whole(state, node, [path], {})
        return SourcePath(whole) if isinstance(whole, (str, PurePosixPath)) else whole
    if name == "open":
        return opened(state, node, [path, *given], names)
    if name in {"read_text", "read_bytes"}:
        text = _beside(state, path) if _as_utf8(given[:1], names) else None
        return text if text is not None and name == "read_text" else state.unknown(node, Reason.CALL, origin="pathlib")
    if name in _WRITING_METHODS:
        may_write(state, [path, *given])
    return NotImplemented if hasattr(PurePosixPath, name) else state.unknown(node, Reason.CALL, origin="pathlib")


def _asked(name: str) -> Callable[..., Any]:
    def ask(self: SourcePath, *given: Any, **names: Any) -> Any:
        raise NotImplementedError(name)  # `path_method` answers

    ask.__name__ = name
    return ask


for _name in (
    "resolve", "absolute", "expanduser", "open", "read_text", "read_bytes", "exists", "is_file", "is_dir", "mkdir", "iterdir", "glob",
    "rglob",
    "stat", "unlink", "write_text", "write_bytes", "touch", "rename", "rmdir", "samefile",
):  # fmt: skip
    setattr(SourcePath, _name, _asked(_name))


_WRITING_METHODS: Final = frozenset(
    {"write_text", "write_bytes", "touch", "unlink", "rename", "replace", "rmdir", "symlink_to", "hardlink_to"}
)
# Calls that change files.
WRITING_CALLS: Final = frozenset({
    "shutil", "subprocess", "os.rename", "os.renames", "os.replace", "os.remove", "os.unlink", "os.link", "os.symlink", "os.system",
    "os.popen", "os.truncate",
})  # fmt: skip


def _whole(state: Any, node: ast.AST, given: list[Any], names: dict[str, Any]) -> Any:
    """A path that is made whole."""
    del names
    value = given[0] if given else None
    if not isinstance(value, (str, PurePosixPath)):
        return state.unknown(node, Reason.CALL)
    if str(value).startswith("/"):
        return value
    here = _working_folder(state, node, [], {})
    return posixpath.normpath(posixpath.join(here, value)) if isinstance(here, str) else here


def _working_folder(state: Any, node: ast.AST, given: list[Any], names: dict[str, Any]) -> Any:
    """The folder in which the launcher is started, where that is its own."""
    del given, names
    if not state.settings.started_at_home or state.moves:
        return state.unknown(node, Reason.CALL)
    state.assume(node, "the launcher is started in its own folder")
    return state.folder


def _working_path(state: Any, node: ast.AST, given: list[Any], names: dict[str, Any]) -> Any:
    here = _working_folder(state, node, given, names)
    return SourcePath(here) if isinstance(here, str) else here


def opened(state: Any, node: ast.AST, given: list[Any], names: dict[str, Any]) -> Any:
    """``open``: a file that lies beside the launcher, where the path is certain and nothing here writes it."""
    path = state.resolved(given[0] if given else names.get("file"))
    mode = given[1] if len(given) > 1 else names.get("mode", "r")
    text = _beside(state, path) if _as_utf8(given[3:4], names) else None
    if mode not in {"r", "rt", "rb"}:
        state.written_files.add(posixpath.normpath(str(path)) if isinstance(path, (str, PurePosixPath)) else "*")
        return state.unknown(node, Reason.CALL, origin="builtins.open")
    if text is None:
        state.risks += 1
        causes = state.missing(path, marked=True) or [
            state.cause(node, Reason.CALL)
        ]  # of a path that is not known, that
        return Unknown(causes, "builtins.open")
    state.assume(node, f"{posixpath.basename(str(path))} is read as it lies here")
    return io.BytesIO(text.encode()) if mode == "rb" else io.StringIO(text)


def _beside(state: Any, path: Any) -> str | None:
    """The text of a file beside the launcher; None where there is none, or where it is not certain which one is meant."""
    if not isinstance(path, (str, PurePosixPath)):
        return None
    name = state.without_folder(str(path))
    if (
        name is None
        or state.moves
        or name.startswith("/")
        or {posixpath.normpath(str(path)), posixpath.normpath(name), "*"} & state.written_files
    ):
        return None
    texts = set()
    for folder in state.settings.folders:
        place = folder / name
        try:
            if place.is_file() and place.stat().st_size < 1_000_000:
                texts.add(place.read_bytes())
        except (OSError, ValueError):
            return None
    try:
        text = texts.pop().decode() if len(texts) == 1 else "\r"
    except UnicodeDecodeError:
        return None
    return text if "\r" not in text else None  # ends of lines, which depend on how a file is opened


def _as_utf8(encoding: Sequence[Any], names: Mapping[str, Any]) -> bool:
    """Whether a file is decoded as it is here."""
    said = [*encoding, names.get("encoding"), names.get("errors")]
    return all(not isinstance(each, Unresolvable) and each in {None, "utf-8", "utf8", "UTF-8"} for each in said)


def may_write(state: Any, values: Iterable[Any]) -> None:
    """Files that something may write, move or remove: each that a text names, or any where one is not known."""
    for value in values:
        for item in (value,) if isinstance(value, (str, PurePosixPath, Unresolvable)) else reachable(value):
            if isinstance(item, (str, PurePosixPath)):
                state.written_files.update(map(posixpath.normpath, (str(item), *str(item).split())))
            elif isinstance(item, Unresolvable):
                state.written_files.add("*")


def _loaded(parse: Callable[[str], Any]) -> Callable[..., Any]:
    """A function that reads a file or a text in a format."""

    def load(state: Any, node: ast.AST, given: list[Any], names: dict[str, Any]) -> Any:
        how = [*given[1:], *names.values()]
        if any(not isinstance(each, Ref) or each.last == "BaseLoader" for each in how):
            return state.unknown(node, Reason.CALL)
        source = state.resolved(given[0]) if given else None
        if isinstance(source, Unresolvable):
            return state.lacking_of(source) if isinstance(source, Unknown) else state.unknown(node, Reason.CALL)
        text = source.read() if isinstance(source, (io.StringIO, io.BytesIO)) else source
        text = text.decode() if isinstance(text, bytes) else text
        if not isinstance(text, str) or state.marks.within(text):
            return state.unknown(node, Reason.CALL)
        try:
            return parse(text)
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            raise Raised(ValueError(str(error))) from None

    return load


def configured(
    state: Any, node: ast.AST, parser: configparser.RawConfigParser, given: list[Any], names: dict[str, Any]
) -> Any:
    """``read`` of a parser of settings: a file that lies beside the launcher."""
    text = _beside(state, state.resolved(given[0])) if len(given) == 1 and not names else None
    if text is None:
        state.lose(parser, [state.cause(node, Reason.CALL)])
        return state.unknown(node, Reason.CALL)
    state.python(parser.read_string, text)
    return [str(given[0])]


def _dotenv(state: Any, node: ast.AST, given: list[Any], names: dict[str, Any]) -> Any:
    """``load_dotenv``: the variables of the file beside the launcher."""
    del names
    text = _beside(state, given[0] if given else ".env")
    if text is None:
        state.assume(node, "there is no file of variables beside the launcher")
        return True
    for number, line in enumerate(text.splitlines(), 1):
        if (row := _VARIABLE.fullmatch(line)) is None:
            why = f"not a name and a plain value: .env, line {number}"
            state.taint(state.cause(node, Reason.CALL, detail=why))
            break
        if row["name"]:
            state.environment.known.setdefault(row["name"], row["value"] or row["quoted"] or "")
    return True


def _of_machine(name: str) -> Callable[..., Any]:
    """A function that gives a text which the user's machine has."""

    def ask(state: Any, node: ast.AST, given: list[Any], names: dict[str, Any]) -> Any:
        if name in state.given:
            return state.given.text(name)
        return state.asked_of_user(node, give=name, detail="")

    return ask


FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = MappingProxyType(
    {
        **dict.fromkeys(_TIMES, _moment),
        "posixpath.abspath": _whole, "posixpath.realpath": _whole,
        "os.getenv": variable, "os.getcwd": _working_folder, "pathlib.PurePosixPath.cwd": _working_path,
        "json.load": _loaded(json.loads), "yaml.safe_load": _loaded(yaml.safe_load), "yaml.load": _loaded(yaml.safe_load),
        "tomllib.load": _loaded(tomllib.loads),
        "dotenv.load_dotenv": _dotenv,
        "huggingface_hub.HfFolder.get_token": _of_machine("HF_TOKEN"), "huggingface_hub.get_token": _of_machine("HF_TOKEN"),
        "getpass.getuser": _of_machine("user"), "getpass.getpass": _of_machine(""),
    }
)  # fmt: skip


def parsed(
    state: Any, node: ast.AST, parser: argparse.ArgumentParser, name: str, given: list[Any], names: dict[str, Any]
) -> Any:
    """``parse_args`` without a list: the defaults, with what the user gives; what a command line has to say is unknown."""
    if given or names.get("args") is not None:
        return state.python(getattr(parser, name), *given, **names)
    if state.rewords:
        return state.unknown(node, Reason.CALL, detail="the launcher changes its command line")
    actions = [action for action in parser._actions if action.dest != argparse.SUPPRESS]
    needed = [action for action in actions if action.required]
    for action in needed:
        action.required = False
    values = state.python(parser.parse_known_args, [])[0]
    for action in needed:
        action.required = True
        if action.dest not in state.given:
            asked = state.asked_of_user if _is_text(action) else functools.partial(state.unknown, reason=Reason.CALL)
            setattr(values, action.dest, asked(node, give=action.dest, detail="an argument of the command line"))
    for action in actions:
        if action.dest in state.given:
            setattr(values, action.dest, _argument(state, action))
        elif action not in needed and not isinstance(action, argparse._HelpAction):
            default = getattr(values, action.dest, None)
            if not state.missing(default):
                state.assume(node, f"--{action.dest.replace('_', '-')} is left at its default {default!r}")
    if any(isinstance(action, argparse._SubParsersAction) for action in actions):
        return state.unknown(node, Reason.CALL, detail="a command of the command line")
    return (values, []) if name == "parse_known_args" else values


def _argument(state: Any, action: argparse.Action) -> Any:
    """What the parser makes of a value that the user gives: on a command line it is a text."""
    value = state.given[action.dest]
    one = isinstance(action, argparse._StoreAction) and action.nargs is None
    written = isinstance(value, str) or action.dest in state.given.texts
    if not one or (not written and action.type not in {None, str}):
        return value
    return state.python(action.type or str, state.given.text(action.dest))


def _is_text(action: argparse.Action) -> bool:
    """Whether an argument is one text, whatever that is."""
    return (
        isinstance(action, argparse._StoreAction)
        and action.nargs is action.choices is None
        and action.type in {None, str}
    )


def _ignored(state: Any, node: ast.AST, given: list[Any], names: dict[str, Any]) -> Any:
    del state, node, given, names


def _is_instance(state: Any, node: ast.AST, given: list[Any], names: dict[str, Any]) -> Any:
    if len(given) != 2:
        raise Raised(TypeError("isinstance expected 2 arguments"))
    value, kinds = state.resolved(given[0]), given[1]
    if isinstance(value, Unresolvable) or state.missing(kinds) or id(value) in state.lost:
        return state.lacking(
            *(state.missing(value, marked=True) or state.missing(kinds) or (state.cause(node, Reason.CALL),))
        )
    return state.python(isinstance, value, kinds)


def _changing(state: Any, node: ast.AST, given: list[Any], names: dict[str, Any]) -> Any:
    """``setattr``, ``delattr`` and ``next``: whatever they are given may be another one now."""
    cause = state.cause(node, Reason.CONSTRUCT)
    for value in (*given, *names.values()):
        state.may_run(value, [cause])
        state.reach(value, [cause])
        state.lose_all(value, [cause])
    return state.lacking(cause)


def _text(state: Any, node: ast.AST, given: list[Any], names: dict[str, Any]) -> Any:
    if not given:
        return ""
    value = state.resolved(given[0])
    if isinstance(value, Unresolvable):
        return value if isinstance(value, Moment) else state.lacking(*value.causes)
    if type(value) is str:
        return value
    if lacking := state.missing(value, *given[1:], marked=True):
        raise Needs(lacking)
    return state.python(str, value, *given[1:], **names)


def _length(state: Any, node: ast.AST, given: list[Any], names: dict[str, Any]) -> Any:
    value = state.resolved(given[0])
    if (
        isinstance(value, Unresolvable)
        or (isinstance(value, str) and state.marks.within(value))
        or id(value) in state.lost
    ):
        return state.lacking(*(state.missing(value) or (state.cause(node, Reason.CALL),)))
    return state.python(len, value)


def _variables(state: Any, node: ast.AST, given: list[Any], names: dict[str, Any]) -> Any:
    """``vars`` of an object; those of a module, like ``globals`` and ``locals``, may be given any name."""
    del names
    owner = given[0] if given else None
    if isinstance(owner, Unresolvable):
        return state.lacking(*owner.causes)
    if isinstance(owner, (argparse.Namespace, SimpleNamespace)):
        held = vars(owner)
        state.stores[id(held)] = owner
        state.keep.append(held)
        return held
    return _any_names(state, node, given, {})


ANY_NAME: Final = "the names of the program as a mapping, which may be written to"


def _any_names(state: Any, node: ast.AST, given: list[Any], names: dict[str, Any]) -> Any:
    del given, names
    cause = state.cause(node, Reason.DYNAMIC, detail=ANY_NAME)
    state.taint(cause)
    return Unknown((cause,))


def _unknown(state: Any, node: ast.AST, given: list[Any], names: dict[str, Any]) -> Any:
    return state.unknown(node, Reason.CALL)


def _code(name: str) -> Callable[..., Any]:
    def run(state: Any, node: ast.AST, given: list[Any], names: dict[str, Any]) -> Any:
        return state.run_text(node, name)

    return run


def _left(state: Any, node: ast.AST, given: list[Any], names: dict[str, Any]) -> Any:
    raise Raised(SystemExit(*given))


def _joined(state: Any, node: ast.AST, given: list[Any], names: dict[str, Any]) -> Any:
    """A path below a text that only the user knows is that text with what is joined to it."""
    below = [
        each
        for each in given[1:]
        if isinstance(each, str) and not each.startswith("/") and not state.marks.within(each)
    ]
    if isinstance(given[0], Asked) and len(below) == len(given) - 1 and not names:
        return posixpath.join(state.marks.mark(given[0]), *below)
    return state.plain_call(node, posixpath.join, given, names)


def _copied(copy_of: Callable[..., Any]) -> Callable[..., Any]:
    def copied(state: Any, node: ast.AST, given: list[Any], names: dict[str, Any]) -> Any:
        """A copy of an estimator is another one, of which the SDK was not asked."""
        if any(isinstance(item, Node) and item.last in ESTIMATORS for item in reachable(given[0])):
            return state.lacking(state.cause(node, Reason.CONSTRUCT, detail="a copy of an estimator"))
        return state.plain_call(node, copy_of, given, names)

    return copied


def _parser(state: Any, node: ast.AST, given: list[Any], names: dict[str, Any]) -> Any:
    if "fromfile_prefix_chars" in names or any(isinstance(each, Unresolvable) for each in names.values()):
        return state.unknown(node, Reason.CALL)
    return state.python(QuietParser, *given, **names)


SPECIAL: Final[Mapping[Any, Callable[..., Any]]] = MappingProxyType(
    {
        isinstance: _is_instance, issubclass: _unknown, type: _unknown, callable: _unknown, str: _text, len: _length,
        posixpath.join: _joined, copy.copy: _copied(copy.copy), copy.deepcopy: _copied(copy.deepcopy),
        next: _changing, super: _unknown, QuietParser: _parser,
        **{
            STANDS[name]: answer
            for name, answer in {
                "getattr": _unknown, "hasattr": _unknown, "setattr": _changing, "delattr": _changing, "globals": _any_names,
                "locals": _any_names, "vars": _variables, "dir": _unknown, "id": _unknown, "hash": _unknown, "input": _of_machine(""),
                "open": opened, "exec": _code("exec"), "eval": _code("eval"), "compile": _unknown, "__import__": _unknown, "exit": _left,
                "quit": _left, "memoryview": _unknown, "breakpoint": _ignored, "help": _ignored, "print": _ignored,
            }.items()
        },
    }
)  # fmt: skip
SPECIAL_PATHS: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "sys.exit": STANDS["exit"],
        "os._exit": STANDS["exit"],
        "importlib.import_module": STANDS["__import__"],
        "io.open": STANDS["open"],
    }
)
# The modules of which this package itself says what something gives.
ANSWERED: Final = frozenset(
    path.partition(".")[0]
    for path in (*allowed.MODULES, *FUNCTIONS, *_TIMES, *SPECIAL_PATHS, "os", "builtins", "pathlib")
) - {"sys"}
