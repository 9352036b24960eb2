"""What methods of texts, lists and mappings, and Python's own functions, give – for what is known of their arguments."""

from __future__ import annotations

import json
import math
import posixpath
import re
import textwrap
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from . import texts
from .values import (
    LONGEST,
    Arguments,
    Cause,
    Instance,
    Symbol,
    Text,
    Unknown,
    causes_in,
    known,
    lacking,
    parts_of,
    text,
    unknown,
)

Names: TypeAlias = Mapping[Any, object]
_PURE_TEXT: Final = frozenset({
    "lower", "upper", "strip", "lstrip", "rstrip", "title", "capitalize", "split", "rsplit", "splitlines", "startswith",
    "endswith", "isdigit", "isalpha", "count", "find", "index", "partition", "rpartition", "removeprefix", "removesuffix",
    "swapcase", "isupper", "islower",
})  # fmt: skip
ERRORS: Final = (
    TypeError,
    ValueError,
    KeyError,
    IndexError,
    AttributeError,
    OverflowError,
    RecursionError,
    ZeroDivisionError,
)


def of_text(value: str | Text, name: str, given: Arguments, names: Names, cause: Cause) -> object:
    """``value.name(*given, **names)``."""
    if name == "format":
        return texts.formatted(value, given, names, cause)
    if name == "join" and len(given) == 1 and isinstance(given[0], (list, tuple)):
        return texts.joined(value, list(given[0]), cause)
    if name == "join" and len(given) == 1 and given[0] == Text((Symbol.TIME,)):
        return given[0]
    if name in {"encode", "decode"}:
        return value
    if isinstance(value, str) and known(given) and known(names):
        return _plain(value, name, given, names, cause)
    if isinstance(value, Text):
        return _of_mixed(value, name, given, cause)
    if name in {"startswith", "endswith", "replace", "split"}:
        return unknown([*causes_in(given), cause])
    return Unknown((cause,))


def _plain(value: str, name: str, given: Arguments, names: Names, cause: Cause) -> object:
    if name == "replace" and len(value) * max((len(str(item)) for item in given), default=0) > LONGEST:
        return Unknown((cause,))
    if name not in _PURE_TEXT | {"replace"}:
        return Unknown((cause,))
    try:
        found: object = getattr(value, name)(*given, **{str(key): item for key, item in names.items()})
    except ERRORS:
        return Unknown((cause,))
    return found


def _of_mixed(value: Text, name: str, given: Arguments, cause: Cause) -> object:
    if name == "split" and given == [":"] and value == Text((Symbol.ROLE,)):
        return ["arn", "aws", "iam", "", Text((Symbol.ACCOUNT,)), Unknown((cause,))]
    if name in {"split", "rsplit"} and len(given) == 1 and isinstance(given[0], str):
        return texts.split(value, given[0], cause)
    if name in {"startswith", "endswith"} and given and isinstance(given[0], str):
        decided = (texts.begins if name == "startswith" else texts.ends)(value, given[0])
        return unknown(value.causes or (cause,)) if decided is None else decided
    if name in {"strip", "rstrip", "lstrip"} and known(given):
        parts = list(value.parts)
        if name != "rstrip" and isinstance(parts[0], str):
            parts[0] = parts[0].lstrip(*given)  # type: ignore[arg-type]  # a text or nothing
        if name != "lstrip" and isinstance(parts[-1], str):
            parts[-1] = parts[-1].rstrip(*given)  # type: ignore[arg-type]  # as above
        return text(parts)
    if value.symbols <= {Symbol.TIME} and not value.causes and name in {"replace", "lower", "upper"} and known(given):
        changed = [_plain(part, name, given, {}, cause) if isinstance(part, str) else part for part in value.parts]
        return text([part for part in changed if isinstance(part, (str, Symbol, Unknown))])
    return unknown(value.causes or (cause,))


def of_list(value: list[object], name: str, given: Arguments, names: Names, cause: Cause) -> object:
    """A method of a list, done to it."""
    whole = not any(isinstance(item, Unknown) and item.rest for item in value)
    try:
        if name == "append" and given:
            value.append(given[0])
        elif name == "extend" and isinstance(given[0], (list, tuple)) and len(value) + len(given[0]) <= LONGEST:
            value.extend(given[0])
        elif name == "insert" and whole and isinstance(given[0], int):
            value.insert(given[0], given[1])
        elif name == "pop" and whole and isinstance(given[0] if given else -1, int):
            return value.pop(*given)  # type: ignore[arg-type]  # a number
        elif name == "copy":
            return list(value)
        elif name in {"index", "count"} and known(value) and known(given):
            return value.index(given[0]) if name == "index" else value.count(given[0])
        elif name in {"sort", "reverse"} and known(value) and known(names) and "key" not in names and not given:
            getattr(value, name)(**{str(key): item for key, item in names.items()})
        elif name in {"remove", "clear"} and known(value) and known(given):
            getattr(value, name)(*given)
        else:  # what it does to the list is not followed, so nothing is known of the list any more
            value[:] = [Unknown((cause,), rest=True)]
            return Unknown((cause,))
    except ERRORS:
        return Unknown((cause,))
    return None


