"""Lists of jobs, page after page."""

from __future__ import annotations

from collections.abc import Iterator

from ..ports import JobFeed, JobQuery
from ..specs import JobSnapshot


def listed(feed: JobFeed, query: JobQuery) -> Iterator[JobSnapshot]:
    """Every job that the query is about, newest first, asked for as they are taken; they know what a list knows."""
    token: str | None = None
    while True:
        page = feed.fetch_page(query, token)
        yield from page.jobs
        token = page.token
        if token is None:
            return
