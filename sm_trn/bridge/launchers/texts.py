"""Texts with placeholders: joined, formatted and compared without losing what is not known yet."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from .values import (
    LONGEST,
    Cause,
    Place,
    Reason,
    Ref,
    Symbol,
    Text,
    Unknown,
    known,
    missing_module,
    parts_of,
    text,
    unknown,
)

WIDEST: Final = re.compile(r"\d{4,}")
_FIELD: Final = re.compile(r"\{\{|\}\}|\{(?P<name>[^{}!:]*)(?P<conversion>![rsa])?(?P<spec>:[^{}]*)?\}")
_PERCENT: Final = re.compile(r"%(?:\((?P<name>\w+)\))?(?P<spec>[-+ #0]*\d{0,3}(?:\.\d{1,3})?)(?P<kind>[sdrifgexX%])")
_MARK: Final = "\x7f"
_MARK_IN_JSON: Final = re.compile(r"\x7f|\\u007f")  # as it is, and with ensure_ascii
_TOO_LONG: Final = Cause(Reason.CONSTRUCT, Place("", None, 0), "a text", detail=f"more than {LONGEST:,} characters")


def shown(value: object, cause: Cause) -> tuple[str | Symbol | Unknown, ...]:
    """A value as it stands in a formatted text; ``cause`` for an object whose text nobody knows."""
    parts = parts_of(value)
    if parts is not None:
        return parts
    if isinstance(value, Symbol):
        return (value,)
    if isinstance(value, Unknown):
        return (value,)
    if isinstance(value, Ref):
        return (Unknown((missing_module(value, cause.place),)),)
    return (str(value),) if known(value) else (Unknown((cause,)),)


def added(one: object, two: object) -> str | Text | Unknown | None:
    """One text after the other; None where one of them is no text."""
    first = (one,) if isinstance(one, (Symbol, Unknown)) else parts_of(one)
    second = (two,) if isinstance(two, (Symbol, Unknown)) else parts_of(two)
    if first is None or second is None or (isinstance(one, Unknown) and isinstance(two, Unknown)):
        return None
    made = text((*first, *second))
    return Unknown((_TOO_LONG,)) if isinstance(made, str) and len(made) > LONGEST else made


def formatted(template: object, values: list[object], names: Mapping[Any, object], cause: Cause) -> object:
    """``template.format(*values, **names)``."""
    if not isinstance(template, str):
        return _mixed(template, values, names, cause)
    parts: list[str | Symbol | Unknown] = []
    at = automatic = 0
    for found in _FIELD.finditer(template):
        parts.append(template[at : found.start()])
        at = found.end()
        if found[0] in {"{{", "}}"}:
            parts.append(found[0][0])
            continue
        name = found["name"]
        if name == "" or name.isdigit():
            index = int(name) if name else automatic
            automatic += 1
            value: object = values[index] if index < len(values) else Unknown((cause,))
        else:
            value = names.get(name, Unknown((cause,)))
        parts += specified(value, found["conversion"] or "", (found["spec"] or "")[1:], cause)
    return text([*parts, template[at:]])


def _mixed(template: object, values: list[object], names: Mapping[Any, object], cause: Cause) -> object:
    parts = parts_of(template)
    if parts is None:
        return Unknown((cause,))
    # Fields that count by themselves need all that stands before them.
    if sum("{" in part for part in parts if isinstance(part, str)) > 1 and values:
        return Unknown((cause,))
    made: list[str | Symbol | Unknown] = []
    for part in parts:
        inner = parts_of(formatted(part, values, names, cause)) if isinstance(part, str) else (part,)
        made += inner or (Unknown((cause,)),)
    return text(made)


def specified(value: object, conversion: str, spec: str, cause: Cause) -> tuple[str | Symbol | Unknown, ...]:
    """A value under a format specification. A width of thousands is not followed."""
    if not spec and conversion in {"", "!s"}:
        return shown(value, cause)
    if isinstance(value, Symbol) or (isinstance(value, Text) and value.symbols <= {Symbol.TIME}):
        return parts_of(value) or (Symbol.TIME,)
    if isinstance(value, Unknown):
        return (value,)
    if not known(value) or WIDEST.search(spec):
        return (Unknown((cause,)),)
    try:
        return (format(repr(value) if conversion == "!r" else value, spec),)
    except (ValueError, TypeError):
        return (Unknown((cause,)),)


def percent(template: str, values: object, cause: Cause) -> object:
    """``template % values``."""
    items = list(values) if isinstance(values, tuple) else [values]
    parts: list[str | Symbol | Unknown] = []
    raw: list[str] = []
    at = 0
    for found in _PERCENT.finditer(template):
        parts.append(template[at : found.start()])
        raw.append(template[at : found.start()])
        at = found.end()
        if found["kind"] == "%":
            parts.append("%")
            continue
        if found["name"]:
            value = values.get(found["name"], Unknown((cause,))) if isinstance(values, dict) else Unknown((cause,))
        else:
            value = items.pop(0) if items else Unknown((cause,))
        if found["kind"] == "s" and not found["spec"]:
            parts += shown(value, cause)
        elif known(value):
            try:
                parts.append(found[0].replace(f"({found['name']})", "") % value)
            except (TypeError, ValueError):
                parts.append(Unknown((cause,)))
        else:
            parts += shown(value, cause) if found["kind"] in "sd" else (Unknown((cause,)),)
    if any(isinstance(part, str) and "%" in part for part in [*raw, template[at:]]):
        return Unknown((cause,))  # a form that is not followed
    return text([*parts, template[at:]])


def joined(separator: object, items: list[object], cause: Cause) -> object:
    """``separator.join(items)``."""
    between = parts_of(separator)
    if between is None:
        return Unknown((cause,))
    made: list[str | Symbol | Unknown] = []
    for index, item in enumerate(items):
        made += between if index else ()
        made += shown(item, cause)
    return text(made)


def split(value: Text, separator: str, cause: Cause) -> list[object] | Unknown:
    """The text cut at ``separator``, where no placeholder in it can hold one."""
    safe = separator == "/" and Symbol.ROLE not in value.symbols and not value.causes
    if not safe:
        return unknown(value.causes or (cause,), rest=True)
    pieces: list[list[str | Symbol | Unknown]] = [[]]
    for part in value.parts:
        if not isinstance(part, str):
            pieces[-1].append(part)
            continue
        first, *more = part.split(separator)
        pieces[-1].append(first)
        pieces += [[piece] for piece in more]
    return [text(piece) for piece in pieces]


def begins(value: Text, prefix: str) -> bool | None:
    """Whether the text begins so; None where a placeholder decides it."""
    first = value.parts[0]
    if not isinstance(first, str):
        return None
    if len(first) >= len(prefix):
        return first.startswith(prefix)
    return None if prefix.startswith(first) else False


def ends(value: Text, suffix: str) -> bool | None:
    """Whether the text ends so; None where a placeholder decides it."""
    last = value.parts[-1]
    if not isinstance(last, str):
        return None
    if len(last) >= len(suffix):
        return last.endswith(suffix)
    return None if suffix.endswith(last) else False


def as_json(value: object, names: Mapping[str, Any]) -> str | Text:
    """``json.dumps(value, **names)`` of something with placeholders in its texts, which stay what they are. Raises TypeError for
    what JSON cannot hold, and ValueError for a text with the mark that stands for them meanwhile.
    """
    found: list[Symbol | Unknown] = []

    def marked(item: object) -> object:
        if isinstance(item, dict):
            return {key: marked(inner) for key, inner in item.items()}
        if isinstance(item, (list, tuple)):
            return [marked(inner) for inner in item]
        parts = (item,) if isinstance(item, Symbol) else parts_of(item)
        return item if parts is None else "".join(map(mark, parts))

    def mark(part: str | Symbol | Unknown) -> str:
        if isinstance(part, str):
            return part
        found.append(part)
        return f"{_MARK}{len(found) - 1}{_MARK}"

    pieces = _MARK_IN_JSON.split(json.dumps(marked(value), **names))
    if len(pieces) != 2 * len(found) + 1:
        raise ValueError("a text holds the mark itself")
    return text(found[int(piece)] if index % 2 else piece for index, piece in enumerate(pieces))
