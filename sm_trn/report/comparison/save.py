"""A comparison as files: figures, table, JSON, page. The only writer of files here."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import matplotlib as mpl

from ...core.formatting.records import csv_text
from ..figures.style import rc
from .compared import Compared
from .page import page
from .pictures import pictures

DPI = 200


def save(item: Compared, directory: Path, *, now: datetime | None) -> tuple[Path, ...]:
    """Write everything below ``directory``, which is made. Returns the paths, the page first."""
    directory.mkdir(parents=True, exist_ok=True)
    shown = tuple(pictures(item))
    written = [directory / "report.html", directory / "compare.csv", directory / "compare.json"]
    written[0].write_text(page(item, shown, now=now), "utf-8")
    written[1].write_bytes(
        csv_text(item.columns, item.cells()).encode()
    )  # bytes, because write_text would change line ends on Windows
    written[2].write_text(item.to_json() + "\n", "utf-8")
    for picture in shown:
        path = directory / f"{picture.name}.png"
        with mpl.rc_context(rc("light")):
            picture.draw().savefig(path, dpi=DPI, metadata={"Description": picture.info.alt, "Software": None})
        written.append(path)
    return tuple(written)
