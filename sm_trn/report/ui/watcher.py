"""The one poller behind all tabs: finds jobs, looks at those that run, and reads their logs.

It asks only while a tab is visible, and what it asks does not depend on how many are. It must not know how anything is sent.
"""

from __future__ import annotations

import functools
import itertools
import random
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timezone

from ...core.errors import CloudError
from ...core.formatting import numbers as fmt
from ...core.ports import JobQuery, Trouble
from ...core.session.details import fetch_details, listed
from ...core.session.handles import Session
from ...core.session.pace import next_look_s
from ...core.specs.snapshot import JobSnapshot
from ...diagnosis.guard.live import JobGuards
from ..columns import jobs_table
from ..jobs import WatchRow
from ..pages import render
from ..watch.display import Display
from ..watch.progress import LOGGED, Progress, Reader
from ..watch.text import causes, folded_words, heading, notes, ordered
from .board import Board

FIND_EVERY_S, FIND_EMULATED_S = 60.0, 2.0  # between two lists that look for new jobs
NEWEST = 500  # jobs that the page shows, and all that run
ENDED_READ = 20  # the newest jobs, whose logs are read although they have ended: did they learn anything?
SHOWN = 200  # rows of the list
COLUMNS = ("status", "phases", "machines", "step", "rate", "loss", "left", "cost_usd", "checkpoint", "interruptions")


class Watcher:
    """``step`` is one look, after the pause that is due before it; ``run`` goes on until ``end``, in a thread of its own."""

    def __init__(
        self,
        session: Session,
        *,
        limit: int = NEWEST,
        pause: Callable[[float], None] | None = None,
    ) -> None:
        self.session = session
        self.known: dict[str, JobSnapshot] = {}  # as last seen, by name
        self._limit = limit
        self._wake = threading.Event()
        self.board = Board(self._wake.set)
        self._ended = threading.Event()
        self._pause = pause or self._wait
        self._readers: dict[str, Reader] = {}
        self._guards = JobGuards(cloud=session, guards={})
        self._progress = Progress(readers=(), display=Display(), cloud=session, guards=self._guards)
        self._found_at: float | None = None
        self._seen = ""
        self._trouble = ""
        self._failures = 0
        self._note = ""

    def end(self) -> None:
        """Ask no more, and send the tabs away."""
        self._ended.set()
        self._wake.set()
        self.board.close()

    def run(self) -> None:
        """Until ``end``; while nobody looks, nothing is asked."""
        while not self._ended.is_set():
            if not self.board.watched:
                self._wake.wait()
                self._wake.clear()
                continue
            self.step()

    def first(self) -> None:
        """The newest jobs as one list knows them. Raises CloudError: who may not ask is told before there is a page."""
        page = self.session.backend.fetch_page(JobQuery())
        for job in page.jobs[: self._limit]:
            self.known.setdefault(job.name, job)
        self._publish()

    def step(self) -> None:
        """One pause, one look, one picture of what is known. A failure is shown, and never ends it."""
        if self._found_at is not None:
            self._pause(self._due_s())
        try:
            self._find()
            self._read()
            self._failures, self._trouble, self._seen = 0, "", fmt.clock(self._now())
        except CloudError as error:
            self._survive(error)
        self._publish()

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self.session.clock.now(), tz=timezone.utc)

    def _wait(self, seconds: float) -> None:
        if not self._ended.is_set():
            self._wake.wait(seconds)
        self._wake.clear()

    def _due_s(self) -> float:
        """Until the next look: at the jobs that run, or for new ones."""
        longest = FIND_EMULATED_S if self.session.emulated else FIND_EVERY_S
        running = [job for job in self.known.values() if not job.over]
        if not running:
            return longest
        jitter = random.SystemRandom().random()
        return min(longest, next_look_s(running, self._now(), failures=self._failures, jitter=jitter))

    def _survive(self, error: CloudError) -> None:
        backend = self.session.backend
        trouble = backend.trouble(error)
        if trouble is Trouble.EXPIRED and backend.renew():
            return
        self._failures += 1
        self._trouble = str(error)
        if trouble is Trouble.TRANSIENT:
            self._trouble = f"AWS does not answer ({error.code or error.operation}). The jobs go on, and may be billed."
        elif trouble is Trouble.EXPIRED:
            self._trouble = "Your AWS login expired. The jobs go on; run aws sso login, and this page goes on too."

    def _find(self) -> None:
        """The details of jobs that run, and of those that a list has for the first time; the newest are kept, and all that run."""
        now, every_s = self.session.clock.now(), FIND_EMULATED_S if self.session.emulated else FIND_EVERY_S
        first, newest = self._found_at is None, list(self.known.values())
        if self._found_at is None or not 0 <= now - self._found_at < every_s:
            newest = list(itertools.islice(listed(self.session.backend, JobQuery()), self._limit))
            self._found_at = now
        kept = {job.name for job in newest}
        for name in [name for name, job in self.known.items() if job.over and name not in kept]:
            del self.known[name]
            self._readers.pop(name, None)
            self._guards.forget(name)
        new = [job for job in newest if first or job.name not in self.known or not self.known[job.name].over]
        new += [job for job in self.known.values() if not job.over and job.name not in kept]
        for job in fetch_details(self.session.backend, JobQuery(), new):
            self.known[job.name] = job
            if not first or not job.over or len(self._readers) < ENDED_READ:
                self._readers.setdefault(job.name, Reader(name=job.name, label=job.name))

    def _read(self) -> None:
        """The numbers of jobs that run, and the whole log of one that had ended before: it may be long."""
        unread = [reader for reader in self._readers.values() if not reader.complete]
        ended = [reader.name for reader in unread if reader.looked is None and self.known[reader.name].over]
        self._progress.readers = [reader for reader in unread if reader.name not in ended[1:]][:LOGGED]
        notes: list[str] = []
        self._progress.look(self.known, self._now(), notes.append)
        self._note = "; ".join(notes) or self._note

    def _publish(self) -> None:
        now = self._now()
        price_of = functools.cache(self.session.price_of)
        rows: dict[str, WatchRow] = {}
        for name, job in self.known.items():
            # the seconds that a describe gave of a job that runs are older than the page
            seen = job if job.terminal or job.billable_s is None else replace(job, billable_s=None)
            price, reader = price_of(job.machines) if job.instance else None, self._readers.get(name)
            if reader is None:
                rows[name] = WatchRow(snapshot=seen, label=name, price=price, log_read=False)
            else:
                rows[name] = reader.row(seen, price, self._guards.health(job, now))
        seen_piece = render(
            "live_seen.html",
            where="EMULATED on this machine" if self.session.emulated else f"AWS {self.session.region}",
            seen=self._seen,
            trouble=self._trouble,
            note=self._note,
        )
        self.board.publish({"seen": seen_piece, "jobs": list_piece([*rows.values()], now)})


def list_piece(rows: Sequence[WatchRow], now: datetime) -> str:
    """What needs somebody, then every job, what needs somebody first."""
    several = ordered(rows)
    return render(
        "live_list.html",
        heading=heading(several, now) if rows else "No training jobs here yet.",
        causes=list(causes(several)),
        jobs=jobs_table(several[:SHOWN], COLUMNS, now),
        notes=[*folded_words(several[SHOWN:], now), *notes(several, now)],
    )
