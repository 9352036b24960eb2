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

_TYPES = {"int": int, "float": float, "str": str, "bool": str, "BooleanOptionalAction": argparse.BooleanOptionalAction}
_READER = re.compile(r"(?m)^ *(?:import|from) +(click|typer|hydra|fire|tyro|jsonargparse|absl)\b|sys\.argv")
_OF_DATACLASSES = {"HfArgumentParser", "TrlParser", "H4ArgumentParser", "parse_own"}
_ASKS = {"parse_args", "parse_known_args"}
_GROUPS = {"ArgumentParser", "add_argument_group", "add_mutually_exclusive_group"}
_LOOPS = (ast.For, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_BOOLEANS = ("yes", "true", "t", "y", "1", "no", "false", "f", "n", "0")  # transformers 4.49.0, string_to_bool


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
    ``flags`` take no value, ``booleans`` are of type bool, and of the ``vague`` ones type or choices are not literal."""

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

    def note(self, reason: str, place: Line) -> None:
        self.unread = self.unread or Unread(reason, place)

    def add(self, flags: list[str], **settings: Any) -> None:
        """Add an argument, of which a setting may be none of argparse's."""
        try:
            action = self.parser.add_argument(*flags, **settings)
        except (TypeError, ValueError):
            action = self.parser.add_argument(*flags)
        self.names += [flag.lstrip("-") for flag in action.option_strings]


@functools.lru_cache(maxsize=source.KEPT)
def options_of(texts: Programs) -> Options | None:
    """Return the arguments that a job's programs read; None where they read none."""
    options = Options()
    try:
        reads = _read(options, texts)
    except Unread as unread:
        return Options(strict=False, unread=unread)
    options.strict = options.strict and options.unread is None
    return options if reads else None


def _read(options: Options, texts: Programs) -> bool:
    """Read the parser of some programs; return False where there is none. Raises Unread."""
    file, entry = texts[0]
    calls = {name: {called(call) for call in source.calls(text)} for name, text in texts}
    made = [name for name in calls if "ArgumentParser" in calls[name]]
    reader = _READER.search(entry)
    if any(names & _OF_DATACLASSES for names in calls.values()):
        _read_dataclasses(options, texts)
    elif file in made:
        _read_calls(options, file, entry)
        if not calls[file] & _ASKS:
            raise Unread("nobody asks it", Line(file, 1))
    elif reader is not None:
        line = Line(file, entry.count("\n", 0, reader.start(1 if reader[1] else 0)) + 1)
        raise Unread(f"{reader[1]} makes it" if reader[1] else "sys.argv is read by hand", line)
    elif made:
        raise Unread(f"it is made in {made[0]}", Line(made[0], 1))
    return bool(made) or any(names & _OF_DATACLASSES for names in calls.values())


def _read_calls(options: Options, file: str, text: str) -> None:
    """Read the calls of argparse in a program."""
    tree, adding = source.tree(text), source.argument_calls(text)
    looped = {node for loop in ast.walk(tree) if isinstance(loop, _LOOPS) for node in ast.walk(loop)}
    sure = set(unconditional(tree))
    functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    assigned = [node for node in ast.walk(tree) if isinstance(node, ast.Assign)]
    variables = {last_name(n.targets[0]) for n in assigned if last_name(getattr(n.value, "func", n.value)) in _GROUPS}
    seen: list[str] = []
    for call in sorted(source.calls(text), key=lambda node: node.lineno):
        name, place = called(call), Line(file, call.lineno)
        words = [ast.unparse(each) for each in (*call.args, *(each.value for each in call.keywords))]
        if call in adding and call in looped:
            options.note("it is filled in a loop", place)
        elif call in adding:
            _read_argument(options, call, place, constants(text), sure=call in sure)
        elif name == "ArgumentParser":
            if name in seen or keyword(call, "parents") is not None:
                raise Unread("it is made of several", place)
            options.parser.allow_abbrev = ast.unparse(keyword(call, "allow_abbrev") or ast.Constant(True)) != "False"
        elif name in {"add_subparsers", "add_parser", "add_mutually_exclusive_group"}:
            raise Unread("it has exclusive groups" if "exclusive" in name else "it has commands", place)
        elif name in _ASKS:
            options.strict = name == "parse_args"
            if (_ASKS - {name}) & set(seen) or set(words) - {"sys.argv[1:]", "None"}:
                raise Unread("it is asked in more than one way", place)
        elif variables & set(words) and name not in functions:
            options.note(f"{name}(…) may fill it", place)
        seen.append(name)


def _read_argument(options: Options, call: ast.Call, place: Line, names: Any, *, sure: bool) -> None:
    """Read one ``add_argument``; ``sure`` says that it stands under no condition."""
    flags = [each.value for each in call.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    if not flags or len(flags) < len(call.args) or any(each.arg is None for each in call.keywords):
        options.note("an argument is not literal", place)
        return
    settings: dict[str, Any] = {}
    for each in call.keywords:
        word, value = str(each.arg), each.value
        if word in {"type", "action"} and last_name(value) in _TYPES:
            settings[word] = _TYPES[last_name(value)]
        elif word != "type" and is_literal(value, names):
            settings |= {word: literal(value, names)} if word not in {"default", "help", "metavar", "dest"} else {}
        elif word in {"type", "choices", "action", "nargs"}:
            options.vague |= {flag.lstrip("-"): Unread(f"{word}={ast.unparse(value)}", place) for flag in flags}
            settings |= {"nargs": "*"} if word in {"action", "nargs"} else {}
    kind = keyword(call, "type")
    unknown = kind is not None and "type" not in settings  # what an unknown function returns has other choices
    for word in (*(["choices"] if unknown else []), *([] if sure else ["required"])):
        settings.pop(word, None)
    by_name = {flag.lstrip("-"): place for flag in flags}
    options.flags |= by_name if re.match(r"store_|append_const|count|.*Optional", str(settings.get("action"))) else {}
    options.booleans |= by_name if last_name(kind or call) == "bool" else {}
    options.add(flags, **settings)


def _read_dataclasses(options: Options, texts: Programs) -> None:
    """Read the fields of the dataclasses that HfArgumentParser, or one that is made of it, is given."""
    calls = [(file, call) for file, text in texts for call in source.calls(text)]
    file, maker = next((file, call) for file, call in calls if called(call) in _OF_DATACLASSES)
    options.strict = not any(keyword(call, "return_remaining_strings") for _, call in calls)
    nodes = [(name, node) for name, text in texts for node in ast.walk(source.tree(text))]
    classes = {node.name: (name, node) for name, node in nodes if isinstance(node, ast.ClassDef)}
    given = maker.args[0] if maker.args else keyword(maker, "dataclass_types")
    waiting = [last_name(each) for each in getattr(given, "elts", [given] if given is not None else [])]
    for name in waiting:
        where, node = classes.get(name, ("", None))
        if node is None:
            options.note(f"{name or 'a class'} is not of the script's own", Line(file, maker.lineno))
            continue
        waiting += map(ast.unparse, node.bases)
        for line in node.body:
            if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
                _read_field(options, line, Line(where, line.lineno), may_be_required=called(maker) != "TrlParser")


def _read_field(options: Options, line: ast.AnnAssign, place: Line, *, may_be_required: bool) -> None:
    name, kind = ast.unparse(line.target), line.annotation
    flags = list(dict.fromkeys((f"--{name}", f"--{name.replace('_', '-')}")))
    field = line.value if isinstance(line.value, ast.Call) and called(line.value) == "field" else None
    defaulted = {"default", "default_factory"} & {each.arg for each in field.keywords} if field else line.value
    kind = kind.slice if isinstance(kind, ast.Subscript) and last_name(kind.value) == "Optional" else kind
    if last_name(kind) == "bool":
        options.add([f"--no_{name}"], action="store_true")
        options.add(flags, type=str.lower, choices=_BOOLEANS, nargs="?", const="true")
    elif last_name(kind) in _TYPES:
        options.add(flags, type=_TYPES[last_name(kind)], required=may_be_required and not defaulted)
    else:
        options.vague[name] = Unread(ast.unparse(line.annotation), place)
        options.add(flags, nargs="*", required=may_be_required and not defaulted)
