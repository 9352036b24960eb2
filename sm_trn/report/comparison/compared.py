"""Jobs side by side, as plain values: what text, page, frame and files read. Knows none of them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .table import cells, json_text

if TYPE_CHECKING:
    from ...pricing.book import PriceBook
    from ..sections.findings import Finding
    from ..sections.rows import Row
    from ..sections.section import Section


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Sections, rows and findings of a comparison. ``slots`` gives each job one colour and marker wherever it is shown."""

    sections: tuple[Section, ...]
    rows: tuple[Row, ...]
    findings: tuple[Finding, ...]
    slots: Mapping[str, int]
    at: str | None
    book: PriceBook = field(repr=False)
    baseline: str | None = None  # as it was asked for
    region: str | None = None

    @property
    def command(self) -> str:
        """The shell command that makes this comparison again: jobs by their own names."""
        options = (("--baseline", self.baseline), ("--at", self.at), ("--in-region", self.region))
        given = [word for option, value in options if value for word in (option, value)]
        return shlex.join(
            ["sm-trn", "compare", *(row.snapshot.name for row in self.rows), *given, "--output", "report/"]
        )

    def cells(self) -> tuple[Mapping[str, Any], ...]:
        """The frame's rows as plain values, None where something is missing."""
        home = {row.label: section for section in self.sections for row in section.rows}
        return tuple(cells(row, home[row.label].delta(row)) for row in self.rows)

    def to_json(self) -> str:
        """Jobs, findings and prices; missing values are null."""
        return json_text(self.cells(), self.findings, self.sections)
