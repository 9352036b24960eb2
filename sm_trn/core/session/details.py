"""Lists of jobs, page after page; and what a list leaves out – machines, seconds, tags – in few calls, several at a time."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from ..errors import CloudError
from ..ports import Backend, JobFeed, JobQuery, Trouble
from ..specs.snapshot import JobSnapshot
from ..specs.value import suggestion

READERS = 8  # Describe and ListTags allow more a second; the account's other clients want some too
RECENT = 100  # jobs among which a mistyped name is looked for: one page of a list
DESCRIBED = 20  # so few are described one by one; of more, Search tells a hundred a call

T = TypeVar("T")
R = TypeVar("R")


def resembling(feed: JobFeed, name: str) -> str:
    """`` (did you mean …?)``: the newest job whose name holds ``name``, else one of the newest that resembles it; or nothing."""
    try:
        for job in listed(feed, JobQuery(containing=name)):
            return f" (did you mean {job.name!r}?)"
        return suggestion(name, [job.name for job in itertools.islice(listed(feed, JobQuery(containing="")), RECENT)])
    except CloudError:
        return ""  # the name is wrong all the same, and its own error is better than that of the search


def listed(feed: JobFeed, query: JobQuery) -> Iterator[JobSnapshot]:
    """Every job that the query is about, newest first, asked for as they are taken; they know what a list knows."""
    token: str | None = None
    while True:
        page = feed.fetch_page(query, token)
        yield from page.jobs
        token = page.token
        if token is None:
            return


def each(work: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """``work`` on every item, several at a time, in their order. An error or Ctrl-C ends it without the rest."""
    pool = ThreadPoolExecutor(max_workers=READERS)
    try:
        return list(pool.map(work, items))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def fetch_details(backend: Backend, query: JobQuery, listed: Sequence[JobSnapshot]) -> list[JobSnapshot]:
    """The jobs of a list as a describe knows them, in its order. Raises CloudError.

    What Search says is taken where it is as new as the list; the others are described, and all of them where Search may not
    be asked, or is not known, as on the emulator.
    """
    snapshots = _searched(backend, query, listed) if len(listed) > DESCRIBED and not listed[0].emulated else {}

    def detailed(job: JobSnapshot) -> JobSnapshot:
        known = snapshots.get(job.name)
        if known is not None and (known.status_word, known.modified) == (job.status_word, job.modified):
            return known
        return backend.fetch_snapshot(job.name)

    return each(detailed, listed)


def fetch_tags(backend: Backend, jobs: Sequence[JobSnapshot]) -> list[Mapping[str, str]]:
    """The tags of each job: those that Search has told, else one call a job. Raises CloudError."""

    def tags_of(job: JobSnapshot) -> Mapping[str, str]:
        if "Tags" in job.raw:
            return {tag["Key"]: tag["Value"] for tag in job.raw["Tags"] or ()}
        return backend.fetch_tags(job.arn)

    return each(tags_of, jobs)


def _searched(backend: Backend, query: JobQuery, listed: Sequence[JobSnapshot]) -> dict[str, JobSnapshot]:
    snapshots: dict[str, JobSnapshot] = {}
    wanted, token = {job.name for job in listed}, None
    for _ in range(len(listed) // 50 + 2):  # pages of 100: where others' jobs come between, describing is no dearer
        try:
            page = backend.search_page(query, token)
        except CloudError as error:
            if backend.trouble(error) is Trouble.EXPIRED:
                raise
            return snapshots  # not allowed, or not known here
        snapshots.update((job.name, job) for job in page.jobs)
        token = page.token
        if token is None or wanted <= set(snapshots):
            break
    return snapshots
