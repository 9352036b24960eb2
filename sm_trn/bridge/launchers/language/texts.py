"""Texts with placeholders or unknown parts: formatted, compared and changed as far as that does not depend on what they will be."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..values import LONGEST, Moment, Needs, Symbol, Unknown, Unresolvable, Unresolved

_WIDE: Final = re.compile(r"\d{5,}")
# What begins and ends with a letter or a digit: a bucket, an account, a region, a moment.
_CLOSED: Final = frozenset({Symbol.BUCKET, Symbol.ACCOUNT, Symbol.REGION, Symbol.TIME})


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


def method(state: Any, text: str, name: str, given: Sequence[Any], cause: Unresolved) -> Any:
    """A method of a text with placeholders. Raises Needs where the result depends on what they are."""
    marks = state.marks
    lacks = Needs(marks.causes(text) or (state.placeholder(text),))
    known = all(isinstance(each, (str, int)) and not (isinstance(each, str) and marks.within(each)) for each in given)
    if not known or marks.causes(text):
        raise lacks
    symbols = marks.symbols(text)
    if name in {"strip", "rstrip", "lstrip"} and symbols <= _CLOSED and not _word_letters(given):
        return getattr(text, name)(*given)
    raise lacks


def _word_letters(given: Sequence[Any]) -> bool:
    return any(isinstance(each, str) and re.search(r"[A-Za-z0-9]", each) for each in given)
