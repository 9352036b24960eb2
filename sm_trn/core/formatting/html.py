"""A table as HTML: for pages, where columns fold under others in narrow containers, and for notebooks. It knows no job."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from ..extras import extra
from . import numbers as fmt
from .markup import TAG, bar, cleaned
from .table import Align, Cell, Column, Row, Table
from .theme import role

if TYPE_CHECKING:
    from jinja2 import Template

# Widths in CSS pixels at which tables fold: into a block a row, with each value under its column's name.
FOLDS = (500, 560, 620, 680, 740, 800, 860, 920, 980, 1040, 1070, 1130, 1200, 1300, 2000)
_FIRST_PX, _PADDING_PX, _CHARACTER_PX = 190, 20, 7.4  # of a table's first column; of the others, and of their type
WRAP, _WRAPPED = (
    "wrap",
    30,
)  # the style of a column whose text may break, and the characters that it has room for at least
SHAPES = (
    '<circle cx="6" cy="6" r="4"/>',
    '<path d="M2 2h8v8H2z"/>',
    '<path d="M6 1.5l4.8 8.5H1.2z"/>',
    '<path d="M6 1l5 5-5 5-5-5z"/>',
    '<path d="M6 10.5L1.2 2h9.6z"/>',
    '<path d="M4.5 1.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z"/>',
    '<path d="M6 1l1.5 3.4 3.7.4-2.8 2.4.8 3.6L6 9l-3.2 1.8.8-3.6L.8 4.8l3.7-.4z"/>',
    '<path d="M10 1.2v9.6L1.5 6z"/>',
    '<path d="M2 1.2v9.6L10.5 6z"/>',
    '<path d="M6 1l5 3.7-1.9 5.9H2.9L1 4.7z"/>',
    '<path d="M6 1l4.4 2.5v5L6 11 1.6 8.5v-5z"/>',
    '<path d="M3 1.5l3 3 3-3L10.5 3l-3 3 3 3L9 10.5l-3-3-3 3L1.5 9l3-3-3-3z"/>',
)


@dataclass(frozen=True, slots=True)
class Folded:
    """In containers of at most ``width`` pixels the column ``out`` stands under the column ``under`` as ``words``."""

    out: Column
    under: str
    width: int
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What the template asks for each column and cell."""

    table: Table
    columns: tuple[Column, ...]
    classes: str = ""
    folded: Mapping[str, Folded] = field(default_factory=dict)  # by the name of the column that goes

    def head_classes(self, column: Column) -> str:
        return " ".join(word for word in (_side(column), self._out(column)) if word)

    def classes_of(self, column: Column, cell: Cell) -> str:
        missing = "missing" if cell.missing else ""
        long = "wide" if column.align is Align.LEFT and len(column.words(cell)) > 40 else ""
        words = (missing, _side(column), column.style, long, self._out(column))
        return " ".join(word for word in words if word)

    def tails(self, column: Column, row: Row) -> list[tuple[int, str]]:
        """The values of the columns that stand below this one where there is no room for them."""
        tails = []
        for item in self.folded.values():
            cell = row.cells[item.out.name]
            if item.under == column.name and not cell.missing:
                tails.append((item.width, item.words.format(item.out.words(cell))))
        return tails

    def _out(self, column: Column) -> str:
        item = self.folded.get(column.name)
        return f"out-{item.width}" if item is not None else ""


def html_table(table: Table, *, folding: bool = True, classes: str = "jobs") -> str:
    """The table as HTML. With ``folding`` its columns go under others, and its rows into blocks, where there is no room."""
    columns = tuple(column for column in table.columns if column.in_html)
    folded, width = fold_columns(table, columns)
    view = View(
        table=table,
        columns=columns,
        classes=f"{classes} fold-{width}".strip() if folding else classes,
        folded={item.out.name: item for item in folded} if folding else {},
    )
    return _template().render(view=view)


def fold_columns(table: Table, columns: Sequence[Column]) -> tuple[tuple[Folded, ...], int]:
    """The columns that fold, the first to go first, and the width at which all rows fold into blocks."""
    texts = {column.name: _texts(table, column) for column in columns}
    folded = []
    ordered = sorted((column for column in columns if column.fold), key=lambda column: column.fold.order)  # type: ignore[union-attr]  # asked
    for column in ordered:
        fold = column.fold
        under = next((name for name in fold.under if name in texts), None) if fold is not None else None
        if fold is None or under is None:
            continue
        folded.append(Folded(column, under, folds_at(texts.values()), fold.words))
        cells = [row.cells[column.name] for row in table.rows if not row.note]
        texts[under] += [fold.words.format(column.words(cell)) for cell in cells if not cell.missing]
        del texts[column.name]
    return tuple(folded), folds_at(texts.values())


def folds_at(columns: Iterable[Iterable[str]]) -> int:
    """The widest container, of those that pages tell apart, in which columns of these texts have no room."""
    needed = _FIRST_PX + sum(_PADDING_PX + _CHARACTER_PX * max(map(len, column), default=0) for column in columns)
    return next((width for width in FOLDS if width >= needed), FOLDS[-1])


def _texts(table: Table, column: Column) -> list[str]:
    """What decides a column's width: a long heading breaks at its underscores."""
    texts = [*column.heading.split("_"), column.unit]
    for row in table.rows:
        cell = row.cells.get(column.name)
        if cell is not None:
            texts += [f"{column.words(cell)}{'  ' if cell.glyph else ''}{' EMULATED' if cell.tag else ''}", cell.below]
    return [text[:_WRAPPED] for text in texts] if column.style == WRAP else texts


def _side(column: Column) -> str:
    return "words" if column.align is Align.LEFT else ""


@cache
def _template() -> Template:
    with extra("report", "a page"):
        from jinja2 import Environment, StrictUndefined  # noqa: PLC0415 - loaded with the first table of a page
        from markupsafe import Markup, escape  # noqa: PLC0415 - comes with jinja2

    environment = Environment(autoescape=True, undefined=StrictUndefined)
    environment.filters["shown"] = lambda value: fmt.unbroken(cleaned(str(value)))
    environment.filters["breaking"] = lambda value: Markup(str(escape(value)).replace("_", "_<wbr>"))  # noqa: S704 - escaped
    environment.globals["tag"] = Markup(TAG)  # noqa: S704 - our own
    environment.globals["drawn"] = lambda parts: Markup(bar(parts))  # noqa: S704 - our own
    environment.globals["color"] = lambda slot: role(slot).removeprefix("s")
    environment.globals["shapes"] = [Markup(shape) for shape in SHAPES]  # noqa: S704 - our own
    return environment.from_string(files(__package__).joinpath("table.html").read_text("utf-8"))
