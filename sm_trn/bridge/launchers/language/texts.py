"""Texts with placeholders or unknown parts: formatted, compared and changed as far as that does not depend on what they will be."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..values import LONGEST, Moment, Needs, Symbol, Unknown, Unresolvable, Unresolved

_WIDE: Final = re.compile(r"\d{5,}")
_PERCENT: Final = re.compile(r"%(?:\([^)]*\))?[-+ #0]*[\d.*]*")
# What no placeholder holds: a bucket, an account and a region are of small letters, digits, dots and dashes.
_CLOSED: Final = frozenset({Symbol.BUCKET, Symbol.ACCOUNT, Symbol.REGION})


def specified(state: Any, value: Any, conversion: str, spec: Any, cause: Unresolved) -> str:
    """A value under a format specification. A width of thousands is not followed."""
    if isinstance(spec, Unresolvable) or (isinstance(spec, str) and (state.marks.within(spec) or _WIDE.search(spec))):
        return str(state.marks.mark(Unknown((cause,))))
    if isinstance(value, Moment):
        return str(state.marks.mark(Symbol.TIME))
    if not spec and conversion in {"", "s"}:
        return str(state.text_of(value, cause))
    lacking = state.missing(value)
    if lacking:
        return str(state.marks.mark(Unknown(lacking)))
    shown = state.python({"s": str, "r": repr, "a": ascii}[conversion], value) if conversion else value
    return str(state.python(format, shown, spec))


def formatted(
    state: Any, node: ast.AST, template: str, given: Sequence[Any], names: Mapping[str, Any], cause: Unresolved
) -> str:
    """``template.format(*given, **names)``. Raises Needs."""
    made, automatic = "", 0
    for literal, field, spec, conversion in state.python(lambda: list(string.Formatter().parse(template))):
        made += literal
        if field is None:
            continue
        first, rest = state.python(_split, field)
        if first == "":
            first, automatic = automatic, automatic + 1
        value: Any = state.python(lambda first=first: given[first] if isinstance(first, int) else names[first])
        for is_attribute, word in rest:
            value = state.attribute(node, value, word) if is_attribute else state.item(node, value, word)
        inner = formatted(state, node, spec, given, names, cause) if spec and "{" in spec else spec
        made += specified(state, state.resolved(value), conversion or "", inner, cause)
    if len(made) > LONGEST:
        raise Needs((cause,))
    return made


def _split(field: str) -> tuple[Any, list[Any]]:
    """The first word of a field, a number where it is one, and what follows: attributes (True) and items."""
    first = re.split(r"[.\[]", field, maxsplit=1)[0]
    rest = re.findall(r"\.([^.\[]+)|\[([^\]]+)\]", field[len(first) :])
    words: list[Any] = [(bool(word), word or (int(item) if item.isdigit() else item)) for word, item in rest]
    return int(first) if first.isdigit() else first, words


def percent(state: Any, template: str, values: Any, cause: Unresolved) -> Any:
    """``template % values``. Raises Needs."""
    if lacking := state.missing(values) or state.missing(template):
        raise Needs(lacking)
    if any(_WIDE.search(found[0]) or "*" in found[0] for found in _PERCENT.finditer(template)):
        raise Needs((cause,))
    return state.python(lambda: template % values)


def compared(state: Any, kind: ast.cmpop, left: Any, right: Any) -> bool | None:
    """A comparison in which something is not known; None where that decides it."""
    marks = state.marks
    if isinstance(kind, (ast.Eq, ast.NotEq)):
        if (
            isinstance(left, str)
            and left == right
            and not marks.causes(left)
            and Symbol.TIME not in marks.symbols(left)
        ):
            return isinstance(kind, ast.Eq)
        texts = [each for each in (left, right) if isinstance(each, str)]
        if len(texts) == 1 and (left is None or right is None):
            return isinstance(kind, ast.NotEq)
    if (
        isinstance(left, str)
        and isinstance(right, str)
        and isinstance(kind, (ast.In, ast.NotIn))
        and not marks.within(left)
    ):
        held = any(isinstance(part, str) and left in part for part in marks.parts(right))
        return isinstance(kind, ast.In) if held else None
    return None


def method(state: Any, text: str, name: str, given: Sequence[Any], cause: Unresolved) -> Any:
    """A method of a text with placeholders. Raises Needs where the result depends on what they are."""
    marks = state.marks
    parts = marks.parts(text)
    lacks = Needs(marks.causes(text) or (state.placeholder(text),))
    known = all(isinstance(each, (str, int)) and not (isinstance(each, str) and marks.within(each)) for each in given)
    if not known or marks.causes(text):
        raise lacks
    symbols = marks.symbols(text)
    if name in {"strip", "rstrip", "lstrip"} and symbols <= _CLOSED | {Symbol.TIME} and not _word_letters(given):
        return getattr(text, name)(*given)
    cut = name in {"split", "rsplit", "partition", "rpartition"} and symbols <= _CLOSED
    if cut and given and not _word_letters(given[:1]) and given[0] not in {"-", "."}:
        return getattr(text, name)(*given)
    if name == "replace" and symbols == {Symbol.TIME}:
        return "".join(part.replace(*given) if isinstance(part, str) else marks.mark(part) for part in parts)
    raise lacks


def _word_letters(given: Sequence[Any]) -> bool:
    return any(isinstance(each, str) and re.search(r"[A-Za-z0-9]", each) for each in given)
