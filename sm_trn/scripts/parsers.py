"""The parser that a script makes, made again: Python's argparse from the calls that are written out, and what HfArgumentParser makes
of dataclasses. Nothing of the script runs: a parser is built of literals alone, and what cannot be read makes it unknown.
"""

from __future__ import annotations

import argparse
import ast
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from ..core.preflight import source

OURS = "parse_strictly"  # of the shipped scripts' parser, which takes no beginnings of names
_TYPES = {"int": int, "float": float, "str": str}
_ACTIONS = frozenset({"store", "store_true", "store_false", "store_const", "append", "append_const", "count", "extend"})
_ELSEWHERE = frozenset(
    {"parse_args_into_dataclasses", "parse_args_and_config", "add_arguments"}
)  # parsers of other kinds
_SETTINGS = frozenset({"allow_abbrev", "conflict_handler", "prefix_chars", "add_help"})
_OF_LISTS = frozenset({"list", "tuple", "sorted", "range"})


class Refused(Exception):  # noqa: N818 - what a parser says instead of ending the program
    """A parser's own words for what it does not take."""


class Parser(argparse.ArgumentParser):
    """Python's parser, which raises where it would end the program."""

    def error(self, message: str) -> NoReturn:
        """Raise the message."""
        raise Refused(message)


@dataclass(frozen=True, slots=True)
class Declared:
    """A parser as far as it can be known. ``strict``: it refuses what it does not know. ``names`` are its arguments;
    ``whole``: it has no others, which a class of an unknown release may bring."""

    parser: argparse.ArgumentParser
    strict: bool
    names: tuple[str, ...]
    whole: bool = True

    def leftover(self, words: tuple[str, ...]) -> list[str]:
        """The words that the parser does not know. Raises Refused."""
        try:
            return self.parser.parse_known_args(list(words))[1]
        except (ValueError, TypeError, argparse.ArgumentError) as error:
            raise Refused(str(error)) from None


@functools.lru_cache(maxsize=source.KEPT)
def of_argparse(program: str) -> Declared | None:
    """The parser that a program makes with argparse; None where it makes none, several, or one that is filled elsewhere."""
    calls = source.calls(program)
    ours = any(called(call) == OURS for call in calls)
    parsing = [call for call in calls if called(call) in {"parse_args", "parse_known_args", OURS}]
    given = [ast.unparse(word) for call in parsing if not ours for word in (*call.args, *call.keywords)]
    if not parsing or set(given) - {"sys.argv[1:]"} or source.methods(program) & _ELSEWHERE:
        return None
    built = _Built(program, ours=ours)
    parser = built.main(parsing) if built.fill() else None
    strict = all(called(call) != "parse_known_args" for call in parsing)
    return Declared(parser, strict, tuple(built.names)) if parser is not None and built.names else None


# Options of hydra's command line; all other words are overrides, name=value. Source: hydra-core 1.3.2, _internal/utils.py, get_args_parser.
_HYDRA = (
    "--config-path",
    "-cp",
    "--config-name",
    "-cn",
    "--config-dir",
    "-cd",
    "--package",
    "-p",
    "--info",
    "-i",
    "--experimental-rerun",
)


@functools.lru_cache(maxsize=source.KEPT)
def of_hydra(program: str) -> Declared | None:
    """The parser of a program whose main function hydra starts: it takes ``name=value``, and no other argument by name."""
    decorators = [
        ast.unparse(each.func if isinstance(each, ast.Call) else each)
        for node in ast.walk(source.tree(program))
        if isinstance(node, ast.FunctionDef)
        for each in node.decorator_list
    ]
    if "hydra.main" not in decorators or "argv" in program:
        return None
    parser = Parser("script", add_help=False)
    parser.add_argument("overrides", nargs="*")
    for flag in _HYDRA:
        parser.add_argument(flag)
    return Declared(parser, strict=True, names=tuple(flag.lstrip("-") for flag in _HYDRA if flag.startswith("--")))


def called(call: ast.Call) -> str:
    """The last part of the name that is called."""
    return _last(call.func)


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


