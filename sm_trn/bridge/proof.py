"""The request that an SDK sent against the one that this package sends for the same job, field by field."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ..core.specs.json import Json
from .recorder.recording import without_secrets

# What items of a list are named by: SDK v2 sends tensor collections in no order.
_NAMES: Final = ("ChannelName", "Name", "Key", "InstanceGroupName", "CollectionName", "RuleConfigurationName")
_STAMP: Final = re.compile(r"-\d{4}(-\d\d){5}-\d{3}$")


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """A field that the SDK sent with one value and this package sends with another; None is absent."""

    field: str
    sent: Any
    ours: Any

    def __str__(self) -> str:
        return f"{self.field}: the SDK sent {self.sent!r}, we send {self.ours!r}"


@dataclass(frozen=True, slots=True)
class Proof:
    """The number of fields in the two requests, and those that differ."""

    fields: int
    differences: tuple[FieldDifference, ...]

    def __str__(self) -> str:
        if not self.differences:
            return f"equal to what the SDK sent, {self.fields} fields"
        rows = "".join(f"\n    {each}" for each in self.differences)
        return f"{len(self.differences)} of {self.fields} fields differ from what the SDK sent{rows}"


def compare(ours: Mapping[str, Json], sent: Mapping[str, Json]) -> Proof:
    """Compare the request that we send with the one that was recorded. The SDK's time stamp in the job's name is not compared."""
    ours, _ = without_secrets(ours)  # as the recorder does
    name, base = str(sent.get("TrainingJobName", "")), str(ours.get("TrainingJobName", ""))
    if name != base and _STAMP.sub("", name) == base:
        sent = _renamed(sent, name, base)
    one, two = dict(_flat(sent, "")), dict(_flat(ours, ""))
    fields = list(dict.fromkeys((*one, *two)))
    return Proof(
        len(fields),
        tuple(
            FieldDifference(field, one.get(field), two.get(field))
            for field in fields
            if not (type(one.get(field)) is type(two.get(field)) and one.get(field) == two.get(field))
        ),
    )


def _renamed(value: Any, name: str, base: str) -> Any:
    if isinstance(value, Mapping):
        return {key: _renamed(item, name, base) for key, item in value.items()}
    if isinstance(value, list):
        return [_renamed(item, name, base) for item in value]
    return value.replace(name, base) if isinstance(value, str) else value


def _flat(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from _flat(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and value:
        words = [_word(item, str(index)) for index, item in enumerate(value)]
        twice = {word for word in words if words.count(word) > 1}  # told apart by what they hold
        for word, item in zip(words, value, strict=True):
            more = f" {json.dumps(item, sort_keys=True, default=str)}" if word in twice else ""
            yield from _flat(item, f"{path}[{word}{more}]")
    else:
        yield path, value


def _word(item: object, index: str) -> str:
    return next((str(item[key]) for key in _NAMES if key in item), index) if isinstance(item, Mapping) else index
