"""Texts with placeholders or unknown parts: formatted, compared and changed as far as that does not depend on what they will be."""

from __future__ import annotations

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


def formatted(state: Any, template: str, given: Sequence[Any], names: Mapping[str, Any], cause: Unresolved) -> str:
    """``template.format(*given, **names)``. Raises Needs."""
    made, automatic = "", 0
    for literal, field, spec, conversion in state.python(lambda: list(string.Formatter().parse(template))):
        made += literal
        if field is None:
            continue
        if spec and "{" in spec:
            raise Needs((cause,))
        word = field or str(automatic)
        automatic += not field
        if not word.isdigit() and not word.isidentifier():  # a part of a value
            raise Needs((cause,))
        value: Any = state.python(lambda word=word: given[int(word)] if word.isdigit() else names[word])
        made += specified(state, state.resolved(value), conversion or "", spec, cause)
    if len(made) > LONGEST:
        raise Needs((cause,))
    return made


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
