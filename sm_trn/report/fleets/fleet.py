"""A fleet as people meet it: made by ``fleet``, shown as text, frame, page and files. Adds nothing up."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timezone
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ...core.extras import extra
from ...core.formatting.cards import HasCard
from ...core.formatting.table import frame, reasons, records
from ...core.pricing.book import PriceBook, snapshot_book
from ...core.pricing.cost import CENT, job_cost
from ...core.specs.snapshot import JobSnapshot
from ...diagnosis.health.health import Health
from .rows import FleetCosts, FleetRow
from .table import fleet_table
from .text import fleet_text

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet(HasCard, FleetCosts):
    """Jobs with their costs, newest first; made by ``fleet``. ``at`` is the date of the prices, None: the newest known.

    ``cut``: only so many of the newest were looked at, and there are more.
    """

    @property
    def frame(self) -> DataFrame:
        """One row per job, columns ``FLEET_COLUMNS``; what is missing is NaN or None, never 0."""
        return frame(fleet_table(self.rows))

    def cells(self) -> tuple[Mapping[str, Any], ...]:
        """The frame's rows as plain values, None where something is missing."""
        return records(fleet_table(self.rows))

    def text(self, width: int = 80, *, by: str = "instance") -> str:
        """For a terminal: the sums by ``by``, the jobs, what the sums leave out."""
        return "\n".join(fleet_text(self, width, by))

    def __str__(self) -> str:
        return self.text()

    def to_json(self, *, by: str = "instance") -> str:
        groups = [
            {
                "name": g.name,
                "jobs": g.jobs,
                "priced": g.priced,
                "instance_hours": g.instance_hours,
                "usd": str(g.usd.quantize(CENT)),
                "failed_usd": str(g.failed_usd.quantize(CENT)),
                "idle_usd": str(g.idle_usd.quantize(CENT)),
                "spot_saved_usd": str(g.spot_saved.quantize(CENT)),
            }
            for g in self.by(by)
        ]
        table = fleet_table(self.rows)
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
        """Write fleet.html, fleet.csv, fleet.json and one PNG per figure into ``directory``, which is made; ``now`` dates the
        page, None: the time it is.
        """
        with extra("report", "the page of a fleet"):
            from .save import save  # noqa: PLC0415 - matplotlib is loaded on use

        return save(self, Path(directory), body=self.to_json(by=by), by=by, now=now or datetime.now(timezone.utc))


def fleet(
    jobs: Iterable[tuple[JobSnapshot, Mapping[str, str]] | JobSnapshot],
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
    tagged = [job if isinstance(job, tuple) else (job, None) for job in jobs]
    rows = [_row(job, tags, prices, day, (healths or {}).get(job.name)) for job, tags in tagged]
    newest = sorted(
        rows, key=lambda row: row.snapshot.created.timestamp() if row.snapshot.created else 0.0, reverse=True
    )
    return Fleet(rows=tuple(newest), at=day, title=title, cut=cut)


def _row(
    snapshot: JobSnapshot, tags: Mapping[str, str] | None, book: PriceBook, at: str | None, state: Health | None
) -> FleetRow:
    price = None if snapshot.emulated else book.of(snapshot.machines, snapshot.region, at=at)
    return FleetRow(
        snapshot=snapshot,
        tags=MappingProxyType(dict(tags or {})),
        price=price,
        cost=job_cost(snapshot, price),
        tags_read=tags is not None,
        health=state,
    )
