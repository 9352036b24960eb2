"""What pages and notebook outputs of every kind share: safe text, the head of a document, dated prices. Knows no job."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from importlib.resources import files

from ..core.formatting.html import FOLDS, WRAP, html_table, text, variables
from ..core.formatting.table import Align, Cell, Column, Row, Table
from ..core.pricing.book import Price, price_sources

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


COLUMNS = (
    Column(name="usd_per_hour", heading="USD per hour"),
    Column(name="as_of", heading="Dated", align=Align.LEFT),
    Column(name="region", heading="Region", align=Align.LEFT),
    Column(name="used", heading="Used", align=Align.LEFT, form=lambda used: "yes" if used else "other date"),
    Column(name="source", heading="Source", align=Align.LEFT, style=WRAP),
)


def price_table(prices: Iterable[Price], title: str, used: Collection[Price]) -> Table:
    """Each price with its date, region and source; ``used`` are those that costs are made of."""
    rows = []
    for price in prices:
        inferred = Cell(f"{price.as_of}, inferred", role="warn", glyph="▲") if price.inferred else Cell(price.as_of)
        cells = {
            "usd_per_hour": Cell(price.usd_per_hour),
            "as_of": inferred,
            "region": Cell(price.region),
            "used": Cell(price in used),
            "source": Cell(price_sources().get(price.source, price.source)),
        }
        rows.append(Row(name=price.instance, role="code", cells=cells))
    return Table(columns=COLUMNS, rows=tuple(rows), title=title, rows_are="Instance")
