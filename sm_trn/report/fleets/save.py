"""A fleet as files: page, table, JSON. The only writer of files here."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from ...core.formatting.table import csv_text, records
from .page import fleet_page
from .rows import FleetCosts
from .table import FLEET_COLUMNS, fleet_table


def save(item: FleetCosts, directory: Path, *, body: str, by: str, now: datetime) -> tuple[Path, ...]:
    """Write everything below ``directory``, which is made; ``body`` is its JSON. Returns the paths, the page first."""
    directory.mkdir(parents=True, exist_ok=True)
    written = [directory / "fleet.html", directory / "fleet.csv", directory / "fleet.json"]
    written[0].write_text(fleet_page(item, by=by, now=now), "utf-8")
    written[1].write_bytes(csv_text(FLEET_COLUMNS, records(fleet_table(item.rows))).encode())
    written[2].write_text(body + "\n", "utf-8")
    return tuple(written)
