"""JSON text ↔ trees, and where each value stands. Knows no job."""

from __future__ import annotations

import json
import re
from typing import Any

from ..specs.json import Json
from .places import Path, PlacedError, Places

_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()


def parse(text: str) -> tuple[Any, Places]:
    """The tree, and the places of its keys and values. Raises ValueError for what is not JSON, or has a key twice."""
    tree = json.loads(text)
    places = Places(text)
    _walk(places, (), 0)
    return tree, places


def dump(tree: dict[str, Json]) -> str:
    return json.dumps(tree, indent=2, ensure_ascii=False) + "\n"


def _space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _walk(places: Places, path: Path, at: int) -> int:
    """Note the value that starts after the spaces at ``at`` of valid JSON; the index behind it."""
    text = places.text
    start = _space(text, at)
    if text[start] not in "{[":
        end = _DECODER.raw_decode(text, start)[1]
        places.value(path, start, end)
        return end
    closing = "}" if text[start] == "{" else "]"
    at = _space(text, start + 1)
    index = 0
    while text[at] != closing:
        step: str | int = index
        if closing == "}":
            step, end = _DECODER.raw_decode(text, at)
            if (*path, step) in places.keys:
                raise PlacedError(f"key {step!r} stands twice in one object", places.place(at, end))
            places.key((*path, step), at, end)
            at = _space(text, end) + 1  # the colon
        at = _space(text, _walk(places, (*path, step), at))
        index += 1
        if text[at] == ",":
            at = _space(text, at + 1)
    if closing == "]" or path not in places.keys:
        places.value(path, start, at + 1)
    return at + 1
