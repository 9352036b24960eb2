"""How old each table of facts is, and where its rows are from."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files

from ..specs.versions import shipped_images
from . import images


@dataclass(frozen=True, slots=True, kw_only=True)
class FactTable:
    """One table that ships: its rows, the ISO day of its newest row, and how many rows the user's own file adds.

    ``renewed_by`` is what brings newer rows without a new version of this package; empty when nothing does.
    """

    name: str
    rows: int
    as_of: str
    own_rows: int
    source: str
    renewed_by: str


def catalogue_tables() -> tuple[FactTable, ...]:
    """The tables of the catalogue. Prices are ``pricing``'s own."""
    return (
        _images(),
        _shipped(
            "instances",
            "rows",
            "each row names its own; the names are botocore's TrainingInstanceType",
            "a newer botocore",
        ),
        _shipped("chips", "rows", "datasheets, named by each row"),
        _shipped("efa", "images", "build files of AWS's images, and the training toolkit"),
    )


def _images() -> FactTable:
    rows = [row for family in images.families() for row in images.rows(family)]
    return FactTable(
        name="images",
        rows=len(rows),
        as_of=max(row.as_of for row in rows),
        own_rows=len(rows) - len(shipped_images()["rows"]),
        source="; ".join(dict.fromkeys(row.source for row in rows)),
        renewed_by="sm-trn catalog update, from an installed SageMaker SDK",
    )


def _shipped(name: str, part: str, source: str, renewed_by: str = "") -> FactTable:
    body = json.loads(files(__package__).joinpath(f"{name}.json").read_text("utf-8"))
    return FactTable(
        name=name, rows=len(body[part]), as_of=body["as_of"], own_rows=0, source=source, renewed_by=renewed_by
    )
