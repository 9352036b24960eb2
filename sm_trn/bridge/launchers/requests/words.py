"""Small parts of a request: tables with what is there, switches, encoded values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ....core import fields
from ....core.specs.json import Json


def inner(options: Mapping[str, Json], word: str) -> Mapping[str, Json]:
    inner = options.get(word)
    return inner if isinstance(inner, Mapping) else {}


def enabled(options: Mapping[str, Json], word: str) -> bool:
    return bool(inner(options, word).get("enabled", False))


def encoded(value: Any) -> str:
    return json.dumps(value)


def given(**fields: Any) -> dict[str, Json]:
    return {name: value for name, value in fields.items() if value is not None}


def collection(name: Json, parameters: Json) -> dict[str, Json]:
    """A collection of tensors as it is sent."""
    said = {"name": name, "parameters": parameters} if parameters else {"name": name}
    return fields.translate(fields.COLLECTION, said, "v2", "request")
