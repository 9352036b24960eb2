"""What a script reads of its surroundings and the job does not give: channels, and hyperparameters in the environment."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..core.preflight import source
from ..core.specs.job import JobSpec
from ..core.specs.problems import Advice, Line, Problem, rules_of
from ..core.specs.value import suggestion
from .parsers import called, unconditional
from .sources import programs

_RULES = rules_of(__package__)
DATA007 = _RULES["DATA007"]
SCRIPT016 = _RULES["SCRIPT016"]

CHANNEL, HYPERPARAMETER = "SM_CHANNEL_", "SM_HP_"
_HYPERPARAMETERS = ("SM_HPS", "/opt/ml/input/config/hyperparameters.json")
_FOLDER = re.compile(r"/opt/ml/input/data/([A-Za-z0-9._-]{1,64})")
_GETS = frozenset({"get", "getenv"})
_USES = frozenset(
    {
        "join",
        "open",
        "read_csv",
        "load_from_disk",
        "Path",
        "listdir",
        "load",
        "read_parquet",
        "read_json",
        "ImageFolder",
    }
)


@dataclass(frozen=True, slots=True)
class Read:
    """A name that a program cannot do without, and where it reads it."""

    name: str
    file: str
    line: int


def channels(job: JobSpec) -> Iterator[Problem]:
    """DATA007: the variable and the folder of a channel exist only where the job has that channel."""
    there = {name.upper(): name for name in job.inputs}
    for read in dict.fromkeys(_needed(job)):
        name = read.name.removeprefix(CHANNEL)
        if (read.name.startswith(CHANNEL) or read.name.startswith("/")) and name.strip("/").upper() not in there:
            named = name.strip("/").lower()
            yield DATA007.problem(
                Line(read.file, read.line),
                f"the script reads the channel {named!r}, which the job does not have",
                got=", ".join(map(repr, job.inputs)) or "no inputs",
                wanted=f"a channel {named!r}",
                fix=Advice(f"add it to inputs, or correct the name{suggestion(named, there.values())}"),
            )


def variables(job: JobSpec) -> Iterator[Problem]:
    """SCRIPT016: SM_HPS and SM_HP_… hold the hyperparameters of the job, and no other."""
    sent = {name.upper().replace("-", "_") for name in job.arguments}
    for read in dict.fromkeys((*_needed(job), *_keys(job))):
        if read.name.startswith(HYPERPARAMETER) and read.name.removeprefix(HYPERPARAMETER).upper() not in sent:
            name = read.name.removeprefix(HYPERPARAMETER)
            yield SCRIPT016.problem(
                Line(read.file, read.line),
                f"the script needs the hyperparameter {name!r}, which the job does not send",
                got=", ".join(map(repr, job.hyperparameters)) or "no hyperparameters",
                wanted=repr(name),
                fix=Advice(f"add it, or correct the name{suggestion(name, job.hyperparameters)}"),
            )


def _needed(job: JobSpec) -> Iterator[Read]:
    """What the script's programs read and the job's own environment does not hold."""
    for file, text in programs(job):
        reads = _reads(text, runs=file == source.entry_name(job))
        yield from (Read(name, file, line) for name, line in reads if name not in job.environment)


@functools.lru_cache(maxsize=source.KEPT)
def _reads(text: str, *, runs: bool) -> tuple[tuple[str, int], ...]:
    """Variables that a program reads without a condition and without another value, and folders that it opens, with their lines."""
    tree = source.tree(text)
    set_here = {str(each.value) for each in _set(tree)}
    found: list[tuple[str, int]] = []
    for node in _running(tree, runs=runs):
        name = _variable(node)
        if name and name not in set_here:
            found.append((name, node.lineno))
        found += [(f"/{folder}", node.lineno) for folder in _folders(node)]
    return tuple(found)


def _running(tree: ast.Module, *, runs: bool = True) -> Iterator[ast.Call | ast.Subscript]:
    """Calls and subscripts under no condition, outside of functions that nobody in the file calls."""
    names = {called(node) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    idle = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and not node.decorator_list and node.name not in names
    ]
    inside = {id(each) for function in idle for each in ast.walk(function)}
    for node in unconditional(tree, runs=runs):
        if isinstance(node, (ast.Call, ast.Subscript)) and id(node) not in inside:
            yield node


def _set(tree: ast.Module) -> Iterator[ast.Constant]:
    """The names of variables that a program sets itself, or asks for first."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and isinstance(node.slice, ast.Constant):
            yield node.slice
        if (
            isinstance(node, ast.Call)
            and called(node) in {"setdefault", "putenv"}
            and node.args
            and isinstance(node.args[0], ast.Constant)
        ):
            yield node.args[0]
        if isinstance(node, ast.Compare) and isinstance(node.left, ast.Constant):
            yield node.left


def _variable(node: ast.Call | ast.Subscript) -> str:
    """The variable of the environment that an expression cannot do without."""
    if isinstance(node, ast.Subscript):
        named = node.slice if isinstance(node.ctx, ast.Load) and ast.unparse(node.value).endswith("environ") else None
        return str(named.value) if isinstance(named, ast.Constant) else ""
    got = [each for each in node.args if isinstance(each, ast.Call) and called(each) in _GETS and len(each.args) == 1]
    names = [each.args[0] for each in got if called(node) in _USES and not each.keywords]
    return next((str(each.value) for each in names if isinstance(each, ast.Constant)), "")


def _folders(node: ast.Call | ast.Subscript) -> Iterator[str]:
    """The channels whose folders a call opens by their path."""
    if isinstance(node, ast.Call) and called(node) in _USES:
        texts = (str(each.value) for each in node.args if isinstance(each, ast.Constant))
        yield from (found[1] for text in texts if (found := _FOLDER.match(text)) is not None)


def _keys(job: JobSpec) -> Iterator[Read]:
    """The keys that the script's programs take out of SM_HPS."""
    for file, text in programs(job):
        yield from (Read(f"{HYPERPARAMETER}{name}", file, line) for name, line in _taken(text))


@functools.lru_cache(maxsize=source.KEPT)
def _taken(text: str) -> tuple[tuple[str, int], ...]:
    """The keys that a program takes out of SM_HPS, or out of the file of hyperparameters, with their lines."""
    if not any(place in text for place in _HYPERPARAMETERS):
        return ()
    tree = source.tree(text)
    opened = {
        ast.unparse(item.optional_vars)
        for node in ast.walk(tree)
        if isinstance(node, ast.With)
        for item in node.items
        if item.optional_vars is not None and _HYPERPARAMETERS[1] in ast.unparse(item.context_expr)
    }
    held = {
        ast.unparse(node.targets[0])
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and _reads_all(node.value, opened)
    }
    subscripts = [
        node for node in _running(tree) if isinstance(node, ast.Subscript) and ast.unparse(node.value) in held
    ]
    return tuple(
        (str(node.slice.value), node.lineno)
        for node in subscripts
        if isinstance(node.slice, ast.Constant) and isinstance(node.ctx, ast.Load)
    )


def _reads_all(call: ast.Call, opened: set[str]) -> bool:
    """Whether a call reads all hyperparameters: from their variable, their file, or one of the files that are open."""
    said = ast.unparse(call)
    return any(place in said for place in _HYPERPARAMETERS) or any(ast.unparse(word) in opened for word in call.args)


RULES = (channels, variables)
