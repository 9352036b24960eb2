"""HTML without scripts: a table for pages and notebooks, and the block that a notebook shows. Knows no job.

A notebook's block has no id and every fact in words, so that it survives a
sanitiser; light and dark follow Jupyter, VS Code and ``html[theme]``.
"""

from __future__ import annotations

import html
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from ..errors import extra
from .printable import printable, unbroken
from .table import Align, Cell, Column, Table
from .theme import PALETTES, role

if TYPE_CHECKING:
    from jinja2 import Template


# A table that is too wide scrolls, and what scrolls must be reached without a mouse.
WIDE = '<div class="wide" role="region" tabindex="0" aria-label="Table">'
TAG = '<span class="tag">EMULATED</span>'


def variables(theme: str) -> str:
    """The palette as CSS variables."""
    return " ".join(f"--{name}: {value};" for name, value in PALETTES[theme].items())


CSS = " ".join(
    (
        f".smtrn{{{variables('light')} max-width:960px; font:14px/1.5 var(--jp-ui-font-family,system-ui,sans-serif)}}",
        ".smtrn{color:var(--ink); background:var(--bg); border:1px solid var(--line); border-radius:4px; padding:12px 16px}",
        ".smtrn{font-variant-numeric:tabular-nums}",
        f'[data-jp-theme-light="false"] .smtrn,.vscode-dark .smtrn,html[theme="dark"] .smtrn{{{variables("dark")}}}',
        ".smtrn p{margin:4px 0; color:var(--ink2)}",
        ".smtrn .title{color:var(--ink); font-size:15.5px; font-weight:620}",
        ".smtrn .title .ink3{font-size:13.5px; font-weight:400}",
        ".smtrn .wide{overflow-x:auto} .smtrn pre{white-space:pre-wrap; overflow-wrap:anywhere}",
        ".smtrn table{table-layout:auto}",
        ".smtrn table{border-collapse:collapse; margin:8px 0!important; border:0; width:100%; font-size:13.5px; color:inherit}",
        ".smtrn tr{background:none!important}",
        ".smtrn caption{text-align:left; color:var(--ink3); font-size:13px; padding:0 0 4px}",
        ".smtrn th,.smtrn td{border:0; padding:5px 0 5px 16px; text-align:right; vertical-align:top; font-weight:400}",
        ".smtrn th:first-child,.smtrn td.words,.smtrn th.words{text-align:left}",  # as specific as Jupyter's own
        ".smtrn th:first-child{padding-left:0}",
        ".smtrn tbody tr>*{border-top:1px solid var(--line)}",
        ".smtrn thead th{color:var(--ink3); vertical-align:bottom}",
        ".smtrn small,.smtrn .sub{display:block; font-size:12.5px; color:var(--ink3); font-weight:400}",
        ".smtrn .job,.smtrn b{font-weight:600; white-space:nowrap}",
        ".smtrn th .sub{white-space:nowrap}",
        ".smtrn .mark{width:11px; height:11px; margin-right:6px; fill:currentColor; stroke:currentColor; stroke-width:1.4}",
        ".smtrn .hollow{fill:var(--bg)}",
        ".smtrn .tag{font-weight:700; font-size:11px; letter-spacing:.06em; color:var(--emu); background:var(--emut)}",
        ".smtrn .tag{border:1.5px dashed var(--emu); border-radius:2px; padding:2px 5px}",
        ".smtrn code{font-size:12.5px; color:inherit; background:var(--panel); padding:0 3px; overflow-wrap:break-word}",
        ".smtrn td{white-space:nowrap} .smtrn td.words{white-space:normal; overflow-wrap:break-word}",
        ".smtrn td.words.wide{min-width:13em} .smtrn td.words.state{white-space:nowrap}",
        ".smtrn table.facts{width:auto} .smtrn table.facts th{color:var(--ink3); white-space:nowrap}",
        ".smtrn .missing,.smtrn .ink3{color:var(--ink3)} .smtrn .ink2{color:var(--ink2)}",
        ".smtrn .ok{color:var(--ok)} .smtrn .warn{color:var(--warn)} .smtrn .err{color:var(--err)} .smtrn .info{color:var(--info)}",
        *(f".smtrn .c{slot}{{color:var(--s{slot})}}" for slot in range(1, 7)),
    )
)


def cleaned(value: str) -> str:
    """Foreign or own text as one line of printable characters. Marks that turn the direction of text go too."""
    line = printable(value)
    return " ".join("".join(letter if letter.isprintable() else " " for letter in line).split())


def escaped(value: str) -> str:
    """Foreign or own text for HTML: one printable line, escaped."""
    return html.escape(cleaned(value), quote=True)


def text(value: str) -> str:
    """The same, with numbers held to their units."""
    return unbroken(escaped(value))


def block(inner: str) -> str:
    """``inner``, which is HTML, in the scoped block with its style."""
    return f'<div class="smtrn"><style>{CSS}</style>{inner}</div>'


def facts(rows: Iterable[tuple[str, str]]) -> str:
    """Names and what is said of them; nothing when there is nothing to say."""
    lines = []
    for name, value in rows:
        wide = " wide" if len(value) > 40 else ""
        lines.append(f'<tr><th scope="row">{escaped(name)}</th><td class="words{wide}">{escaped(value)}</td></tr>')
    return f'<table class="facts"><tbody>{"".join(lines)}</tbody></table>' if lines else ""


WRAP = "wrap"  # the style of a column whose text may break
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


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The template's view of columns and cells."""

    table: Table
    columns: tuple[Column, ...]
    classes: str = ""

    def classes_of(self, column: Column, cell: Cell) -> str:
        missing = "missing" if cell.missing else ""
        long = "wide" if column.align is Align.LEFT and len(column.words(cell)) > 40 else ""
        return " ".join(word for word in (missing, self.side(column), column.style, long) if word)

    def side(self, column: Column) -> str:
        return "words" if column.align is Align.LEFT else ""


def html_table(table: Table, *, classes: str = "jobs") -> str:
    """The table as HTML. A page shows each row of the class ``jobs`` as a block where there is no room for the columns."""
    columns = tuple(column for column in table.columns if column.in_html)
    return _template().render(view=View(table=table, columns=columns, classes=classes))


@cache
def _template() -> Template:
    with extra("report", "a page"):
        from jinja2 import Environment, StrictUndefined  # noqa: PLC0415 - loaded with the first table of a page
        from markupsafe import Markup, escape  # noqa: PLC0415 - comes with jinja2

    environment = Environment(autoescape=True, undefined=StrictUndefined)
    environment.filters["shown"] = lambda value: unbroken(cleaned(str(value)))
    environment.filters["breaking"] = lambda value: Markup(str(escape(value)).replace("_", "_<wbr>"))  # noqa: S704 - escaped
    environment.globals["tag"] = Markup(TAG)  # noqa: S704 - our own
    environment.globals["color"] = lambda slot: role(slot).removeprefix("s")
    environment.globals["shapes"] = [Markup(shape) for shape in SHAPES]  # noqa: S704 - our own
    return environment.from_string(files(__package__).joinpath("table.html").read_text("utf-8"))
