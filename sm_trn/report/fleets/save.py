"""A fleet as files: page, table, JSON, figures. The only writer of files here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path

import matplotlib as mpl

from ...core.formatting.table import csv_text, records
from ..figures.drawing import page_figure, rc
from .figures import FleetFigure, fleet_figures
from .page import fleet_page
from .rows import FleetCosts
from .table import FLEET_COLUMNS, fleet_table

DPI = 200


def save(item: FleetCosts, directory: Path, *, body: str, by: str, now: datetime) -> tuple[Path, ...]:
    """Write everything below ``directory``, which is made; ``body`` is its JSON. Returns the paths, the page first."""
    directory.mkdir(parents=True, exist_ok=True)
    figures = list(fleet_figures(item))
    written = [directory / "fleet.html", directory / "fleet.csv", directory / "fleet.json"]
    written[0].write_text(fleet_page(item, [*_pieces(figures)], by=by, now=now), "utf-8")
    written[1].write_bytes(csv_text(FLEET_COLUMNS, records(fleet_table(item.rows))).encode())
    written[2].write_text(body + "\n", "utf-8")
    for figure in figures:
        path = directory / f"{figure.name}.png"
        with mpl.rc_context(rc("light")):
            figure.draw(None).savefig(path, dpi=DPI, metadata={"Description": figure.alt, "Software": None})
        written.append(path)
    return tuple(written)


def _pieces(figures: Iterable[FleetFigure]) -> Iterator[str]:
    for figure in figures:
        yield from page_figure(figure.name, figure, figure.draw, wide=figure.wide)
