"""A fleet as people meet it: made by ``fleet``, shown as text, frame, page, card and files. Adds nothing up."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ...core.errors import SmTrnError, extra
from ...core.formatting import numbers as fmt
from ...core.formatting.cards import HasCard
from ...core.formatting.missing import Missing
from ...core.formatting.printable import between
from ...core.formatting.table import frame, reasons, records
from ...core.formatting.text import Layout, Screen, table_lines
from ...core.pricing.book import PriceBook, snapshot_book
from ...core.pricing.cost import CENT
from ...core.specs.snapshot import JobSnapshot
from ..columns import FLEET_COLUMNS, jobs_table, price_table
from ..jobs import WatchRow
from .rows import IN_PAGE, SHOWN, TAG, FleetGroup, group_of, group_table, namer, total

if TYPE_CHECKING:
    from pandas import DataFrame

IN_TEXT = ("instances", "billed_s", "status", "cost_usd")
_LAYOUT = Layout(gap=1, full=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet(HasCard):
    """Jobs with their costs, newest first; made by ``fleet``. ``at`` is the date of the prices, None: the newest known.

    ``cut``: only so many of the newest were looked at, and there are more.
    """

    rows: tuple[WatchRow, ...]
    at: str | None = None
    title: str = "Jobs"
    cut: int | None = None

    @property
    def usd(self) -> Decimal:
        """What the jobs with a known cost cost together."""
        return sum((row.cost.usd for row in self.rows if row.cost is not None), Decimal(0))

    @property
    def idle_usd(self) -> Decimal:
        """What warm pools cost while no job ran in them, on top of ``usd``."""
        return total(row.idle_usd for row in self.rows)

    def by(self, key: str) -> tuple[FleetGroup, ...]:
        """Sums by ``instance``, ``status``, ``month``, ``day``, ``name`` (without the time) or ``tag:KEY``, dearest first.

        Raises UnknownName for another key, SmTrnError for a tag of jobs whose tags were not read.
        """
        name_of = namer(key)
        if self.rows and key.startswith(TAG) and not any(row.tags_read for row in self.rows):
            raise SmTrnError(f"by: got {key!r}, wanted jobs whose tags were read; session.fleet(tags=True) reads them")
        groups: dict[str, list[WatchRow]] = {}
        for row in self.rows:
            groups.setdefault(name_of(row), []).append(row)
        return tuple(
            sorted((group_of(name, rows) for name, rows in groups.items()), key=lambda group: (-group.usd, group.name))
        )

    def findings(self) -> Iterator[str]:
        """What the sums say, what they leave out, and at which prices."""
        yield from self._spent()
        unpriced = sorted({row.snapshot.instance for row in self.rows if row.unpriced and row.snapshot.instance})
        if unpriced:
            jobs = fmt.jobs(sum(row.unpriced for row in self.rows))
            yield f"No price is known for {fmt.listing(unpriced)}: {jobs} in no sum."
        if in_tokens := sum(row.snapshot.in_tokens for row in self.rows):
            yield f"{fmt.jobs(in_tokens)} {Missing.IN_TOKENS}: in no sum."
        if waiting := sum(row.snapshot.billable_s is None and not row.emulated for row in self.rows):
            yield f"{fmt.jobs(waiting)} {Missing.NOT_BILLED_YET}, or never started."
        if emulated := sum(row.emulated for row in self.rows):
            yield f"{fmt.jobs(emulated)} EMULATED on this machine: no cost, in no sum."

    def _spent(self) -> Iterator[str]:
        """The sum, and what of it bought nothing."""
        priced = [row for row in self.rows if row.cost is not None]
        dates = sorted({row.price.as_of for row in priced if row.price is not None})
        dated = f" at prices of {dates[0]}" + (f" to {dates[-1]}" if len(dates) > 1 else "") if dates else ""
        if self.cut is not None:
            yield f"There are more: only the {fmt.count(self.cut)} newest were looked at, so no sum is whole; raise the limit."
        if priced or not self.rows:
            yield f"{fmt.jobs(len(priced))} cost {fmt.usd(self.usd)} in all{dated}."
        saved = total(row.spot_saved for row in self.rows)
        if saved > 0:
            yield f"Spot took {fmt.usd(saved)} off the price of the training time."
        failed = [usd for row in priced if (usd := row.failed_usd) is not None]
        if failed:
            share = fmt.percent(float(sum(failed) / self.usd * 100)) if self.usd else fmt.percent(0)
            yield f"{fmt.jobs(len(failed))} failed and cost {fmt.usd(sum(failed, Decimal(0)))}, {share} of all."
        if self.idle_usd > 0:
            pools = fmt.jobs(sum(row.idle_usd is not None for row in self.rows))
            yield f"Warm pools of {pools} stood idle for {fmt.usd(self.idle_usd)}, on top of what the jobs cost: paid, and empty."

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
        yield from table_lines(group_table(self.by(by), by), screen, _LAYOUT)
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

    def page(self, *, by: str = "instance", now: datetime | None = None) -> str:
        """The whole document of fleet.html. ``now`` is written on it when given."""
        from ..pages import render  # noqa: PLC0415 - jinja2 is loaded on use

        first, *others = self.findings()
        prices = dict.fromkeys(row.price for row in self.rows if row.price is not None)
        return render(
            "fleet.html",
            kind="fleet",
            title=first,
            others=others,
            links={"findings": "Findings", "sums": "Sums", "jobs": "Jobs"},
            heading=f"{self.title}, by {by}",
            sums=group_table(self.by(by), by, f"Sums by {by}"),
            jobs=jobs_table(self.rows, IN_PAGE, title="Jobs, newest first."),
            prices=price_table(prices),
            now=now,
        )

    def save(self, directory: str | Path, *, by: str = "instance", now: datetime | None = None) -> tuple[Path, ...]:
        """Write fleet.html, fleet.csv and fleet.json into ``directory``, which is made; ``now`` dates the page, None: the time it is."""
        with extra("report", "the page of a fleet"):
            from ..pages import write  # noqa: PLC0415 - jinja2 is loaded on use

        page = self.page(by=by, now=now or datetime.now(timezone.utc))
        table = jobs_table(self.rows, FLEET_COLUMNS)
        return write(Path(directory), ("fleet.html", page), ("fleet.csv", table), ("fleet.json", self.to_json(by=by)))


def fleet(
    jobs: Iterable[tuple[JobSnapshot, Mapping[str, str] | None] | JobSnapshot],
    *,
    book: PriceBook | None = None,
    at: date | str | None = None,
    title: str = "Jobs",
    cut: int | None = None,
) -> Fleet:
    """The costs of many jobs, each a snapshot or a snapshot with its tags, at the newest price on or before ``at``. ``cut``
    says that only so many were looked at.
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
                tags=MappingProxyType(dict(tags or {})),
                tags_read=tags is not None,
                log_read=False,
            )
        )
    rows.sort(key=lambda row: row.snapshot.created.timestamp() if row.snapshot.created else 0.0, reverse=True)
    return Fleet(rows=tuple(rows), at=day, title=title, cut=cut)
