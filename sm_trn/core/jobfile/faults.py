"""Faults of a job file as values, read from cattrs' exceptions. Knows no format."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from textwrap import wrap

from cattrs.errors import ClassValidationError, ForbiddenExtraKeysError, IterableValidationError

from ..specs.value import suggestion
from .places import Path, Place

WIDTH = 79
_FIELD_MESSAGE = re.compile(r"^(?P<field>[a-z_0-9.]+): got (?P<got>.+), wanted (?P<wanted>.+)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """``path`` leads to the value, or to the key when ``at_key``. ``file``, ``place`` and its ``line`` are known once it was located."""

    what: str
    path: Path = ()
    got: str = ""
    wanted: str = ""
    fix: str = ""
    keys: tuple[str, ...] = ()
    at_key: bool = False
    file: str = "job file"
    place: Place | None = None
    line: str = ""

    @property
    def field(self) -> str:
        """``path`` as people write it: ``job[1].compute.count``."""
        words = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in self.path)
        return "".join(words).lstrip(".")

    def __str__(self) -> str:
        lines = [f"{self.what} in {self.file}"]
        if self.place is not None:
            lines.append(f"  --> {self.file}:{self.place.line}")
        if self.place is not None and self.line:
            number, mark = self.place.line, " " * self.place.column + "^" * max(1, self.place.width)
            lines += ["   |", f"{number:>2} | {self.line}", f"   | {mark}"]
        notes = [f"{word}: {text}" for word, text in (("got", self.got), ("wanted", self.wanted)) if text]
        notes += [self.fix] if self.fix else []
        notes += [f"keys here: {', '.join(self.keys)}"] if self.keys else []
        for note in notes:
            first, *rest = wrap(note, WIDTH - 5, break_long_words=False, break_on_hyphens=False)
            lines += [f"   = {first}", *(f"     {line}" for line in rest)]
        return "\n".join(lines)


class MismatchError(ValueError):
    """A value of the wrong kind, raised while a tree is structured; ``below`` leads on from where it is raised."""

    def __init__(self, *, got: object, wanted: str, fix: str = "", below: Path = ()) -> None:
        self.fault = Fault(what="", path=below, got=shown(got), wanted=wanted, fix=fix)
        super().__init__(f"got {self.fault.got}, wanted {wanted}")


class UnknownKeyError(ValueError):
    """A key, or the ``kind`` of a union, that does not exist."""

    def __init__(self, word: object, known: tuple[str, ...], *, below: Path, kind: bool = False) -> None:
        self.fault = unknown(str(word), known, path=below, kind=kind)
        super().__init__(self.fault.what)


def unknown(word: str, known: tuple[str, ...], *, path: Path, kind: bool = False) -> Fault:
    """``did you mean …`` and the keys, or kinds, that there are."""
    meant = suggestion(word, known).strip(" ()?").replace("'", '"')
    return Fault(
        what=f'unknown {"kind" if kind else "key"} "{word}"',
        path=path,
        fix=f"{meant}?" if meant else "",
        keys=() if kind else known,
        wanted=" or ".join(f'"{name}"' for name in known) if kind else "",
        at_key=not kind,
    )


def shown(value: object) -> str:
    """A value as a file writes it, with the name of its kind."""
    kinds = {bool: "true or false", str: "text", int: "a whole number", float: "a number", type(None): "nothing"}
    if isinstance(value, Mapping):
        return f"a table with {', '.join(map(str, value))}" if value else "an empty table"
    if isinstance(value, (list, tuple)):
        return f"a list of {len(value)}"
    if type(value) not in kinds:
        return f"a {type(value).__name__}, {value}"
    if value is None:
        return "nothing"
    text = json.dumps(value, ensure_ascii=False)
    return f"{text if len(text) <= 60 else text[:57] + '…'} ({kinds[type(value)]})"


def faults_of(error: BaseException, path: Path = ()) -> Iterator[Fault]:
    """Every fault inside what cattrs raised."""
    if isinstance(error, (ClassValidationError, IterableValidationError)):
        for inner in error.exceptions:
            yield from faults_of(inner, path + _step(inner))
    elif isinstance(error, ForbiddenExtraKeysError):
        known = tuple(each.name for each in dataclasses.fields(error.cl) if each.init) if error.cl is not None else ()
        if hasattr(error.cl, "family") or hasattr(error.cl, "image_family"):  # one of a union: a table names its kind
            known = ("kind", *known)
        for key in sorted(map(str, error.extra_fields)):
            yield unknown(key, known, path=(*path, key))
    elif isinstance(error, (MismatchError, UnknownKeyError)):
        whole = dataclasses.replace(error.fault, path=path + error.fault.path)
        yield dataclasses.replace(whole, what=whole.what or f"wrong value of {whole.field or 'the file'}")
    elif isinstance(error, KeyError):
        yield Fault(what=f'missing key "{path[-1]}"', path=path[:-1], wanted=f"{path[-1]} = …")
    else:
        yield _refused(str(error), path)


def _step(error: BaseException) -> Path:
    """The key or index that cattrs noted on ``error``."""
    for note in getattr(error, "__notes__", ()):
        for attribute in ("name", "index"):
            if hasattr(note, attribute):
                return (getattr(note, attribute),)
    return ()


def _refused(message: str, path: Path) -> Fault:
    """A value's own refusal of nonsense: ``compute.count: got 0, wanted at least 1``."""
    parts = _FIELD_MESSAGE.match(message)
    if parts is None:
        return Fault(what=message, path=path)
    below = tuple(parts["field"].split("."))
    start = next((at for at in range(len(path)) if path[at:] == below[: len(path) - at]), len(path))
    return Fault(
        what=f"wrong value of {parts['field']}", path=path[:start] + below, got=parts["got"], wanted=parts["wanted"]
    )
