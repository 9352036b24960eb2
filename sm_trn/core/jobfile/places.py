"""Where in a text a key and its value stand. Knows no format and no job."""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass, field
from typing import TypeAlias

Path: TypeAlias = tuple[str | int, ...]
_PART = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class Place:
    """``line`` counts from 1, ``column`` from 0; ``width`` characters of that line."""

    line: int
    column: int
    width: int


class PlacedError(ValueError):
    """A text that is not of its format, and where the parser noticed it."""

    def __init__(self, reason: str, place: Place | None) -> None:
        super().__init__(reason)
        self.place = place


@dataclass(slots=True)
class Places:
    """The places of a text's values and keys by path, filled while the text is walked. A table stands where its key does."""

    text: str
    values: dict[Path, Place] = field(default_factory=dict)
    keys: dict[Path, Place] = field(default_factory=dict)
    _starts: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._starts = [0, *(match.end() for match in re.finditer("\n", self.text))]

    def place(self, start: int, end: int) -> Place:
        """The part of ``text[start:end]`` that lies on its first line."""
        line = bisect.bisect_right(self._starts, start) - 1
        newline = self.text.find("\n", start, end)
        return Place(line + 1, start - self._starts[line], (newline if newline >= 0 else end) - start)

    def value(self, path: Path, start: int, end: int) -> None:
        self.values[path] = self.place(start, end)

    def key(self, path: Path, start: int, end: int) -> None:
        self.keys[path] = self.place(start, end)

    def find(self, path: Path) -> Place | None:
        """The place of ``path``, or of the nearest table around it."""
        for length in range(len(path), 0, -1):
            place = self.values.get(path[:length]) or self.keys.get(path[:length])
            if place is not None:
                return place
        return None

    def find_key(self, path: Path) -> Place | None:
        """The place of the last key of ``path``, or else ``find``'s answer."""
        return self.keys.get(path) or self.find(path)

    def follow(self, base: Path, where: str) -> Path:
        """A field path such as ``metrics[0].regex`` as a path below ``base``.

        A name that itself holds dots (``hyperparameters.a.b``) is taken whole when the text has such a key.
        """
        names: list[str | int] = [int(index) if index else name for name, index in _PART.findall(where)]
        path = base
        while names:
            whole = ".".join(str(name) for name in names)
            if len(names) > 1 and (*path, whole) in self.keys:
                return (*path, whole)
            path = (*path, names.pop(0))
        return path
