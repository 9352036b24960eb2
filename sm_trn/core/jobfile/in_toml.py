"""TOML text ↔ trees, and where each value stands: the parsers that exist do not tell. Knows no job."""

from __future__ import annotations

import re
import sys
from typing import Any

import tomli_w

from ..specs.json import Json
from .places import Path, Places

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_SPACE = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_PLAIN = re.compile(r"[^,\]}\n#]+")
_BASIC = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_STRINGS = (  # longest opening first
    re.compile(r'"""(?:[^\\]|\\[\s\S])*?"{3,5}(?!")'),
    re.compile(r"'''[\s\S]*?'{3,5}(?!')"),
    _BASIC,
    re.compile(r"'[^'\n]*'"),
)

DEEPEST = 64  # parts of a dotted key
_PART = re.compile(r"""[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'""")
# Comments and texts of several lines first: a key is looked for outside of them.
_TOKEN = re.compile(
    rf"#[^\n]*|{_STRINGS[0].pattern}|{_STRINGS[1].pattern}|(?P<path>(?:{_PART.pattern})(?:[ \t]*\.[ \t]*(?:{_PART.pattern}))*)"
)


def parse(text: str) -> tuple[Any, Places]:
    """The tree, and the places of its keys and values. Raises ValueError for what is not TOML, or has keys of too many parts."""
    _check_depth(text)
    tree = tomllib.loads(text)
    walker = _Walker(Places(text))
    walker.document()
    return tree, walker.places


def _check_depth(text: str) -> None:
    """Refuse a key of many parts before tomllib builds it: time and memory for one grow with their square."""
    for token in _TOKEN.finditer(text):
        if (path := token["path"]) and len(_PART.findall(path)) > DEEPEST:
            line = text.count("\n", 0, token.start()) + 1
            column = token.start() - text.rfind("\n", 0, token.start())
            raise ValueError(f"a key of more than {DEEPEST} parts (at line {line}, column {column})")


def dump(tree: dict[str, Json]) -> str:
    """The text of ``tree``. A table that mixes values and tables keeps their order, for which it is written in dotted keys."""
    mixed = {name: value for name, value in tree.items() if isinstance(value, dict) and _mixed(value)}
    text = tomli_w.dumps({name: value for name, value in tree.items() if name not in mixed})
    return text + "".join(f"\n[{_key(name)}]\n{_dotted(value)}" for name, value in mixed.items())


def _mixed(table: dict[str, Json]) -> bool:
    """Return True if these are texts and flat tables whose order tomli_w, which writes values before tables, would change."""
    kinds = [isinstance(value, dict) for value in table.values()]
    plain = [value for value in table.values() if not isinstance(value, dict)]
    tables = [value for value in table.values() if isinstance(value, dict)]
    flat = all(tables) and not any(map(_holds_tables, [plain, *(list(inner.values()) for inner in tables)]))
    return flat and kinds != sorted(kinds)


def _holds_tables(values: list[Json]) -> bool:
    """Return True if a value is a table, or a list of tables."""
    return any(isinstance(value, dict) or (isinstance(value, list) and _holds_tables(value)) for value in values)


def _dotted(table: dict[str, Json]) -> str:
    lines = []
    for name, value in table.items():
        parts = (
            {f"{_key(name)}.{_key(part)}": item for part, item in value.items()}
            if isinstance(value, dict)
            else {_key(name): value}
        )
        lines += [key + tomli_w.dumps({"_": item}).removeprefix("_") for key, item in parts.items()]
    return "".join(lines)


def _key(name: str) -> str:
    return tomli_w.dumps({name: 0}).removesuffix(" = 0\n")


class _Walker:
    """Walks a text that is known to be valid TOML."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self._text = places.text
        self._at = 0
        self._lengths: dict[Path, int] = {}

    def document(self) -> None:
        table: Path = ()
        self._skip()
        while self._at < len(self._text):
            if self._text[self._at] == "[":
                table = self._header()
            else:
                self._pair(table)
            self._skip()

    def _skip(self) -> None:
        match = _SPACE.match(self._text, self._at)
        self._at = match.end() if match else self._at

    def _header(self) -> Path:
        start = self._at
        several = self._text.startswith("[[", start)
        self._at += 2 if several else 1
        names = self._names()
        self._at += 2 if several else 1  # the closing brackets
        path: Path = ()
        for place, name in enumerate(names):
            path = (*path, name)
            last = place == len(names) - 1
            if last and several:
                self._lengths[path] = self._lengths.get(path, 0) + 1
                self.places.key(path, start, self._at)
            if path in self._lengths:
                path = (*path, self._lengths[path] - 1)
        self.places.key(path, start, self._at)
        return path

    def _names(self) -> list[str]:
        """A dotted key; ends after the spaces behind it."""
        names = []
        while True:
            self._skip()
            start = self._at
            match = _BARE.match(self._text, start)
            if match:
                self._at = match.end()
                names.append(match.group())
            else:
                self._at = self._string_end()
                names.append(next(iter(tomllib.loads(f"{self._text[start : self._at]} = 0"))))
            self._skip()
            if self._text[self._at] != ".":
                return names
            self._at += 1

    def _pair(self, table: Path) -> None:
        start = self._at
        path = (*table, *self._names())
        end = len(self._text[start : self._at].rstrip()) + start
        for length in range(len(table) + 1, len(path) + 1):
            self.places.key(path[:length], start, end)
        self._at += 1  # =
        self._value(path)

    def _value(self, path: Path) -> None:
        self._skip()
        start = self._at
        if self._text[start] == "[":
            self._array(path)
        elif self._text[start] == "{":
            self._inline(path)
        elif self._text[start] in "\"'":
            self._at = self._string_end()
        else:
            match = _PLAIN.match(self._text, start)
            self._at = start + len(match.group().rstrip()) if match else start
        self.places.value(path, start, self._at)

    def _array(self, path: Path) -> None:
        self._at += 1
        index = 0
        self._skip()
        while self._text[self._at] != "]":
            self._value((*path, index))
            index += 1
            self._comma()
        self._at += 1

    def _inline(self, path: Path) -> None:
        self._at += 1
        self._skip()
        while self._text[self._at] != "}":
            self._pair(path)
            self._comma()
        self._at += 1

    def _comma(self) -> None:
        self._skip()
        if self._text[self._at] == ",":
            self._at += 1
            self._skip()

    def _string_end(self) -> int:
        for form in _STRINGS:
            match = form.match(self._text, self._at)
            if match:
                return match.end()
        return self._at + 1
