"""What HfArgumentParser and trl's TrlParser make of a script's dataclasses: an argparse parser, field by field.

Source: transformers 4.49.0, hf_argparser.py, HfArgumentParser._parse_dataclass_field; trl 0.16.1, scripts/utils.py, TrlParser.
"""

from __future__ import annotations

import argparse
import ast
import functools
from collections.abc import Mapping
from typing import Any

from ..core.preflight import source
from .fields import FieldKind, Fields, classes_of, hyphens, library_class
from .parsers import Declared, Parser, called
from .sources import Programs

MAKERS = ("HfArgumentParser", "TrlParser", "H4ArgumentParser")
_PARSES = ("parse_args_into_dataclasses", "parse_args_and_config")
_HARMLESS = {"return_remaining_strings", "look_for_args_file", "args_filename"}
_TRUE, _FALSE = {"yes", "true", "t", "y", "1"}, {"no", "false", "f", "n", "0"}
_TYPES = {"int": int, "float": float}


@functools.lru_cache(maxsize=source.KEPT)
def of_dataclasses(
    texts: Programs, releases: tuple[tuple[str, str | None], ...], *, configured: bool
) -> Declared | None:
    """The parser that programs make of dataclasses; None where they make none, several, or ask it for other words.

    ``configured``: a file gives arguments too, which TrlParser takes by ``--config``.
    """
    calls = [call for _, text in texts for call in source.calls(text)]
    making = [call for call in calls if called(call) in MAKERS]
    parsing = [call for call in calls if called(call) in _PARSES]
    given = {word.arg for call in parsing for word in call.keywords} - _HARMLESS
    if len(making) != 1 or not parsing or given or any(call.args for call in parsing):
        return None
    asked = [*making[0].args[:1], *(word.value for word in making[0].keywords if word.arg == "dataclass_types")]
    names = [ast.unparse(each).rsplit(".", 1)[-1] for word in asked for each in getattr(word, "elts", [word])]
    every = _Every(texts, dict(releases))
    parser, known = Parser("script", add_help=False), [every.fields(name) for name in names]
    trl = called(making[0]) != MAKERS[0]
    if trl:
        parser.add_argument("--config")
    taken: dict[str, FieldKind] = {}
    for fields in known:
        taken |= fields or {}
    for name, kind in taken.items():
        _add(parser, name, kind, required=kind.required and not (trl and configured), hyphened=every.hyphened)
    words = [word for call in parsing for word in call.keywords if word.arg == "return_remaining_strings"]
    loose = any(ast.unparse(word.value) == "True" for word in words)
    whole = None not in known
    return Declared(parser, not loose and whole, tuple(taken), whole) if taken else None


@functools.lru_cache(maxsize=source.KEPT)
def of_shipped(entry: str, shared: str) -> Declared | None:
    """The parser of a script of the package, which asks ``kit.parse_own`` for one dataclass of its own; None of any other script.

    ``shared`` is the text of ``kit/trainer.py``: its tables have the older names that are passed on or left out.
    """
    making = [call for call in source.calls(entry) if called(call) == "parse_own"]
    if len(making) != 1 or not making[0].args:
        return None
    taken = _Every((("", entry),), {"transformers": None}).fields(ast.unparse(making[0].args[0]))
    if not taken:
        return None
    parser = Parser("script", add_help=False, allow_abbrev=False)
    for name, kind in taken.items():
        _add(parser, name, kind, required=kind.required, hyphened=True)
    older = [old for old, name in _table(shared, "RENAMED").items() if name in taken and old not in taken]
    older += [old for old in _table(shared, "LEFT_OUT") if old not in taken]
    for old in older:
        parser.add_argument(f"--{old}", nargs="*")
    return Declared(parser, strict=True, names=tuple(taken))


def _table(program: str, name: str) -> Any:
    """The literal that a program gives a name at its top."""
    for node in source.tree(program).body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == [name]:
            return ast.literal_eval(node.value)
    return {}


class _Every:
    """The dataclasses that a script can name: its own, and the libraries' of its job."""

    def __init__(self, texts: Programs, releases: Mapping[str, str | None]) -> None:
        self.own: dict[str, Fields] = {}
        for _, text in texts:
            self.own |= classes_of(source.tree(text))
        self.releases = releases
        at = releases["transformers"]
        self.hyphened = at is None or hyphens(at)

    def fields(self, name: str, below: frozenset[str] = frozenset()) -> dict[str, FieldKind] | None:
        """A class's fields with those of its bases; None where one of them is unknown. Those ``below`` it may have its name."""
        found = None if name in below else self.own.get(name)
        found = found or self._of_libraries(name)
        if found is None or found.open:
            return None
        taken: dict[str, FieldKind] = {}
        for base in found.bases:
            above = self.fields(base, below | {name})
            if above is None:
                return None
            taken |= above
        return taken | dict(found.own)

    def _of_libraries(self, name: str) -> Fields | None:
        known = (library_class(library, name, at) for library, at in self.releases.items() if at is not None)
        return next((each for each in known if each is not None), None)


def _add(parser: argparse.ArgumentParser, name: str, kind: FieldKind, *, required: bool, hyphened: bool) -> None:
    flags = [f"--{name}", f"--{name.replace('_', '-')}"] if hyphened and "_" in name else [f"--{name}"]
    if kind.type == "bool":
        parser.add_argument(*flags, type=_truth, nargs="?", const=True)
        parser.add_argument(f"--no_{name}", action="store_false", dest=name)
        return
    parser.add_argument(
        *flags,
        type=_TYPES.get(kind.type, str),
        choices=kind.choices or None,
        nargs="+" if kind.many else None,
        required=required,
    )


def _truth(text: str) -> bool:
    """What HfArgumentParser reads as a bool. Raises ArgumentTypeError."""
    if text.lower() not in _TRUE | _FALSE:
        raise argparse.ArgumentTypeError(f"Truthy value expected: got {text}")
    return text.lower() in _TRUE
