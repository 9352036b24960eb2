"""A table as lines of a terminal: columns that fit, names cut in the middle. It knows no job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from . import numbers as fmt
from .printable import cut, cut_apart, one_line
from .table import SMALLEST_CHANGE_PCT, Align, Cell, Column, Mark, Row, Table
from .theme import marker, painted


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """Where lines are shown. ``height`` None: lines may scroll."""

    width: int = 80
    height: int | None = None
    color: bool = False
    ascii_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How a table is laid out: ``gap`` cells between columns, and names of at most ``longest`` cells.

    Columns go until names have ``least`` cells (None: until they are whole); those of rank ``yielding`` or higher go until
    every name is whole. ``full``: the names take all the width that is left. ``share``: what all names begin with stands in
    the head only. ``stack``: where a line is too long, each name has a line of its own.
    """

    gap: int = 2
    longest: int = 28
    least: int | None = None
    yielding: int | None = None
    full: bool = False
    share: bool = False
    stack: bool = False


WIDE = 10_000  # of a pipe, whose lines end where they end
WHOLE_NAMES = Layout(longest=WIDE)
NAMES = Layout(longest=WIDE, stack=True)  # people copy these names, so none is cut


@dataclass(frozen=True, slots=True)
class _Strip:
    """A column with its texts, one for each row that has cells."""

    column: Column
    head: str
    texts: tuple[str, ...]
    changes: tuple[str, ...]
    width: int

    def cell(self, text: str, role: str = "", *, color: bool = False) -> str:
        space = " " * (self.width - len(text))
        shown = painted(text, role, color=color)
        return shown + space if self.column.align is Align.LEFT else space + shown


@dataclass(frozen=True, slots=True)
class _Arranged:
    """The columns that fit, and the names with their width."""

    head: str
    names: tuple[str, ...]
    width: int
    stacked: bool
    indent: str
    strips: tuple[_Strip, ...]


def table_lines(table: Table, screen: Screen, layout: Layout = Layout()) -> list[str]:
    """The head, then one line for each row, and one below it where a cell has a change against the baseline."""
    arranged = _arrange(table, screen, layout)
    strips, width, gap = arranged.strips, arranged.width, " " * layout.gap
    if arranged.stacked:
        gap = f"\n{gap}"

    def line(start: str, cells: Sequence[str]) -> str:
        first, *others = cells or [""]
        return f"{start}{gap}{(' ' * layout.gap).join([first, *others])}"

    lines = [line(f"{arranged.indent}{arranged.head:<{width}}", [strip.cell(strip.head) for strip in strips])]
    for place, (row, name) in enumerate(zip(table.rows, cut_apart(arranged.names, width), strict=True)):
        start = _mark(row.mark, screen) if row.mark is not None else arranged.indent
        start += f"{name:<{width}}"
        cells = [
            strip.cell(strip.texts[place], row.cells[strip.column.name].role, color=screen.color) for strip in strips
        ]
        lines.append(line(start, cells))
        changes = [strip.changes[place] for strip in strips]
        if any(changes):
            under = [strip.cell(change) for strip, change in zip(strips, changes, strict=True)]
            lines.append(line(" " * (width + len(arranged.indent)), under))
    return [part.rstrip() for text in lines for part in text.split("\n")]


def columns_shown(table: Table, screen: Screen, layout: Layout = Layout()) -> tuple[str, ...]:
    """The names of the columns that ``table_lines`` has room for."""
    return tuple(strip.column.name for strip in _arrange(table, screen, layout).strips)


def _arrange(table: Table, screen: Screen, layout: Layout) -> _Arranged:
    names = [f"{one_line(row.name)}{row.suffix}" for row in table.rows]
    if table.ranked:
        wide = max(len(str(row.rank or "-")) for row in table.rows)
        names = [f"{row.rank or '-':>{wide}} {name}" for row, name in zip(table.rows, names, strict=True)]
    prefix = _common_prefix(names) if layout.share else ""
    names = [name.removeprefix(prefix) for name in names]
    head = one_line(table.rows_are).upper() + (f", {prefix}…" if prefix else "")
    indent = "  " if any(row.mark is not None for row in table.rows) else ""
    room = screen.width - len(indent)
    wanted = min(max(map(len, [head, *names])), layout.longest)
    strips = _fitting([_strip(column, table.rows) for column in table.columns if column.in_text], room, wanted, layout)
    left = room - _needed(strips, layout)
    width = (
        left
        if layout.full
        else wanted
        if layout.least is None
        else max(min(8, layout.least, wanted), min(wanted, left))
    )
    stacked = layout.stack and left < wanted
    return _Arranged(cut(head, width), tuple(names), width, stacked, indent, tuple(strips))


def _strip(column: Column, rows: Sequence[Row]) -> _Strip:
    cells = [row.cells[column.name] for row in rows]
    head = one_line(column.short or column.label.upper())
    texts = tuple(one_line(column.words(cell)) for cell in cells)
    changes = tuple(map(_change, cells))
    width = max(column.least, *map(len, (head, *texts, *changes)))
    return _Strip(column, head, texts, changes, width)


def _change(cell: Cell) -> str:
    change = cell.change_pct
    return "" if change is None or abs(change) < SMALLEST_CHANGE_PCT else fmt.percent(change, signed=True)


def _fitting(strips: Sequence[_Strip], room: int, wanted: int, layout: Layout) -> list[_Strip]:
    """The columns that fit, in their order: those of the highest rank go first, and of one rank the last. Rank 0 stays."""
    least = wanted if layout.least is None else min(layout.least, wanted)
    kept = list(strips)
    leaving = sorted((strip for strip in reversed(strips) if strip.column.rank), key=lambda strip: -strip.column.rank)
    for strip in leaving:
        yields = layout.yielding is not None and strip.column.rank >= layout.yielding
        if _needed(kept, layout) + (wanted if yields else least) <= room:
            break
        kept.remove(strip)
    return kept


def _needed(strips: Sequence[_Strip], layout: Layout) -> int:
    return sum(strip.width + layout.gap for strip in strips)


def _mark(mark: Mark, screen: Screen) -> str:
    if mark.slot is None:
        return painted(mark.ascii if screen.ascii_only else mark.glyph, mark.role, color=screen.color) + " "
    job = marker(mark.slot)
    return f"{job.ascii if screen.ascii_only else job.hollow if mark.hollow else job.solid} "


def _common_prefix(names: Sequence[str]) -> str:
    """Return the prefix of all names up to a dash, if it is long enough to save space."""
    first, last = min(names), max(names)
    same = next((place for place, letter in enumerate(first) if last[place : place + 1] != letter), len(first))
    stem, dash, _ = first[:same].rpartition("-")
    return stem + dash if len(names) > 1 and len(stem) >= 3 else ""
