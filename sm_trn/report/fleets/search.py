"""The costs of all jobs that fit: which they are, and what the service knows of each."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, time, timezone
from typing import TYPE_CHECKING

from ...core.ports import JobQuery
from ...core.session.cloud import Cloud
from ...core.session.details import fetch_details, fetch_tags, listed
from ...core.session.log_reader import JobLog
from ...core.specs.snapshot import JobSnapshot
from ...diagnosis.guard.live import JobGuards
from ...diagnosis.health.health import Health

if TYPE_CHECKING:
    from .fleet import Fleet

MOST = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """Which jobs: part of their name, a tag, when they were created. A day that is no date is a ValueError."""

    containing: str = ""
    tag: tuple[str, str] | None = None
    after: date | str | None = None
    before: date | str | None = None

    @property
    def query(self) -> JobQuery:
        """What the service can look for itself: all but the tag."""
        created_after, created_before = moment(self.after), moment(self.before, end=True)
        return JobQuery(containing=self.containing, created_after=created_after, created_before=created_before)

    def __str__(self) -> str:
        parts = [
            f"with {self.containing!r} in their name" if self.containing else "",
            f"tagged {self.tag[0]}={self.tag[1]}" if self.tag else "",
            f"created {self.after} or later" if self.after else "",
            f"created {self.before} or before" if self.before else "",
        ]
        return " ".join(["Jobs", ", ".join(part for part in parts if part)]).strip()


def fetch_fleet(
    cloud: Cloud, search: Search, *, tags: bool, at: date | str | None, limit: int, healthy: bool = False
) -> Fleet:
    """List, describe and price the jobs; with their tags, and with the health of those that train, when these are asked for.
    Raises CloudError."""
    from .fleet import fleet  # noqa: PLC0415 - pandas and matplotlib stay out of `import sm_trn`

    seen = list(itertools.islice(listed(cloud.backend, search.query), limit + 1))
    jobs, tag = fetch_details(cloud.backend, search.query, seen[:limit]), search.tag
    cut = limit if len(seen) > limit else None
    if tags or tag is not None:
        known = zip(jobs, fetch_tags(cloud.backend, jobs), strict=True)
        wanted = [(job, own) for job, own in known if tag is None or own.get(tag[0]) == tag[1]]
        healths = _healths(cloud, [job for job, _ in wanted]) if healthy else {}
        return fleet(wanted, book=cloud.prices, at=at, title=str(search), cut=cut, healths=healths)
    healths = _healths(cloud, jobs) if healthy else {}
    return fleet(jobs, book=cloud.prices, at=at, title=str(search), cut=cut, healths=healths)


def _healths(cloud: Cloud, jobs: Iterable[JobSnapshot]) -> dict[str, Health]:
    """How the jobs that train are, by one reading of each log; one that cannot be read is left out."""
    guards, now = JobGuards(cloud=cloud, guards={}), datetime.fromtimestamp(cloud.clock.now(), tz=timezone.utc)
    training = {job.name: job for job in jobs if job.secondary == "Training" and not job.terminal}
    for name in training:
        guards.read(JobLog(cloud=cloud, name=name), training)
    return {name: guards.health(job, now) for name, job in training.items()}


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
