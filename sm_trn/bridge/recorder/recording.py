"""What was recorded of a launcher's run: its calls, the requests that would have started something, what was refused."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ...core.preflight import secrets
from ...core.preflight.secrets import is_named_secret
from ...core.specs.json import Json

LAUNCHING: Final = (
    "CreateTrainingJob", "CreateModel", "CreateEndpointConfig", "CreateEndpoint", "CreateHyperParameterTuningJob",
    "CreateTransformJob", "CreateProcessingJob", "CreatePipeline",
)  # fmt: skip
REMOVED: Final = "REMOVED-BY-THE-RECORDER"
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
class CellFailure:
    """A cell that raised: its number (0 for a script), the line in it that did and that line's code, and the exception in one line.

    ``stopped`` says that it is the refusal of ``stop_at_submit``, as asked.
    """

    cell: int
    line: int
    code: str
    error: str
    stopped: bool = False

    def __str__(self) -> str:
        where = f"cell {self.cell}, line {self.line}" if self.cell else f"line {self.line}"
        return f"{where} failed: {self.code}: {self.error}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A run: its calls in order, uploads by their URI, what was refused, how it ended.

    >>> Recorded(calls=(), uploads={}, refused=(), exit_code=0).jobs
    ()
    """

    calls: tuple[RecordedCall, ...]
    uploads: Mapping[str, bytes] = field(repr=False)
    refused: tuple[str, ...] = ()
    exit_code: int = 0
    output: str = ""
    seconds: float = 0.0
    failures: tuple[CellFailure, ...] = ()

    @property
    def jobs(self) -> tuple[RecordedCall, ...]:
        """The calls of CreateTrainingJob."""
        return self.of("CreateTrainingJob")

    def of(self, operation: str) -> tuple[RecordedCall, ...]:
        """The calls of one operation."""
        return tuple(call for call in self.calls if call.operation == operation)


def without_secrets(request: Mapping[str, Json]) -> tuple[dict[str, Json], tuple[str, ...]]:
    """The request with each secret's value replaced, and where they were: by the name that the user gave, or by the value's form."""
    found: list[str] = []
    cleaned = {key: _cleaned(value, key, found) for key, value in request.items()}
    return cleaned, tuple(found)


def _cleaned(value: Any, path: str, found: list[str]) -> Any:
    if isinstance(value, Mapping):
        if "Key" in value and isinstance(value.get("Value"), str):  # a tag
            return {**value, "Value": _text(value["Value"], f"{path}.{value['Key']}", str(value["Key"]), found)}
        return {key: _cleaned(item, f"{path}.{key}", found) for key, item in value.items()}
    if isinstance(value, list):
        options = ["", *(item if isinstance(item, str) and item.startswith("--") else "" for item in value)]
        return [
            _text(item, path, option, found) if isinstance(item, str) else _cleaned(item, path, found)
            for option, item in zip(options, value, strict=False)
        ]
    above, _, last = path.rpartition(".")
    given = above.rpartition(".")[2] in _GIVEN
    return _text(value, path, last if given else "", found) if isinstance(value, str) else value


def _text(value: str, path: str, name: str, found: list[str]) -> str:
    cleaned = REMOVED if is_named_secret(name.lstrip("-"), value) else secrets.without_secrets(value, REMOVED)
    if cleaned != value and path not in found:
        found.append(path)
    return cleaned
