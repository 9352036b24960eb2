"""The pages – a comparison, a fleet, a live page – as templates over tables and inline SVGs, and the files of what is saved.

A saved page is one HTML file without scripts, in light and dark, for screen, phone and paper.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ..core.formatting import numbers as fmt
from ..core.formatting.html import TAG, cleaned, html_table, variables
from ..core.formatting.printable import unbroken
from ..core.formatting.table import Table, csv_text, records


def write(directory: Path, page: tuple[str, str], table: tuple[str, Table], body: tuple[str, str]) -> tuple[Path, ...]:
    """Write a page, its table as CSV and its JSON below ``directory``, which is made. Returns the paths, the page first."""
    directory.mkdir(parents=True, exist_ok=True)
    paths = tuple(directory / name for name in (page[0], table[0], body[0]))
    paths[0].write_text(page[1], "utf-8")
    columns = [column.name for column in table[1].columns]
    # bytes, because write_text would change line ends on Windows
    paths[1].write_bytes(csv_text(columns, records(table[1])).encode())
    paths[2].write_text(f"{body[1]}\n", "utf-8")
    return paths


def render(template: str, **values: Any) -> str:
    """One of the pages, or a piece of one."""
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(__package__, "html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["shown"] = lambda value: unbroken(cleaned(str(value)))
    environment.globals |= {"table": _table, "style": style_sheet, "TAG": Markup(TAG), "stamp": fmt.stamp}  # noqa: S704 - ours
    return environment


def _table(table: Table, label: str, classes: str = "jobs") -> Markup:
    """A table in a container that scrolls where it is too wide; ``label`` names it for those who do not see it."""
    inner = Markup(html_table(table, classes=classes))  # noqa: S704 - its template escapes
    return Markup('<div class="scroll" role="region" tabindex="0" aria-label="{}">{}</div>').format(label, inner)


@cache
def style_sheet() -> Markup:
    """The one style sheet of all pages, with the colours of figures and terminals."""
    folder = files(__package__).joinpath("html")
    css = folder.joinpath("page.css").read_text("utf-8")
    css = css.replace("VARIABLES_LIGHT", variables("light")).replace("VARIABLES_DARK", variables("dark"))
    return Markup(css)  # noqa: S704 - ours
