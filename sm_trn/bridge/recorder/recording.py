"""What was recorded of a launcher's run: its calls, the requests that would have started something, what was refused."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, Final

from ...core.preflight import secrets
from ...core.preflight.secrets import is_named_secret
from ...core.specs.json import Json

LAUNCHING: Final = (
    "CreateTrainingJob", "CreateModel", "CreateEndpointConfig", "CreateEndpoint", "CreateHyperParameterTuningJob",
    "CreateTransformJob", "CreateProcessingJob", "CreatePipeline",
)  # fmt: skip
REMOVED: Final = "REMOVED-BY-THE-RECORDER"
STOOD_FOR: Final = re.compile(r"<[^<>]*: (?P<module>\w+) is not installed>")  # as the hook's stand-ins show themselves
SHORTEST: Final = 6  # characters of a secret that is looked for inside of texts
_GIVEN: Final = ("Environment", "HyperParameters", "StaticHyperParameters")  # their members are named by the user


@dataclass(frozen=True, slots=True)
class RecordedPlace:
    """A line of the launcher that made a call. ``file`` is as Python names it; ``<cell 7>`` is a notebook's."""

    file: str
    line: int

    @property
    def cell(self) -> int | None:
        """The cell's number, counted from 1; None for a file."""
        found = re.fullmatch(r"<cell (\d+)>", self.file)
        return int(found[1]) if found else None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCall:
    """One call of AWS as it was sent. ``request`` is its body where that is JSON, without the values of secrets."""

    service: str
    operation: str
    request: Mapping[str, Json] = field(default_factory=dict)
    places: tuple[RecordedPlace, ...] = ()
    secrets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Where the program, or a cell of it, raised: the cell's number (0 for a script) or the file, the innermost line of it and that
    line's code, and the exception in one line.

    ``stopped`` says that it is the refusal of ``stop_at_submit``, as asked.
    """

    line: int
    code: str
    error: str
    cell: int = 0
    file: str = ""
    stopped: bool = False

    def __str__(self) -> str:
        where = f"cell {self.cell}, " if self.cell else f"{PurePath(self.file).name}, " if self.file else ""
        return f"{where}line {self.line} failed: {self.code}: {self.error}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A run: its calls in order, uploads by their URI, what was refused, how it ended and how it was held.

    ``stand_ins`` are modules that the program imports and that are not installed: something stood for them.

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
    isolation: str = ""

    @property
    def jobs(self) -> tuple[RecordedCall, ...]:
        """The calls of CreateTrainingJob."""
        return self.of("CreateTrainingJob")

    @property
    def searches(self) -> tuple[RecordedCall, ...]:
        """The calls of CreateHyperParameterTuningJob."""
        return self.of("CreateHyperParameterTuningJob")

    def of(self, operation: str) -> tuple[RecordedCall, ...]:
        """The calls of one operation."""
        return tuple(call for call in self.calls if call.operation == operation)


def without_secrets(request: Mapping[str, Json], hidden: Sequence[str] = ()) -> tuple[dict[str, Json], tuple[str, ...]]:
    """The request with each secret's value replaced, and where they were: by the name that the user gave, by the value's form, or
    because it is one of the values that are ``hidden``.
    """
    found: list[str] = []
    cleaned = {key: _cleaned(value, key, found, hidden) for key, value in request.items()}
    return cleaned, tuple(found)


def _cleaned(value: Any, path: str, found: list[str], hidden: Sequence[str]) -> Any:
    if isinstance(value, Mapping):
        if "Key" in value and isinstance(value.get("Value"), str):  # a tag
            return {**value, "Value": _text(value["Value"], f"{path}.{value['Key']}", str(value["Key"]), found, hidden)}
        return {key: _cleaned(item, f"{path}.{key}", found, hidden) for key, item in value.items()}
    if isinstance(value, list):
        options = ["", *(item if isinstance(item, str) and item.startswith("--") else "" for item in value)]
        return [
            _text(item, path, option, found, hidden) if isinstance(item, str) else _cleaned(item, path, found, hidden)
            for option, item in zip(options, value, strict=False)
        ]
    above, _, last = path.rpartition(".")
    given = above.rpartition(".")[2] in _GIVEN
    return _text(value, path, last if given else "", found, hidden) if isinstance(value, str) else value


def _text(value: str, path: str, name: str, found: list[str], hidden: Sequence[str]) -> str:
    named = is_named_secret(name.lstrip("-"), value)
    cleaned = REMOVED if named else secrets.without_secrets(without(value, hidden), REMOVED)
    if cleaned != value and path not in found:
        found.append(path)
    return cleaned


def without(text: str, hidden: Sequence[str]) -> str:
    """The text without the values that are hidden; a short one is hidden where it is all of the text."""
    for value in hidden:
        text = text.replace(value, REMOVED) if len(value) >= SHORTEST or value == text else text
    return text
