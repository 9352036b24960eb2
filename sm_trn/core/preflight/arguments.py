"""SCRIPT007, SCRIPT008 and SCRIPT014: what the script's own argument parser says of the hyperparameters.

The parser is Python's: it is built from the calls of ``add_argument`` that the script writes out, and is given the words that the
training toolkit would pass. Where a call cannot be read, nothing is said of what depends on it.
"""

from __future__ import annotations

import argparse
import ast
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from ..specs.job import JobSpec
from ..specs.problems import Advice, Field, Line, Problem, Severity, rules_of
from ..specs.value import suggestion
from . import source

_RULES = rules_of(__package__)
SCRIPT006 = _RULES["SCRIPT006"]
SCRIPT007 = _RULES["SCRIPT007"]
SCRIPT008 = _RULES["SCRIPT008"]
SCRIPT014 = _RULES["SCRIPT014"]

_TYPES = {"int": int, "float": float, "str": str}
_ACTIONS = frozenset({"store", "store_true", "store_false", "store_const", "append", "append_const", "count", "extend"})
OURS = "parse_strictly"  # of the shipped scripts' parser, which takes no beginnings of names
_FLAGS = frozenset({"store_true", "store_false"})
# Calls that fill a parser, or read it, in a way that is not followed here.
_ELSEWHERE = frozenset(
    {"add_subparsers", "parse_args_into_dataclasses", "add_arguments", "add_mutually_exclusive_group"}
)


class _Refused(Exception):  # noqa: N818 - what argparse says instead of ending the program
    pass


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _Refused(message)


@dataclass(frozen=True, slots=True)
class Declared:
    """The parser as far as it is written out. ``strict``: it refuses what it does not know."""

    parser: _Parser
    strict: bool
    names: tuple[str, ...]


def refused(job: JobSpec) -> Iterator[Problem]:
    """SCRIPT008, SCRIPT014: words that argparse does not know, or does not take, end the job with exit code 2."""
    program = source.program(job)
    declared = _declared(program) if program is not None and not job.own_entrypoint else None
    if declared is None:
        return
    entry, line = source.entry_name(job), source.command_line(job)
    try:
        _, rest = declared.parser.parse_known_args(list(line))
    except (_Refused, ValueError, TypeError) as error:
        yield SCRIPT014.problem(
            Field("hyperparameters"),
            f"{entry} refuses its arguments: {error}",
            got=" ".join(line) or "no hyperparameter",
            wanted="arguments that its parser takes",
            fix=Advice("correct the hyperparameters, or the parser"),
        )
        return
    for name in (word.lstrip("-") for word in rest if declared.strict and word.startswith("-")):
        if name in job.arguments:
            yield SCRIPT008.problem(
                Field(f"hyperparameters.{name}" if name in job.hyperparameters else "neuron"),
                f"{entry} does not declare --{name}",
                got=repr(name),
                wanted="one of " + ", ".join(sorted(declared.names)),
                fix=Advice(f"correct the name{suggestion(name, declared.names)}"),
            )


@functools.lru_cache(maxsize=source.KEPT)
def _declared(program: str) -> Declared | None:
    """The parser that a program makes; None where it makes none, several, or one that is filled elsewhere."""
    calls = source.calls(program)
    ours = any(_name(call.func) == OURS for call in calls)
    made = [call for call in calls if _name(call.func) == ("Parser" if ours else "ArgumentParser")]
    parsing = [call for call in calls if _name(call.func) in {"parse_args", "parse_known_args", OURS}]
    given = [ast.unparse(word) for call in parsing if not ours for word in (*call.args, *call.keywords)]
    if len(made) != 1 or not parsing or set(given) - {"sys.argv[1:]"}:
        return None
    if source.methods(program) & _ELSEWHERE or any(word.arg == "parents" for word in made[0].keywords):
        return None
    settings = {word.arg: word.value.value for word in made[0].keywords if isinstance(word.value, ast.Constant)}
    parser = _Parser(add_help=False, allow_abbrev=bool(settings.get("allow_abbrev", not ours)))
    names: list[str] = []
    sure = _unconditional(program)
    for call in source.argument_calls(program):
        added = _add(parser, call, sure=call in sure)
        if added is None:
            return None
        names += added
    strict = all(_name(call.func) != "parse_known_args" for call in parsing)
    return Declared(parser, strict, tuple(names)) if names else None