def of_set(value: set[object], name: str, given: Arguments, cause: Cause) -> object:
    """A method of a set, done to it."""
    if known(value) and known(given) and not name.startswith("_"):
        with suppress(*ERRORS):
            return getattr(value, name)(*given) if name != "pop" else _lost_set(value, cause)
    return _lost_set(value, cause)


def _lost_set(value: set[object], cause: Cause) -> Unknown:
    """Nothing is known of it any more: what is done to it is not followed, or takes any of its items."""
    value.clear()
    value.add(Unknown((cause,), rest=True))
    return Unknown((cause,))


def of_mapping(value: dict[object, object], name: str, given: Arguments, names: Names, cause: Cause) -> object:
    """A method of a mapping, done to it."""
    try:
        if name == "update":
            _update(value, given, names, cause)
            return None
        if name in {"get", "setdefault", "pop"}:
            return _looked_up(value, name, given, cause)
        if name == "copy":
            return dict(value)
        if name in {"items", "keys", "values"}:
            return list(getattr(value, name)())
        if name == "clear":
            value.clear()
            return None
        if name == "popitem" and "…" not in value:
            return value.popitem()
    except ERRORS:
        return Unknown((cause,))
    value.clear()  # what it does to the mapping is not followed
    value["…"] = Unknown((cause,), rest=True)
    return Unknown((cause,))


def _update(value: dict[object, object], given: Arguments, names: Names, cause: Cause) -> None:
    for item in given:
        if isinstance(item, dict):
            value.update(item)
        elif isinstance(item, (list, tuple)) and all(
            isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in item
        ):
            value.update(dict(item))
        else:
            value.clear()  # it may have replaced what was there
            value["…"] = unknown([*causes_in(item), cause], rest=True)
    value.update(names)


def _looked_up(value: dict[object, object], name: str, given: Arguments, cause: Cause) -> object:
    key = given[0]
    if not known(key):
        return unknown([*causes_in(key), cause])
    if key not in value and "…" in value:
        return value["…"]
    if name == "setdefault":
        return value.setdefault(key, given[1] if len(given) > 1 else None)
    if name == "pop":
        return value.pop(key, given[1]) if len(given) > 1 else value.pop(key)
    return value.get(key, given[1] if len(given) > 1 else None)


def joined_path(given: Arguments, cause: Cause) -> object:
    """``os.path.join``, on the machine that the launcher is written for."""
    made: object = ""
    for item in given:
        parts = (item,) if isinstance(item, (Symbol, Unknown)) else parts_of(item)
        if parts is None:
            return Unknown((cause,))
        absolute = isinstance(parts[0], str) and parts[0].startswith("/") if parts else False
        before = (parts_of(made) or ()) if made != "" else ()
        if absolute or not before:
            made = text(parts)
        else:
            slash = isinstance(before[-1], str) and before[-1].endswith("/")
            made = text((*before, "" if slash else "/", *parts))
    return made


def pure_path(value: object) -> object:
    """A path as ``pathlib`` writes it: without double slashes, dots between slashes and a slash at its end."""
    parts = parts_of(value)
    if parts is None:
        return value
    if isinstance(value, str):
        return str(PurePosixPath(value))
    made = [re.sub(r"/(\./)*/*", "/", part) if isinstance(part, str) else part for part in parts]
    if isinstance(made[0], str):
        made[0] = re.sub(r"^(\./)+", "", made[0])
    if isinstance(made[-1], str):
        made[-1] = re.sub(r"(/\.?)+$", "", made[-1])
    return text(made)


def s3_joined(given: Arguments, cause: Cause) -> object:
    """``sagemaker.s3.s3_path_join``: parts without slashes at their ends, and the scheme kept."""
    kept = [item for item in given if item is not None and item != ""]
    made: list[str | Symbol | Unknown] = []
    for index, item in enumerate(kept):
        parts = (item,) if isinstance(item, (Symbol, Unknown)) else parts_of(item)
        if parts is None:
            return Unknown((cause,))
        ends = list(parts)
        if isinstance(ends[-1], str) and not (index == 0 and ends[-1].endswith("://")):
            ends[-1] = ends[-1].rstrip("/")
        if index and isinstance(ends[0], str):
            ends[0] = ends[0].lstrip("/")
        scheme = bool(made) and isinstance(made[-1], str) and made[-1].endswith("://")
        made += ([] if not made or scheme else ["/"]) + ends
    return text(made)


def _length(given: Arguments) -> object:
    value = given[0]
    items = list(value.values()) if isinstance(value, dict) else value
    if isinstance(items, (list, tuple, set)) and any(isinstance(item, Unknown) and item.rest for item in items):
        return None
    return len(value) if isinstance(value, (str, list, tuple, dict, set, range)) else None


def _copied(given: Arguments) -> object:
    return _deep(given[0], {})


