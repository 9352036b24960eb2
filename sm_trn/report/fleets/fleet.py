"""A fleet as people meet it: made by ``fleet``, shown as text, frame, page, card and files. Adds nothing up."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timezone
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ...core.extras import extra
from ...core.formatting.cards import HasCard
from ...core.formatting.printable import between
from ...core.formatting.table import frame, reasons, records
from ...core.formatting.text import Layout, Screen, table_lines
from ...core.pricing.book import PriceBook, snapshot_book
from ...core.pricing.cost import CENT
from ...core.specs.snapshot import JobSnapshot
from ...diagnosis.health.health import Health
from ..columns import FLEET_COLUMNS, jobs_table
from ..jobs import WatchRow
from .rows import SHOWN, FleetCosts, group_table

if TYPE_CHECKING:
    from pandas import DataFrame

IN_TEXT = ("instances", "billed_s", "status", "cost_usd")
_LAYOUT = Layout(gap=1, full=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet(HasCard, FleetCosts):
    """Jobs with their costs, newest first; made by ``fleet``. ``at`` is the date of the prices, None: the newest known.

    ``cut``: only so many of the newest were looked at, and there are more.
    """

    @property
    def frame(self) -> DataFrame:
        """One row per job, columns ``FLEET_COLUMNS``; what is missing is NaN or None, never 0."""
        return frame(jobs_table(self.rows, FLEET_COLUMNS))

    def cells(self) -> tuple[Mapping[str, Any], ...]:
        """The frame's rows as plain values, None where something is missing."""
        return records(jobs_table(self.rows, FLEET_COLUMNS))

    def text(self, width: int = 80, *, by: str = "instance") -> str:
        """For a terminal of 60 columns at least: the sums by ``by``, the newest jobs, what the sums leave out."""
        return "\n".join(self._lines(width, by))

    def __str__(self) -> str:
        return self.text()

    def _lines(self, width: int, by: str) -> Iterator[str]:
        screen = Screen(width=width)
        yield from between(self.title, f"by {by}", width)
        yield ""
        yield from table_lines(group_table(self, by), screen, _LAYOUT)
        yield ""
        yield from table_lines(jobs_table(self.rows[:SHOWN], IN_TEXT), screen, _LAYOUT)
        if len(self.rows) > SHOWN:
            yield f"and {len(self.rows) - SHOWN} more"
        yield ""
        yield from self.findings()

    def to_json(self, *, by: str = "instance") -> str:
        groups = [
            {
                "name": group.name,
                "jobs": group.jobs,
                "priced": group.priced,
                "instance_hours": group.instance_hours,
                **{
                    name: str(getattr(group, name).quantize(CENT))
                    for name in ("usd", "failed_usd", "idle_usd", "spot_saved")
                },
            }
            for group in self.by(by)
        ]
        table = jobs_table(self.rows, FLEET_COLUMNS)
        body = {
            "schema": 1,
            "by": by,
            "cut_at": self.cut,
            "groups": groups,
            "jobs": [{**job, "missing": why} for job, why in zip(records(table), reasons(table), strict=True)],
            "findings": list(self.findings()),
        }
        return json.dumps(body, indent=2, ensure_ascii=False, allow_nan=False, default=str)

    def save(self, directory: str | Path, *, by: str = "instance", now: datetime | None = None) -> tuple[Path, ...]:
        """Write fleet.html, fleet.csv and fleet.json into ``directory``, which is made; ``now`` dates the page, None: the time it is."""
        with extra("report", "the page of a fleet"):
            from ..pages import write  # noqa: PLC0415 - jinja2 is loaded on use
            from .page import fleet_page  # noqa: PLC0415 - as above

        page = fleet_page(self, by=by, now=now or datetime.now(timezone.utc))
        table = jobs_table(self.rows, FLEET_COLUMNS)
        return write(Path(directory), ("fleet.html", page), ("fleet.csv", table), ("fleet.json", self.to_json(by=by)))


def fleet(
    jobs: Iterable[tuple[JobSnapshot, Mapping[str, str] | None] | JobSnapshot],
    *,
    book: PriceBook | None = None,
    at: date | str | None = None,
    title: str = "Jobs",
    cut: int | None = None,
    healths: Mapping[str, Health] | None = None,
) -> Fleet:
    """The costs of many jobs, each a snapshot or a snapshot with its tags, at the newest price on or before ``at``. ``cut``
    says that only so many were looked at; ``healths``, by name, are those of jobs whose log was read.
    """
    prices = snapshot_book() if book is None else book
    day = at.isoformat() if isinstance(at, date) else at
    rows = []
    for each in jobs:
        job, tags = each if isinstance(each, tuple) else (each, None)
        rows.append(
            WatchRow(
                snapshot=job,
                price=None if job.emulated else prices.of(job.machines, job.region, at=day),
                health=(healths or {}).get(job.name),
                tags=MappingProxyType(dict(tags or {})),
                tags_read=tags is not None,
                log_read=False,
            )
        )
    rows.sort(key=lambda row: row.snapshot.created.timestamp() if row.snapshot.created else 0.0, reverse=True)
    return Fleet(rows=tuple(rows), at=day, title=title, cut=cut)
