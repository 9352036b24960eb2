"""The arguments of a script as far as they are literal: ``add_argument`` calls, and fields of dataclasses that a parser is made of.

Python's own argparse is filled with them, and says what it makes of words. What is not literal is unknown, with its line.
"""

from __future__ import annotations

import argparse
import ast
import functools
import re
from dataclasses import dataclass, field
from typing import Any, NoReturn

from ..core.preflight import source
from ..core.specs.problems import Line
from .programs import Programs
from .syntax import called, constants, is_literal, keyword, last_name, literal, unconditional

_TYPES = {"int": int, "float": float, "str": str, "bool": str}
_FLAGS = {"store_true", "store_false", "store_const", "append_const", "count", "BooleanOptionalAction"}
_READER = re.compile(
    r"^ *(?:import|from) +(click|typer|hydra|fire|tyro|jsonargparse|simple_parsing|absl|docopt)\b|sys\.argv",
    re.MULTILINE,
)
_OF_DATACLASSES = {"HfArgumentParser", "TrlParser", "H4ArgumentParser", "parse_own"}
_ASKS = {"parse_args", "parse_known_args"}
_GROUPS = {"ArgumentParser", "add_argument_group", "add_mutually_exclusive_group"}
_LOOPS = (ast.For, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
# HfArgumentParser reads these as booleans: transformers 4.49.0, hf_argparser.py, string_to_bool.
_BOOLEANS = ("yes", "true", "t", "y", "1", "no", "false", "f", "n", "0")


class Refused(Exception):  # noqa: N818 - what a parser says instead of ending the program
    """A parser's own words for what it does not take."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Refused(message)


class Unread(Exception):  # noqa: N818 - it is also kept, as the reason
    """The reason why a parser, or one of its arguments, is unknown, and where it stands."""

    def __init__(self, reason: str, place: Line) -> None:
        super().__init__(f"{reason} (line {place.number})")
        self.place = place


@dataclass(slots=True)
class Options:
    """The arguments of a script. ``strict``: words that it does not know are refused. ``unread`` is why there may be more of them.

    By name, ``flags`` take no value, ``booleans`` are of type bool, and of the ``vague`` the type or the choices are not literal.
    """

    parser: argparse.ArgumentParser = field(default_factory=lambda: _Parser(add_help=False, conflict_handler="resolve"))
    names: list[str] = field(default_factory=list)
    strict: bool = True
    unread: Unread | None = None
    flags: dict[str, Line] = field(default_factory=dict)
    booleans: dict[str, Line] = field(default_factory=dict)
    vague: dict[str, Unread] = field(default_factory=dict)

    def leftover(self, words: tuple[str, ...]) -> list[str]:
        """The words that the parser does not know. Raises Refused for those that it does not take."""
        try:
            return self.parser.parse_known_args(list(words))[1]
        except (ValueError, TypeError, argparse.ArgumentError) as error:
            raise Refused(str(error)) from None

    def add(self, flags: list[str], **settings: Any) -> None:
        """Add an argument, of which a setting may be none of argparse's."""
        try:
            self.parser.add_argument(*flags, **settings)
        except (TypeError, ValueError):
            self.parser.add_argument(*flags)
        self.names += [flag.lstrip("-") for flag in flags]


@functools.lru_cache(maxsize=source.KEPT)
def options_of(texts: Programs) -> Options | None:
    """The arguments that a job's programs read; None where they read none."""
    options = Options()
    try:
        reads = _read(options, texts)
    except Unread as unread:
        return Options(strict=False, unread=unread)
    options.strict = options.strict and options.unread is None
    return options if reads else None


def _read(options: Options, texts: Programs) -> bool:
    """Whether some programs read arguments, and which. Raises Unread."""
    file, entry = texts[0]
    calls = {name: {called(call) for call in source.calls(text)} for name, text in texts}
    made = [name for name in calls if "ArgumentParser" in calls[name]]
    reader = _READER.search(entry)
    if any(names & _OF_DATACLASSES for names in calls.values()):
        _read_dataclasses(options, texts)
    elif file in made or (len(made) == 1 and calls[file] & _functions(dict(texts)[made[0]])):
        functions = {name for _, text in texts for name in _functions(text)}
        for name, text in texts:
            if name == file or (name in made) is (file not in made):
                _read_calls(options, name, text, functions)
        if not any(names & _ASKS for names in calls.values()):
            raise Unread("nobody asks it", Line(made[0], 1))
    elif reader is not None:
        line = Line(file, entry.count("\n", 0, reader.start(1 if reader[1] else 0)) + 1)
        raise Unread(f"{reader[1]} makes it" if reader[1] else "sys.argv is read by hand", line)
    elif made:
        raise Unread(f"it is made in {made[0]}", Line(made[0], 1))
    else:
        return False
    return True


def _functions(text: str) -> set[str]:
    return {node.name for node in ast.walk(source.tree(text)) if isinstance(node, ast.FunctionDef)}


def _read_calls(options: Options, file: str, text: str, functions: set[str]) -> None:
    """Read the calls of argparse in a program."""
    tree, adding = source.tree(text), source.argument_calls(text)
    looped = {node for loop in ast.walk(tree) if isinstance(loop, _LOOPS) for node in ast.walk(loop)}
    sure = set(unconditional(tree))
    variables = {
        last_name(node.targets[0])
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and called(node.value) in _GROUPS
    }
    parsers, asked = 0, set[str]()
    for call in sorted(source.calls(text), key=lambda node: node.lineno):
        name, place = called(call), Line(file, call.lineno)
        words = [ast.unparse(each) for each in (*call.args, *(each.value for each in call.keywords))]
        if call in adding and call in looped:
            options.unread = options.unread or Unread("it is filled in a loop", place)
        elif call in adding:
            _read_argument(options, call, place, constants(text), sure=call in sure)
        elif name == "ArgumentParser":
            parsers += 1
            if parsers > 1 or keyword(call, "parents") is not None:
                raise Unread("it is made of several", place)
            options.parser.allow_abbrev = ast.unparse(keyword(call, "allow_abbrev") or ast.Constant(True)) != "False"
        elif name in {"add_subparsers", "add_parser"}:
            raise Unread("it has commands", place)
        elif name in _ASKS:
            asked.add(name)
            options.strict = name == "parse_args"
            if len(asked) > 1 or set(words) - {"sys.argv[1:]", "None"}:
                raise Unread("it is asked in more than one way", place)
        elif variables & set(words) and name not in functions:
            options.unread = options.unread or Unread(f"{name}(…) may fill it", place)


def _read_argument(options: Options, call: ast.Call, place: Line, names: Any, *, sure: bool) -> None:
    """Read one ``add_argument``; ``sure`` says that it stands under no condition."""
    flags = [each.value for each in call.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    if not flags or len(flags) < len(call.args) or any(each.arg is None for each in call.keywords):
        options.unread = options.unread or Unread("an argument is not literal", place)
        return
    settings: dict[str, Any] = {}
    for each in call.keywords:
        word, value = str(each.arg), each.value
        if word == "type" and last_name(value) in _TYPES:
            settings[word] = _TYPES[last_name(value)]
        elif word == "action" and last_name(value) == "BooleanOptionalAction":
            settings[word] = argparse.BooleanOptionalAction
        elif word != "type" and is_literal(value, names):
            settings |= {word: literal(value, names)} if word not in {"default", "help", "metavar", "dest"} else {}
        elif word in {"type", "choices", "action", "nargs"}:
            options.vague |= {flag.lstrip("-"): Unread(f"{word}={ast.unparse(value)}", place) for flag in flags}
            settings |= {"nargs": "*"} if word in {"action", "nargs"} else {}
    kind = keyword(call, "type")
    if kind is not None and "type" not in settings:
        settings.pop("choices", None)  # of what an unknown function returns
    if not sure:
        settings.pop("required", None)
    by_name = {flag.lstrip("-"): place for flag in flags}
    options.flags |= by_name if settings.get("action") in {*_FLAGS, argparse.BooleanOptionalAction} else {}
    options.booleans |= by_name if last_name(kind or call) == "bool" else {}
    options.add(flags, **settings)


def _read_dataclasses(options: Options, texts: Programs) -> None:
    """Read the fields of the dataclasses that HfArgumentParser, or one that is made of it, is given."""
    calls = [(file, call) for file, text in texts for call in source.calls(text)]
    file, maker = next((file, call) for file, call in calls if called(call) in _OF_DATACLASSES)
    options.strict = not any(keyword(call, "return_remaining_strings") for _, call in calls)
    classes = {
        node.name: (name, node)
        for name, text in texts
        for node in ast.walk(source.tree(text))
        if isinstance(node, ast.ClassDef)
    }
    given = maker.args[0] if maker.args else keyword(maker, "dataclass_types")
    waiting = [last_name(each) for each in getattr(given, "elts", [given] if given is not None else [])]
    while waiting:
        name = waiting.pop(0)
        if name not in classes:
            options.unread = options.unread or Unread(
                f"{name or 'a class'} is not of the script's own", Line(file, maker.lineno)
            )
            continue
        where, node = classes[name]
        waiting += [last_name(base) if last_name(base) != name else ast.unparse(base) for base in node.bases]
        for line in node.body:
            if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
                _read_field(
                    options, line.target.id, line, Line(where, line.lineno), required=called(maker) != "TrlParser"
                )


def _read_field(options: Options, name: str, line: ast.AnnAssign, place: Line, *, required: bool) -> None:
    flags = list(dict.fromkeys((f"--{name}", f"--{name.replace('_', '-')}")))
    field = line.value if isinstance(line.value, ast.Call) and called(line.value) == "field" else None
    defaulted = {"default", "default_factory"} & {each.arg for each in field.keywords} if field else line.value
    kind = line.annotation
    while isinstance(kind, ast.Subscript) and last_name(kind.value) == "Optional":
        kind = kind.slice
    required = required and not defaulted
    if last_name(kind) == "bool":
        options.add([f"--no_{name}"], action="store_true")
        options.add(flags, type=str.lower, choices=_BOOLEANS, nargs="?", const="true")
    elif last_name(kind) in _TYPES:
        options.add(flags, type=_TYPES[last_name(kind)], required=required)
    else:
        options.vague[name] = Unread(ast.unparse(line.annotation), place)
        options.add(flags, nargs="*", required=required)
