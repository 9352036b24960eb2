"""The jobs whose costs are added up: which they are, and what the service knows of each."""

from __future__ import annotations

import itertools
from datetime import date, datetime, time, timezone

from ...core.ports import JobQuery
from ...core.session.cloud import Cloud
from ...core.session.details import fetch_details, fetch_tags, listed
from ...core.specs.snapshot import JobSnapshot

MOST = 5_000


def fetch_jobs(
    cloud: Cloud, query: JobQuery, *, tag: tuple[str, str] | None, tags: bool, limit: int
) -> tuple[list[tuple[JobSnapshot, dict[str, str] | None]], bool]:
    """The newest jobs with their details and, where they are asked for, their tags; and whether there are more. Raises CloudError."""
    seen = list(itertools.islice(listed(cloud.backend, query), limit + 1))
    jobs = fetch_details(cloud.backend, query, seen[:limit])
    if not tags and tag is None:
        return [(job, None) for job in jobs], len(seen) > limit
    known = [(job, dict(own)) for job, own in zip(jobs, fetch_tags(cloud.backend, jobs), strict=True)]
    return [(job, own) for job, own in known if tag is None or own.get(tag[0]) == tag[1]], len(seen) > limit


def moment(day: date | str | None, *, end: bool = False) -> datetime | None:
    """A date, a datetime or ISO text as an aware datetime; a date is its first moment, or with ``end`` its last, in UTC.
    Raises ValueError for a text that is no date."""
    if day is None:
        return None
    if isinstance(day, str):
        try:
            day = date.fromisoformat(day) if len(day) <= 10 else datetime.fromisoformat(day.replace("Z", "+00:00"))
        except ValueError as error:
            raise ValueError(f"date: got {day!r}, wanted ISO text such as 2026-11-20 or 2026-11-20T08:00Z") from error
    if isinstance(day, datetime):
        return day if day.tzinfo is not None else day.replace(tzinfo=timezone.utc)
    return datetime.combine(day, time.max if end else time.min, tzinfo=timezone.utc)
