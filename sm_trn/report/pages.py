"""The pages – a comparison, a fleet, a live page – as templates over tables and inline SVGs, and the files of what is saved.

A saved page is one HTML file without scripts, in light and dark, for screen, phone and paper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ..core.formatting import numbers as fmt
from ..core.formatting.html import FOLDS, PHASES, TAG, cleaned, html_table, variables
from ..core.formatting.printable import unbroken
from ..core.formatting.table import Table, csv_text, records
from .figures.drawing import page_figure, rc
from .sections.section import Section

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A figure of a page. ``name`` is the stem of its file, ``info`` its words; ``draw`` makes it on a sheet, or on its own when None."""

    name: str
    info: Any
    draw: Callable[..., Figure]
    wide: bool = False
    section: Section | None = None

    @property
    def html(self) -> Markup:
        return Markup("".join(page_figure(self.name, self.info, self.draw, wide=self.wide)))  # noqa: S704 - our own SVG

    def save(self, path: Path) -> None:
        with mpl.rc_context(rc("light")):
            self.draw(None).savefig(path, dpi=DPI, metadata={"Description": self.info.alt, "Software": None})


def write(
    directory: Path, page: tuple[str, str], table: tuple[str, Table], body: tuple[str, str], shown: Iterable[Picture]
) -> tuple[Path, ...]:
    """Write a page, its table as CSV, its JSON and its figures below ``directory``, which is made. Returns the paths, the page first."""
    directory.mkdir(parents=True, exist_ok=True)
    written = [directory / name for name in (page[0], table[0], body[0])]
    written[0].write_text(page[1], "utf-8")
    columns = [column.name for column in table[1].columns]
    # bytes, because write_text would change line ends on Windows
    written[1].write_bytes(csv_text(columns, records(table[1])).encode())
    written[2].write_text(f"{body[1]}\n", "utf-8")
    for picture in shown:
        path = directory / f"{picture.name}.png"
        picture.save(path)
        written.append(path)
    return tuple(written)


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
    """A table in the container that it folds in; ``label`` names it for those who do not see it."""
    inner = Markup(html_table(table, classes=classes))  # noqa: S704 - its template escapes
    return Markup('<div class="scroll" role="region" tabindex="0" aria-label="{}">{}</div>').format(label, inner)


@cache
def style_sheet() -> Markup:
    """The one style sheet of all pages, with the colours of figures and terminals."""
    folder = files(__package__).joinpath("html")
    css, fold = (folder.joinpath(name).read_text("utf-8") for name in ("page.css", "fold.css"))
    css = (
        css.replace("PHASES", "\n".join(PHASES))
        .replace("VARIABLES_LIGHT", variables("light"))
        .replace("VARIABLES_DARK", variables("dark"))
    )
    return Markup(css + "\n".join(fold.replace("WIDTH", str(width)) for width in FOLDS))  # noqa: S704 - ours


def message_page(title: str, words: str) -> str:
    """A page that says one thing."""
    return render("message.html", kind="live", title=title, words=words, links={}, now=None)
