"""What pages and notebook outputs of every kind share: text made safe, and the head of a document. Knows no job."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files

from ..core.formatting.html import FOLDS, html_table
from ..core.formatting.markup import text, variables
from ..core.formatting.table import Table

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


def document_head(title: str) -> Iterator[str]:
    """Everything up to the body, and the link that skips to its ``main``."""
    css = files(__package__).joinpath("document.css").read_text("utf-8")
    css = css.replace("VARIABLES_LIGHT", variables("light")).replace("VARIABLES_DARK", variables("dark"))
    css = css.replace("FOLDS", "\n".join(_FOLDED.format(width=width) for width in FOLDS))
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="color-scheme" content="light dark">'
    yield f"<title>{text(title)}</title>\n<style>\n{css}</style>\n</head>\n<body>"
    yield '<a class="skip" href="#main">Skip to the findings</a>'


def page_table(table: Table, label: str, *, classes: str = "jobs") -> str:
    """A table of a page, in the container that it folds in; ``label`` names it for those who do not see it."""
    inner = html_table(table, classes=classes)
    return f'<div class="scroll" role="region" tabindex="0" aria-label="{text(label)}">{inner}</div>'