def _deep(value: object, made: dict[int, object]) -> object:
    """Return a copy, in which a value that is held twice, or holds itself, is copied once."""
    if id(value) in made:
        return made[id(value)]
    if isinstance(value, dict):
        mapping: dict[object, object] = {}
        made[id(value)] = mapping
        mapping.update((key, _deep(item, made)) for key, item in value.items())
        return mapping
    if isinstance(value, list):
        items: list[object] = []
        made[id(value)] = items
        items.extend(_deep(item, made) for item in value)
        return items
    if isinstance(value, Instance):
        copied = Instance(value.cls, {}, value.place, value.own)
        made[id(value)] = copied
        copied.arguments.update((key, _deep(item, made)) for key, item in value.arguments.items())
        return copied
    return value


def _items(value: object) -> list[object] | None:
    if isinstance(value, dict):
        return list(value)
    if isinstance(value, (list, tuple, set, str)):
        return list(value)
    return list(islice(value, 2_000)) if isinstance(value, range) and len(value) <= 2_000 else None


def _made(kind: Callable[[list[object]], object]) -> Callable[[Arguments], object]:
    def make(given: Arguments) -> object:
        items = _items(given[0]) if given else []
        return kind(items) if items is not None else None

    return make


def _mapping(given: Arguments) -> object:
    if not given:
        return {}
    if isinstance(given[0], dict):
        return dict(given[0])
    pairs = _items(given[0])
    return None if pairs is None else dict(pairs)  # type: ignore[arg-type]  # pairs, or a TypeError that is caught


def _zipped(given: Arguments) -> object:
    columns = [_items(item) for item in given]
    return None if any(column is None for column in columns) else list(zip(*[c or [] for c in columns], strict=False))


def _counted(given: Arguments) -> object:
    items, start = _items(given[0]), given[1] if len(given) > 1 else 0
    return list(enumerate(items, start)) if items is not None and isinstance(start, int) else None


# Of these, None says that the arguments are not known well enough.
STRUCTURAL: Final[Mapping[str, Callable[[Arguments], object]]] = MappingProxyType(
    {
        "len": _length,
        "list": _made(list),
        "tuple": _made(tuple),
        "dict": _mapping,
        "zip": _zipped,
        "enumerate": _counted,
        "copy.deepcopy": _copied,
        "copy.copy": lambda given: dict(given[0]) if isinstance(given[0], dict) else given[0],
        "reversed": _made(lambda items: items[::-1]),
        "collections.OrderedDict": _mapping,
    }
)
# These compute: all their arguments are known and plain.
PURE: Final[Mapping[str, Callable[..., object]]] = MappingProxyType(
    {
        "int": int,
        "float": float,
        "bool": bool,
        "abs": abs,
        "min": min,
        "max": max,
        "sum": sum,
        "round": round,
        "range": range,
        "sorted": sorted,
        "set": set,
        "repr": repr,
        "any": any,
        "all": all,
        "divmod": divmod,
        "json.dumps": json.dumps,
        "json.loads": json.loads,
        "textwrap.dedent": textwrap.dedent,
        "math.ceil": math.ceil,
        "math.floor": math.floor,
        "math.sqrt": math.sqrt,
        "math.log": math.log,
        "math.log2": math.log2,
        "os.path.basename": posixpath.basename,
        "os.path.dirname": posixpath.dirname,
        "os.path.splitext": posixpath.splitext,
        "os.path.normpath": posixpath.normpath,
    }
)
CONSTANTS: Final[Mapping[str, object]] = MappingProxyType(
    {
        "os.sep": "/",
        "os.path.sep": "/",
        "math.pi": math.pi,
        "math.e": math.e,
        "logging.DEBUG": 10,
        "logging.INFO": 20,
        "logging.WARNING": 30,
        "logging.WARN": 30,
        "logging.ERROR": 40,
        "logging.CRITICAL": 50,
    }
)


def computed(path: str, given: Arguments, names: Names, cause: Cause) -> object:
    """One of Python's own functions, where all it needs is known; unknown elsewhere."""
    if path == "enumerate" and len(given) == 1 and set(names) == {"start"}:
        given, names = [*given, names["start"]], {}
    try:
        if path in STRUCTURAL and not (names and path not in {"dict", "collections.OrderedDict"}):
            found = STRUCTURAL[path](given)
            if path in {"dict", "collections.OrderedDict"} and isinstance(found, dict):
                return {**found, **names}
            return found if found is not None else unknown([*causes_in(given)] or [cause])
        if path in PURE and known(given) and known(names) and _small(given):
            return PURE[path](*given, **{str(key): item for key, item in names.items()})
    except ERRORS:
        return Unknown((cause,))
    if path == "json.dumps" and len(given) == 1 and known(names) and next(causes_in(given), None) is None:
        with suppress(*ERRORS):
            return texts.as_json(given[0], {str(key): item for key, item in names.items()})
    return unknown(lacking([*given, *names.values()], cause.place) or [cause])


def _small(given: Arguments) -> bool:
    """Whether computing with these costs nothing to speak of."""
    for item in given:
        if isinstance(item, (str, list, tuple, dict, set)) and len(item) > 20_000:
            return False
        if isinstance(item, range) and len(item) > 20_000:
            return False
    return True
