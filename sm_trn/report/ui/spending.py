"""What the jobs of the page cost together, by day, instance, name and tag. Sums are the fleet's own; asks nobody."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta, timezone
from decimal import Decimal

from ...core.formatting import numbers as fmt
from ...core.formatting.printable import one_line
from ...core.pricing.book import PriceBook
from ...core.specs.snapshot import JobSnapshot
from ..fleets.fleet import Fleet, fleet
from ..fleets.rows import TAG, FleetRow
from .board import Json

DAYS = 62  # bars of a figure
GROUPS = 12


def spending(jobs: Sequence[tuple[JobSnapshot, Mapping[str, str]]], book: PriceBook, *, cut: int | None = None) -> Json:
    """The view of the costs. ``cut`` says that only so many jobs are on the page, and there may be more."""
    item = fleet([job for job in jobs if job[0].terminal], book=book, cut=cut)
    emulated = bool(jobs) and all(job.emulated for job, _ in jobs)
    running = sum(not job.terminal for job, _ in jobs)
    keys = sorted({key for _, tags in jobs for key in tags if not key.startswith("sm-trn:")})[:4]
    return {
        "emulated": emulated,
        "title": _title(item, emulated=emulated),
        "findings": [*item.findings(), *_running(running, emulated=emulated), *_earlier(item)],
        "unit": "seconds of this machine" if emulated else "US dollars",
        "days": list(_days(item, emulated=emulated)),
        "by": [
            {"title": f"By {word}", "groups": _groups(item, key, emulated=emulated)}
            for key, word in (
                ("instance", "instance"),
                *((f"{TAG}{key}", f"tag {key}") for key in keys),
                ("name", "name"),
            )
            if key != "name" or len(item.by(key)) < len(item.rows)
        ],
    }


def _title(item: Fleet, *, emulated: bool) -> str:
    if emulated:
        seconds = sum(_seconds(row) for row in item.rows)
        return f"Emulated jobs cost nothing; they took {fmt.duration(seconds)} of this machine"
    if not any(row.cost is not None for row in item.rows):
        return "Nothing was billed yet"
    lost = sum((_paid(row) for row in item.rows if row.snapshot.status_word == "Failed"), Decimal(0))
    share = f", of which {fmt.percent(float(lost / item.usd * 100))} went to failed jobs" if lost and item.usd else ""
    return f"{fmt.jobs(len(item.rows))}: {fmt.usd(item.usd)}{share}"


def _running(number: int, *, emulated: bool) -> Iterator[str]:
    """What is in no sum, for its seconds are not known before the end."""
    if number:
        more = "" if emulated else " The list of jobs shows the cost so far."
        yield f"{fmt.jobs(number)} still run{'s' if number == 1 else ''} and {'is' if number == 1 else 'are'} in no sum here.{more}"


def _seconds(row: FleetRow) -> float:
    return (row.snapshot.billable_s or 0.0) * row.snapshot.count


def _paid(row: FleetRow) -> Decimal:
    return row.cost.usd if row.cost is not None else Decimal(0)


def _amounts(rows: Sequence[FleetRow], *, emulated: bool) -> Json:
    """Of completed, stopped and failed jobs; and what spot saved, which was not paid."""

    def amount(row: FleetRow) -> float:
        return _seconds(row) if emulated else float(_paid(row))

    failed = sum(amount(row) for row in rows if row.snapshot.status_word == "Failed")
    stopped = sum(amount(row) for row in rows if row.snapshot.status_word == "Stopped")
    whole = sum(amount(row) for row in rows)
    saved = 0.0 if emulated else float(sum((row.spot_saved or Decimal(0) for row in rows), Decimal(0)))
    return {
        "done": max(0.0, whole - failed - stopped),
        "stopped": stopped,
        "failed": failed,
        "saved": max(0.0, saved),
        "words": fmt.billable(whole, emulated=True) if emulated else fmt.usd(whole),
        "jobs": len(rows),
    }


def _days(item: Fleet, *, emulated: bool) -> Iterator[Json]:
    """Every day from the first to the last, also those without a job; the newest ``DAYS`` of them."""
    by_day = _by_day(item)
    last = max(by_day, default=None)
    if last is None:
        return
    first = max(min(by_day), last - timedelta(days=DAYS - 1))
    for number in range((last - first).days + 1):
        day = first + timedelta(days=number)
        yield {"day": day.isoformat(), **_amounts(by_day.get(day, []), emulated=emulated)}


def _earlier(item: Fleet) -> Iterator[str]:
    """What is in the sums and before the days of the figure."""
    by_day = _by_day(item)
    rows = [row for day, rows in by_day.items() if (max(by_day) - day).days >= DAYS for row in rows]
    if rows:
        yield f"{fmt.jobs(len(rows))} of earlier days {'is' if len(rows) == 1 else 'are'} in the sums, and not in the days below."


def _by_day(item: Fleet) -> dict[date, list[FleetRow]]:
    found: dict[date, list[FleetRow]] = {}
    for row in item.rows:
        if row.snapshot.created is not None and row.snapshot.billable_s is not None:
            found.setdefault(row.snapshot.created.astimezone(timezone.utc).date(), []).append(row)
    return found


def _groups(item: Fleet, key: str, *, emulated: bool) -> list[Json]:
    """The dearest groups; every row belongs to one."""
    names = [group.name for group in item.by(key)]
    members: dict[str, list[FleetRow]] = {name: [] for name in names}
    for row in item.rows:
        members[_group_name(item, row, key)].append(row)
    found: list[Json] = [
        {"name": one_line(name), **_amounts(rows, emulated=emulated)} for name, rows in members.items()
    ]
    rest = found[GROUPS:]
    return [*found[: GROUPS - 1], _rest(members, GROUPS - 1, emulated=emulated)] if rest else found


def _rest(members: Mapping[str, Sequence[FleetRow]], shown: int, *, emulated: bool) -> Json:
    names = list(members)[shown:]
    rows = [row for name in names for row in members[name]]
    return {"name": f"{len(names)} others", **_amounts(rows, emulated=emulated)}


def _group_name(item: Fleet, row: FleetRow, key: str) -> str:
    """The group of one row, as the fleet itself names it."""
    return type(item)(rows=(row,)).by(key)[0].name
