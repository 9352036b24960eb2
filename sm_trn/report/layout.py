"""Text in columns of a terminal: cutting, wrapping, aligning. Knows no job and no colour."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..core.formatting import numbers as fmt
from ..core.logs.shown import printable

GAP = "  "


@dataclass(frozen=True, slots=True)
class Column:
    """A right-aligned column. Columns of the lowest ``rank`` are the last to go when the width is short."""

    head: str
    cells: tuple[str, ...]
    rank: int = 0
    width: int = field(init=False, compare=False)  # every line of the table asks for it

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", max(map(len, (self.head, *self.cells))))


def one_line(text: str) -> str:
    """Foreign text as one printable line."""
    return " ".join(printable(text).split())


def cut(text: str, width: int) -> str:
    """``text`` in at most ``width`` cells, cut in the middle."""
    if len(text) <= width:
        return text
    head = (width - 1) // 2
    return f"{text[:head]}…{text[len(text) - (width - 1 - head) :]}" if width > 1 else text[:width]


def wrap(text: str, width: int, *, first: str = "", rest: str | None = None) -> list[str]:
    """Lines of at most ``width`` cells; numbers stay with their units."""
    lines = textwrap.wrap(
        fmt.unbroken(one_line(text)),
        width,
        initial_indent=first,
        subsequent_indent=first if rest is None else rest,
        break_on_hyphens=False,
    )
    return [line.replace(fmt.NBSP, " ") for line in lines]


def between(left: str, right: str, width: int) -> list[str]:
    """``left`` and ``right`` at the two ends of a line, or on two lines."""
    space = width - len(left) - len(right)
    return [f"{left}{' ' * space}{right}"] if space >= 2 else [*wrap(left, width), *wrap(right, width)]


def fitting(columns: Iterable[Column], width: int) -> tuple[Column, ...]:
    """The columns that fit into ``width``, in their order; those of the highest rank go first."""
    kept = list(columns)
    while kept and sum(len(GAP) + column.width for column in kept) > width:
        worst = max(column.rank for column in kept)
        if worst == 0:
            break
        kept.remove(next(column for column in reversed(kept) if column.rank == worst))
    return tuple(kept)


def line(name: str, name_width: int, cells: Sequence[str], columns: Sequence[Column]) -> str:
    """One table line: the name to the left, the cells right-aligned."""
    body = "".join(f"{GAP}{cell:>{column.width}}" for cell, column in zip(cells, columns, strict=True))
    return f"{name:<{name_width}}{body}".rstrip()
