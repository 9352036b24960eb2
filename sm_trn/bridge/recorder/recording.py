"""A recorded run of a launcher: its calls, its uploads, and where it failed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, Final

from ...core.preflight import secrets
from ...core.preflight.secrets import is_named_secret
from ...core.specs.json import Json
from ..sites import Place

REMOVED: Final = "REMOVED-BY-THE-RECORDER"
STOOD_FOR: Final = re.compile(r"<[^<>]*: (?P<module>\w+) is not installed>")  # as the hook's stand-ins show themselves
SHORTEST: Final = 6  # characters of a secret that is looked for inside of texts
_GIVEN: Final = ("Environment", "HyperParameters", "StaticHyperParameters")  # their members are named by the user


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCall:
    """A call of AWS as it was sent. ``request`` is its body where that is JSON, without the values of secrets.

    ``places`` are the launcher's lines that made the call, the innermost first; ``made_at`` those that made its estimator.
    ``direct`` calls are those that it made by boto3 itself, whose answers it sees.
    """

    service: str
    operation: str
    request: Mapping[str, Json] = field(default_factory=dict)
    region: str = ""
    places: tuple[Place, ...] = ()
    made_at: tuple[Place, ...] = ()
    direct: bool = False
    secrets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Where the program, or a cell of it, raised: the cell's number (0 for a script) or the file, the innermost line of it and that
    line's code, and the exception in one line.
    """

    line: int
    code: str
    error: str
    cell: int = 0
    file: str = ""

    def __str__(self) -> str:
        where = f"cell {self.cell}, " if self.cell else f"{PurePath(self.file).name}, " if self.file else ""
        return f"{where}line {self.line} failed: {self.code}: {self.error}"


@dataclass(frozen=True, slots=True)
class Swallowed:
    """An argument that an estimator does not know and that SDK v2 takes without a word, and the argument that was meant."""

    name: str
    meant: str
    file: str
    line: int
    cell: int = 0

    def __str__(self) -> str:
        where = f"cell {self.cell}, " if self.cell else f"{PurePath(self.file).name}, " if self.file else ""
        meant = f"; {self.meant!r} was meant" if self.meant else ""
        return f"{where}line {self.line}: SDK v2 does not know {self.name!r} and drops it without a word{meant}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A run: its calls in order, uploads by their URI, addresses that were refused, and how it ended.

    ``stand_ins`` are modules and files that are not here and that something stood for, ``variables`` those that it looked for and
    that are not set, ``swallowed`` arguments that SDK v2 dropped; ``limit`` is the limit that ended it.

    >>> Recorded(calls=(), uploads={}, refused=(), exit_code=0).jobs
    ()
    """

    calls: tuple[RecordedCall, ...]
    uploads: Mapping[str, bytes] = field(repr=False)
    refused: tuple[str, ...] = ()
    exit_code: int = 0
    output: str = ""
    seconds: float = 0.0
    failures: tuple[Failure, ...] = ()
    stand_ins: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    swallowed: tuple[Swallowed, ...] = ()
    limit: str = ""
    sealed: bool = True

    @property
    def jobs(self) -> tuple[RecordedCall, ...]:
        """The calls of CreateTrainingJob."""
        return self.of("CreateTrainingJob")

    def of(self, operation: str) -> tuple[RecordedCall, ...]:
        """The calls of one operation."""
        return tuple(call for call in self.calls if call.operation == operation)


def without_secrets(request: Mapping[str, Json], hidden: Sequence[str] = ()) -> tuple[dict[str, Json], tuple[str, ...]]:
    """The request with each secret's value replaced, and where they were: by the name that the user gave, by the value's form, or
    because it is one of the values that are ``hidden``.
    """
    paths: list[str] = []
    cleaned = {key: _cleaned(value, key, paths, hidden) for key, value in request.items()}
    return cleaned, tuple(paths)


def _cleaned(value: Any, path: str, paths: list[str], hidden: Sequence[str]) -> Any:
    if isinstance(value, Mapping):
        if "Key" in value and isinstance(value.get("Value"), str):  # a tag
            return {**value, "Value": _text(value["Value"], f"{path}.{value['Key']}", str(value["Key"]), paths, hidden)}
        return {key: _cleaned(item, f"{path}.{key}", paths, hidden) for key, item in value.items()}
    if isinstance(value, list):
        options = ["", *(item if isinstance(item, str) and item.startswith("--") else "" for item in value)]
        return [
            _text(item, path, option, paths, hidden) if isinstance(item, str) else _cleaned(item, path, paths, hidden)
            for option, item in zip(options, value, strict=False)
        ]
    above, _, last = path.rpartition(".")
    given = above.rpartition(".")[2] in _GIVEN
    return _text(value, path, last if given else "", paths, hidden) if isinstance(value, str) else value


def _text(value: str, path: str, name: str, paths: list[str], hidden: Sequence[str]) -> str:
    named = is_named_secret(name.lstrip("-"), value)
    cleaned = REMOVED if named else secrets.without_secrets(without(value, hidden), REMOVED)
    if cleaned != value and path not in paths:
        paths.append(path)
    return cleaned


def without(text: str, hidden: Sequence[str]) -> str:
    """The text without the values that are hidden; a short one is hidden where it is all of the text."""
    for value in hidden:
        text = text.replace(value, REMOVED) if len(value) >= SHORTEST or value == text else text
    return text
