"""What a script reads of its surroundings and the job does not give: channels, hyperparameters and variables of the environment."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..core.preflight import source
from ..core.specs.job import JobSpec
from ..core.specs.launch import Runner
from ..core.specs.problems import Advice, Field, Line, Problem, rules_of
from ..core.specs.value import suggestion
from ..core.strategies import plan
from .parsers import called, constants, unconditional
from .sources import programs

_RULES = rules_of(__package__)
DATA007 = _RULES["DATA007"]
SCRIPT016 = _RULES["SCRIPT016"]
SCRIPT020 = _RULES["SCRIPT020"]

CHANNEL, HYPERPARAMETER = "SM_CHANNEL_", "SM_HP_"
_HYPERPARAMETERS = ("SM_HPS", "/opt/ml/input/config/hyperparameters.json")
_FOLDER = re.compile(r"/opt/ml/input/data/([A-Za-z0-9._-]{1,64})")
_GETS = frozenset({"get", "getenv"})
_USES = frozenset({"join", "open", "read_csv", "load_from_disk", "Path", "listdir", "load", "read_parquet", "read_json", "ImageFolder",
                   "from_pretrained", "scandir"})  # fmt: skip
# Variables of a worker that its launcher sets. MASTER_ADDR and MASTER_PORT are always there:
# aws/sagemaker-pytorch-training-toolkit, training.py, _set_distributed_environment.
_OF_WORKERS = frozenset({"RANK", "LOCAL_RANK", "WORLD_SIZE"})
_GROUP = "init_process_group"  # reads them where nothing else says the rank
_SAYS_RANK = frozenset({"rank", "store", "init_method"})
# Services whose keys no image holds.
_KEY = re.compile(r"(WANDB|HF|HUGGING_?FACE|HUGGINGFACEHUB|COMET|NEPTUNE|OPENAI|KAGGLE|CLEARML|DATABRICKS|GITHUB)_\w+")


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
    for argument, value in job.arguments.items():
        folder = _FOLDER.match(value) if isinstance(value, str) else None
        elsewhere = folder is not None and folder[1].upper() not in there and not job.own_entrypoint
        if folder is not None and elsewhere and not any(_makes(text, argument) for _, text in programs(job)):
            yield DATA007.problem(
                Field(f"hyperparameters.{argument}"),
                f"the job has no channel {folder[1]!r}",
                got=repr(value),
                wanted=f"a channel {folder[1]!r}",
                fix=Advice(f"add it to inputs, or correct the path{suggestion(folder[1], there.values())}"),
            )


@functools.lru_cache(maxsize=source.KEPT)
def _makes(text: str, argument: str) -> bool:
    """Whether a program makes the folder that an argument names."""
    tree, word = source.tree(text), argument.replace("-", "_")
    names = {
        ast.unparse(node.targets[0])
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and any(isinstance(each, ast.Attribute) and each.attr == word for each in ast.walk(node.value))
    }
    made = [ast.unparse(call) for call in source.calls(text) if called(call) in {"mkdir", "makedirs"}]
    return any(re.search(rf"\b{re.escape(name)}\b", call) for call in made for name in (*names, word))


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


def keys(job: JobSpec) -> Iterator[Problem]:
    """SCRIPT020: keys of services that the job does not send, and a worker's rank where no launcher gives it one."""
    alone = plan(job).runner is Runner.PYTHON and not job.own_entrypoint and source.entry_name(job).endswith(".py")
    set_here = {str(each.value) for _, text in programs(job) for each in _set(source.tree(text))}
    for read in dict.fromkeys(_needed(job)):
        rank = alone and read.name in _OF_WORKERS
        if read.name not in set_here and (rank or _KEY.fullmatch(read.name)):
            yield SCRIPT020.problem(
                Line(read.file, read.line),
                f"the script needs the variable {read.name}, which nothing sets",
                got="no distribution, so one process of its own" if rank else "an environment without it",
                wanted="workers that a launcher starts" if rank else f"{read.name} in environment",
                fix=Advice(
                    "a distribution, or a script that works alone too" if rank else f"add {read.name} to environment"
                ),
            )


def _needed(job: JobSpec) -> Iterator[Read]:
    """What the script's programs read and the job's own environment and arguments do not give."""
    for file, text in programs(job):
        for name, line, argument in _reads(text, runs=file == source.entry_name(job)):
            if name not in job.environment and (not argument or argument not in job.arguments):
                yield Read(name, file, line)


@functools.lru_cache(maxsize=source.KEPT)
def _reads(text: str, *, runs: bool) -> tuple[tuple[str, int, str], ...]:
    """Variables that a program reads without a condition and without another value, and folders that it opens: with their lines, and
    the argument whose default they are.
    """
    tree = source.tree(text)
    set_here = {str(each.value) for each in _set(tree)}
    named, given = constants(text), defaults(text)
    found: list[tuple[str, int, str]] = []
    for node in _running(tree, runs=runs):
        name = _variable(node)
        if name and name not in set_here:
            found.append((name, node.lineno, ""))
        for word in node.args if isinstance(node, ast.Call) and called(node) in _USES else ():
            argument = word.attr if isinstance(word, ast.Attribute) else ""
            value = named.get(word.id) if isinstance(word, ast.Name) else getattr(word, "value", None)
            folder = _FOLDER.match(str(given.get(argument, value)))
            if folder is not None:
                found.append((f"/{folder[1]}", node.lineno, argument))
    return tuple(found)


def defaults(text: str) -> dict[str, object]:
    """The defaults that a program writes out for its arguments, by the name under which it reads them."""
    return {
        str(getattr(call.args[0], "value", "")).lstrip("-").replace("-", "_"): word.value.value
        for call in source.argument_calls(text)
        for word in call.keywords
        if word.arg == "default" and isinstance(word.value, ast.Constant) and call.args
    }


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
    if called(node) == _GROUP:
        return "" if len(node.args) > 1 or {word.arg for word in node.keywords} & {None, *_SAYS_RANK} else "RANK"
    got = [each for each in node.args if isinstance(each, ast.Call) and called(each) in _GETS and len(each.args) == 1]
    names = [each.args[0] for each in got if called(node) in _USES and not each.keywords]
    return next((str(each.value) for each in names if isinstance(each, ast.Constant)), "")


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


RULES = (channels, variables, keys)