class _Built:
    """The parsers of one program, filled by the calls that it writes out."""

    def __init__(self, program: str, *, ours: bool) -> None:
        self.calls = sorted(source.calls(program), key=lambda call: (call.lineno, call.end_col_offset or 0))
        self.adding = frozenset(source.argument_calls(program))
        self.sure = _unconditional(program)
        self.constants = constants(program)
        self.functions = {node.name for node in ast.walk(source.tree(program)) if isinstance(node, ast.FunctionDef)}
        self.targets = {
            node.value: node.targets[0].id
            for node in ast.walk(source.tree(program))
            if isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and isinstance(node.value, ast.Call)
        }
        self.maker, self.ours = "Parser" if ours else "ArgumentParser", ours
        self.known: dict[str, Any] = {}  # parsers, groups and subparsers by the name of their variable
        self.made: list[Parser] = []
        self.names: list[str] = []

    def fill(self) -> bool:
        """Make the parsers and add their arguments; False where something cannot be read."""
        first = [call for call in self.calls if called(call) == self.maker and not self._words(call, "parents")]
        if len(first) > 1 and not any(self._words(call, "parents") for call in self.calls):
            return False
        return all(self._make(call) for call in first) and all(
            self._take(call) for call in self.calls if call not in first
        )

    def main(self, parsing: list[ast.Call]) -> Parser | None:
        """The parser that is asked; None where several are."""
        asked = {id(found): found for call in parsing if (found := self._receiver(call)) is not None}
        (parser,) = asked.values() if len(asked) == 1 else (None,)
        return parser if isinstance(parser, Parser) else None

    def _take(self, call: ast.Call) -> bool:
        """Take in one call; False where it cannot be read."""
        name = called(call)
        if call in self.adding:
            return self._argument(call)
        if name == self.maker:
            return self._make(call)
        if name in {"add_argument_group", "add_mutually_exclusive_group", "add_subparsers", "add_parser"}:
            return self._nested(call, name)
        handed = any(isinstance(word, ast.Name) and word.id in self.known for word in call.args)
        return not handed or _last(call.func) in self.functions

    def _make(self, call: ast.Call) -> bool:
        settings: dict[str, Any] = {
            str(word.arg): word.value.value
            for word in call.keywords
            if word.arg in _SETTINGS and isinstance(word.value, ast.Constant)
        }
        parents = self._words(call, "parents")
        listed = parents[0].elts if parents and isinstance(parents[0], (ast.List, ast.Tuple)) else []
        above = [made for each in listed if isinstance(made := self.known.get(_last(each)), Parser)]
        if len(above) < max(len(listed), len(parents)):
            return False
        settings |= {"add_help": False, "allow_abbrev": bool(settings.get("allow_abbrev", not self.ours))}
        parser = Parser("script", parents=above, **settings)
        self.made.append(parser)
        self.known[self.targets.get(call, "")] = parser
        return True

    def _nested(self, call: ast.Call, name: str) -> bool:
        """A group, an exclusive group, subparsers, or one of these."""
        receiver, options = self._receiver(call), {}
        for word in call.keywords:
            if word.arg in {"required", "dest"}:
                options[word.arg] = literal(word.value, self.constants)
        try:
            texts = [literal(word, self.constants) for word in call.args] if name == "add_parser" else []
            made = getattr(receiver, name)(*texts, **options, **({"add_help": False} if name == "add_parser" else {}))
        except (AttributeError, ValueError, TypeError, argparse.ArgumentError):
            return False
        self.known[self.targets.get(call, "")] = made
        return True

    def _receiver(self, call: ast.Call) -> Any:
        """What a method is called on: a variable's parser or group; else the only parser there is."""
        on = call.func.value if isinstance(call.func, ast.Attribute) else None
        if isinstance(on, ast.Name) and on.id in self.known:
            return self.known[on.id]
        return self.made[0] if len(self.made) == 1 else None

    @staticmethod
    def _words(call: ast.Call, name: str) -> list[ast.expr]:
        return [word.value for word in call.keywords if word.arg == name]

    def _argument(self, call: ast.Call) -> bool:
        """Add one argument; False where the call cannot be read."""
        flags = [word.value for word in call.args if isinstance(word, ast.Constant) and isinstance(word.value, str)]
        receiver = self._receiver(call)
        if len(flags) != len(call.args) or not flags or receiver is None:
            return False
        options: dict[str, Any] = {}
        for word in call.keywords:
            if word.arg is None or not self._option(options, word.arg, word.value):
                return False
        if call not in self.sure:
            options.pop("required", None)
            if not flags[0].startswith("-"):
                return False
        if options.get("type") is _anything:
            options.pop("choices", None)  # they are of what an unknown function returns
        try:
            receiver.add_argument(*flags, **options)
        except (TypeError, ValueError, AttributeError, argparse.ArgumentError):
            return False
        self.names += [flag.lstrip("-") for flag in flags]
        return True

    def _option(self, options: dict[str, Any], name: str, value: ast.expr) -> bool:
        """Read one keyword of ``add_argument``; False where the argument depends on something that is not written out."""
        if name == "type":
            kind = _TYPES.get(value.id if isinstance(value, ast.Name) else "")
            options["type"] = _anything if kind is None else kind
            return True
        if name == "action" and _last(value) == "BooleanOptionalAction":
            options["action"] = argparse.BooleanOptionalAction
            return True
        if name == "nargs" and isinstance(value, ast.Attribute):
            options["nargs"] = getattr(argparse, value.attr, None)
            return isinstance(options["nargs"], str)
        try:
            read = literal(value, self.constants)
        except ValueError:
            return name in {"default", "help", "metavar", "const", "required", "choices"}
        if name not in {"default", "help", "metavar"}:
            options[name] = read
        return name != "action" or read in _ACTIONS