def _add(parser: _Parser, call: ast.Call, *, sure: bool) -> list[str] | None:
    """Add one argument; its names. None where the call cannot be read."""
    flags = [word.value for word in call.args if isinstance(word, ast.Constant) and isinstance(word.value, str)]
    if len(flags) != len(call.args) or not flags:
        return None
    options: dict[str, object] = {}
    for word in call.keywords:
        if word.arg is None or not _option(options, word.arg, word.value):
            return None
    if not sure:
        options.pop("required", None)
        if not flags[0].startswith("-"):
            return None
    if options.get("type") is _anything:
        options.pop("choices", None)  # they are of what an unknown function returns
    try:
        parser.add_argument(*flags, **options)  # type: ignore[arg-type]  # argparse looks at them itself
    except (TypeError, ValueError, argparse.ArgumentError):
        return None
    return [flag.lstrip("-") for flag in flags]


def _option(options: dict[str, object], name: str, value: ast.expr) -> bool:
    """Read one keyword of ``add_argument``; False where the argument depends on something that is not written out."""
    if name == "type":
        kind = _TYPES.get(_name(value) if isinstance(value, ast.Name) else "")
        options["type"] = _anything if kind is None else kind
        return True
    if name == "action" and _name(value) == "BooleanOptionalAction":
        options["action"] = argparse.BooleanOptionalAction
        return True
    try:
        read = ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return name in {"default", "help", "metavar", "const", "required", "choices"}
    if name not in {"default", "help", "metavar"}:
        options[name] = read
    return name != "action" or read in _ACTIONS


def _anything(text: str) -> str:
    return text


def _name(called: ast.expr) -> str:
    return called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""


def _unconditional(program: str) -> frozenset[ast.Call]:
    """The calls that stand under no condition, but that of a program that is run."""
    found: set[ast.Call] = set()
    waiting: list[ast.AST] = list(ast.iter_child_nodes(source.tree(program)))
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.If, ast.IfExp)) and "__name__" not in ast.unparse(node.test):
            continue
        if isinstance(node, (ast.Try, ast.While, ast.For)):
            continue
        if isinstance(node, ast.Call):
            found.add(node)
        waiting += ast.iter_child_nodes(node)
    return frozenset(found)


def boolean_arguments(job: JobSpec) -> Iterator[Problem]:
    """SCRIPT006, SCRIPT007: bool('False') is True, and a store_true flag takes no value: SageMaker always passes one."""
    program = source.program(job)
    if program is None or job.script is None:
        return
    for call in source.argument_calls(program):
        flags = [
            word.value for word in call.args if isinstance(word, ast.Constant) and str(word.value).startswith("--")
        ]
        name = str(flags[0]).lstrip("-").replace("-", "_") if flags else ""
        kind = next((word.value for word in call.keywords if word.arg == "type"), None)
        action = next((word.value for word in call.keywords if word.arg == "action"), None)
        place = Line(job.script.entry, call.lineno)
        if isinstance(kind, ast.Name) and kind.id == "bool":
            sent = name in job.hyperparameters
            false = job.hyperparameters.get(name) in {False, "False", "false", "0"} and name in job.hyperparameters
            yield SCRIPT006.problem(
                place,
                f"--{name} False would be read as True",
                severity=Severity.ERROR if false else Severity.INFO,
                got="type=bool" + (f", and the job sends {job.hyperparameters[name]!r}" if sent else ""),
                wanted="a function that reads 'True' and 'False'",
                fix=Advice("type=str2bool"),
            )
        elif (
            isinstance(action, ast.Constant)
            and action.value in _FLAGS
            and name in job.hyperparameters
            and not _harmless(program, str(action.value), job.hyperparameters[name])
        ):
            yield SCRIPT007.problem(
                place,
                f"--{name} takes no value, but SageMaker passes one",
                got=f"action={action.value!r}, and the job sends {job.hyperparameters[name]!r}",
                wanted="an argument with a value",
                fix=Advice("type=str2bool instead of the action"),
            )


def _harmless(program: str, action: str, value: object) -> bool:
    """A parser that tolerates what it does not know leaves the value over, and the flag alone says the same."""
    return "parse_known_args" in source.methods(program) and str(value).lower() == action.removeprefix("store_")


RULES = (boolean_arguments, refused)
