"""The code of a script or notebook as one module of concrete syntax, and back, with every byte outside of changed code as it was.

Magics, shell lines and cells that are no Python stand in the module as comments with a mark, and come back as they were.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import libcst as cst

from ...core.errors import SmTrnError
from ..launchers.source import Unread, cells, parsed
from ..launchers.values import Place

_BOM: Final = "\ufeff"
_CELL: Final = re.compile(r"^#⟦cell (\d+)⟧$")
_RAW: Final = re.compile(r"^.*#⟦line (\d+)⟧$")


@dataclass(frozen=True, slots=True)
class Program:
    """A file as one module. ``lines`` are those that stand in it as marks; ``starts`` are the module's lines, counted from 1,
    after which a cell begins, by the cell's number."""

    name: str
    text: str
    module: cst.Module
    lines: tuple[str, ...]
    starts: tuple[tuple[int, int], ...]

    def place(self, line: int) -> Place:
        """The cell and line of the file that a line of the module is."""
        cell, start = max(((number, start) for number, start in self.starts if start < line), default=(0, 0))
        return Place(self.name, cell or None, line - start)

    def line(self, place: Place) -> int:
        """The module's line of a place in the file."""
        return dict(self.starts).get(place.cell or 0, 0) + place.line

    def written(self, module: cst.Module) -> str:
        """The file's text with ``module`` as its code.

        Raises SmTrnError for a notebook whose JSON is in a style that cannot be kept, and where a magic was lost.
        """
        if not self.name.endswith(".ipynb"):
            return (_BOM if self.text.startswith(_BOM) else "") + module.code
        old, new = self._cells(self.module.code), self._cells(module.code)
        changed = {number: source for number, source in new.items() if source != old[number]}
        return _notebook(self.text, self.name, changed) if changed else self.text

    def _cells(self, code: str) -> dict[int, str]:
        sources: dict[int, list[str]] = {}
        number, marks = 0, 0
        for line in code.split("\n"):
            if begun := _CELL.match(line):
                number = int(begun[1])
                sources[number] = []
            elif raw := _RAW.match(line):
                sources[number].append(self.lines[int(raw[1])])
                marks += 1
            elif number:
                sources[number].append(line)
        if len(sources) != len(self.starts) or marks != len(self.lines):
            raise SmTrnError(f"{self.name}: a magic stands inside of a call that is written anew; nothing was written")
        last = max(sources, default=0)
        return {number: "\n".join(rows if number != last else rows[:-1]) for number, rows in sources.items()}


def parse_program(text: str, name: str) -> Program:
    """Read a script or notebook. Raises SmTrnError for one that is no Python."""
    code, lines, starts = (text.removeprefix(_BOM), (), ()) if not name.endswith(".ipynb") else _joined(text, name)
    try:
        module = cst.parse_module(code)
    except cst.ParserSyntaxError as error:
        raise SmTrnError(f"{name}, line {error.raw_line}: no Python 3: {error.message}") from None
    return Program(name, text, module, tuple(lines), tuple(starts))


def _joined(text: str, name: str) -> tuple[str, list[str], list[tuple[int, int]]]:
    """All cells as one text: a marked comment before each, and one in the place of each line that is no Python."""
    rows: list[str] = []
    raws: list[str] = []
    starts: list[tuple[int, int]] = []
    for cell in cells(name, text):
        rows.append(f"#⟦cell {cell.number}⟧")
        starts.append((cell.number or 0, len(rows)))
        unread = isinstance(parsed(cell), Unread)
        for raw, line in zip(cell.raw.split("\n"), cell.code.split("\n"), strict=True):
            if raw == line and not unread:
                rows.append(line)
                continue
            kept = "" if unread else line.rstrip()
            rows.append(f"{kept}{'  ' if kept else ''}#⟦line {len(raws)}⟧")
            raws.append(raw)
    return "\n".join(rows) + "\n", raws, starts


def _notebook(text: str, name: str, sources: Mapping[int, str]) -> str:
    style = _style(text)
    tree = json.loads(text.removeprefix(_BOM))
    listed = tree.get("cells") if isinstance(tree, dict) else None
    code = [cell for cell in listed or () if isinstance(cell, dict) and cell.get("cell_type") == "code"]
    if style is None or len(code) < max(sources):
        raise SmTrnError(
            f"{name}: got JSON in a style that cannot be kept byte for byte, wanted that of Jupyter; nothing was written"
        )
    for number, source in sources.items():
        is_list = isinstance(code[number - 1].get("source"), list)
        code[number - 1]["source"] = source.splitlines(keepends=True) if is_list else source
    return style.written(tree)


@dataclass(frozen=True, slots=True)
class _Style:
    indent: int | None
    ascii_only: bool
    end: str
    crlf: bool
    mark: str

    def written(self, tree: object) -> str:
        body = json.dumps(tree, indent=self.indent, ensure_ascii=self.ascii_only) + self.end
        return self.mark + (body.replace("\n", "\r\n") if self.crlf else body)


def _style(text: str) -> _Style | None:
    """How the file is written, found by writing it again."""
    try:
        tree = json.loads(text.removeprefix(_BOM))
    except (ValueError, RecursionError):
        return None
    mark = _BOM if text.startswith(_BOM) else ""
    styles = (
        _Style(indent, plain, end, crlf, mark)
        for indent in (1, 2, 4, None)
        for plain in (False, True)
        for end in ("\n", "")
        for crlf in (False, True)
    )
    return next((style for style in styles if style.written(tree) == text), None)