def _anything(text: str) -> str:
    return text


def constants(program: str) -> Mapping[str, object]:
    """What the names of a module are bound to, where it is a literal and they are bound once."""
    bound: dict[str, list[ast.expr]] = {}
    for node in ast.walk(source.tree(program)):
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            if isinstance(target, ast.Name):
                bound.setdefault(target.id, []).append(node.value)
    return {
        name: value for name, values in bound.items() if len(values) == 1 and (value := _known(values[0])) is not None
    }


def _known(node: ast.expr) -> object:
    """The value of an expression of literals; None for any other."""
    try:
        value: object = literal(node, {})
    except ValueError:
        return None
    return value


def literal(node: ast.expr, names: Mapping[str, object]) -> Any:
    """The value of an expression of literals, names of literals and lists of them. Raises ValueError for any other."""
    if isinstance(node, ast.Name) and node.id in names:
        return names[node.id]
    if isinstance(node, ast.Call) and not node.keywords:
        if isinstance(node.func, ast.Attribute) and node.func.attr == "keys":
            return list(literal(node.func.value, names))
        if (
            isinstance(node.func, ast.Name) and node.func.id in _OF_LISTS and len(node.args) <= 2
        ):  # range's step may be nothing
            return _listed(node.func.id, [literal(word, names) for word in node.args])
    try:
        return ast.literal_eval(node)
    except (TypeError, SyntaxError, MemoryError, RecursionError) as error:
        raise ValueError(str(error)) from None


def _listed(name: str, values: list[Any]) -> list[Any]:
    if name == "range":
        numbers = range(*values)
        if len(numbers) > source.SIZE_CAP:
            raise ValueError(f"range of {len(numbers)}")
        return list(numbers)
    try:
        return sorted(*values) if name == "sorted" else list(*values)
    except TypeError as error:
        raise ValueError(str(error)) from None


def _unconditional(program: str) -> frozenset[ast.Call]:
    """The calls that stand under no condition, but that of a program that is run."""
    return frozenset(node for node in unconditional(source.tree(program)) if isinstance(node, ast.Call))


def unconditional(tree: ast.AST, *, runs: bool = True) -> Iterator[ast.AST]:
    """The nodes that stand under no condition, in no loop and in no ``try``, but – where it ``runs`` – under that of a program that
    is run.
    """
    waiting: list[ast.AST] = list(ast.iter_child_nodes(tree))
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.If, ast.IfExp)) and not (runs and "__name__" in ast.unparse(node.test)):
            continue
        if isinstance(node, (ast.Try, ast.While, ast.For)):
            continue
        yield node
        waiting += ast.iter_child_nodes(node)
