"""What pages and notebook outputs of every kind share: text made safe, and the head of a document. Knows no job."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.resources import files

from ..core.formatting import numbers as fmt
from ..core.formatting.markup import escaped, variables
from .layout import one_line


def text(value: str) -> str:
    """Foreign or own text for HTML: one printable line, escaped, numbers held to their units."""
    return fmt.unbroken(escaped(one_line(value)))


# Widths in CSS pixels at which tables fold: into a block a row, with each value under its column's name.
_FOLDS = (500, 560, 620, 680, 740, 800, 860, 920, 980, 1040, 1070, 1130, 1200, 1300, 2000)
_FOLDED = """@container (max-width: {width}px) {{
  .out-{width} {{ display: none }}
  .tail-{width} {{ display: block }}
  .fold-{width} thead {{ position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden }}
  .fold-{width}, .fold-{width} tbody, .fold-{width} caption {{ display: block }}
  .fold-{width} tr {{ display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 132px), 1fr)); gap: 8px 16px }}
  .fold-{width} tr {{ padding: 14px 0; border-top: 1px solid var(--axis) }}
  .fold-{width} tr > * {{ display: block; border: 0 !important; padding: 0; min-width: 0; text-align: left }}
  .fold-{width} tr > * {{ white-space: normal; overflow-wrap: anywhere }}
  .fold-{width} th, .fold-{width} tr.hatched td, .fold-{width} td.state, .fold-{width} td.wrap {{ grid-column: 1 / -1 }}
  .fold-{width} td[data-label]::before {{ content: attr(data-label); display: block; font-size: 13px; font-weight: 400 }}
  .fold-{width} td[data-label]::before {{ color: var(--ink3) }}
  .fold-{width} tr > [class*="out-"] {{ display: block }}
  .fold-{width} td > [class^="tail-"] {{ display: none }}
  .fold-{width} tr.hatched {{ padding: 12px 10px; border: 1.5px dashed var(--emu) }}
}}"""
_FIRST_PX, _PADDING_PX, _CHARACTER_PX = 190, 20, 7.4  # of a table's first column; of the others, and of their type


def width_px(columns: Iterable[Iterable[str]]) -> float:
    """The width that a table needs for its ``columns``, of the texts in each beside the first."""
    return _FIRST_PX + sum(_PADDING_PX + _CHARACTER_PX * max(map(len, column), default=0) for column in columns)


def folds_at(columns: Iterable[Iterable[str]]) -> int:
    """The widest container, of those that pages tell apart, in which a table of these ``columns`` has no room."""
    needed = width_px(columns)
    return next((width for width in _FOLDS if width >= needed), _FOLDS[-1])


def fold(columns: Iterable[Iterable[str]]) -> str:
    """Return the class that folds a table where its ``columns``, of the texts in each beside the first, have no room."""
    return f"fold-{folds_at(columns)}"


def document_head(title: str) -> Iterator[str]:
    """Everything up to the body, and the link that skips to its ``main``."""
    css = files(__package__).joinpath("document.css").read_text("utf-8")
    css = css.replace("VARIABLES_LIGHT", variables("light")).replace("VARIABLES_DARK", variables("dark"))
    css = css.replace("FOLDS", "\n".join(_FOLDED.format(width=width) for width in _FOLDS))
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="color-scheme" content="light dark">'
    yield f"<title>{text(title)}</title>\n<style>\n{css}</style>\n</head>\n<body>"
    yield '<a class="skip" href="#main">Skip to the findings</a>'
