"""The one poller behind all tabs: finds jobs, follows those that run, reads the logs of those that are looked at.

It asks only while a tab is visible, and what it asks does not depend on how many are. It must not know how anything is sent.
"""

from __future__ import annotations

import functools
import itertools
import random
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from ...core.errors import CloudError
from ...core.formatting import numbers as fmt
from ...core.logs.metrics import MetricReader
from ...core.ports import Clock, JobQuery, Trouble
from ...core.pricing.book import Price
from ...core.session.details import fetch_details, fetch_tags, listed
from ...core.session.handles import Session
from ...core.session.log_reader import requested_rules
from ...core.session.poller import OVERLAP, Poller
from ...core.session.streams import expected_streams, settled, streams_missing
from ...core.specs.metrics import READ_ANYWAY
from ...core.specs.snapshot import JobSnapshot
from ...core.status import Texture
from ...diagnosis.guard.live import JobGuards
from ..watch.progress import LOGGED, Progress, Reader
from ..watch.rows import WatchRow
from .board import Board, Json
from .details import detail_json
from .lines import Lines
from .rows import Shown, cost, headline, needs, row_json
from .series import Curves, Recent
from .spending import spending

FIND_EVERY_S, FIND_EMULATED_S = 60.0, 2.0  # between two lists that look for new jobs
WHOLE_EVERY_S = 600.0  # then all are listed, so that nothing is missed for longer
READ_EVERY_S, READ_EMULATED_S = 20.0, 0.5  # between two looks at opened logs, of whichever job: more jobs wait longer
OPENED = 4  # jobs whose lines are kept; the one that was left first is forgotten
IDLE_S = 5.0
NOTES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSettings:
    """What the page was started with. ``options`` are words that a command to copy needs, each after a space."""

    limit: int = 500
    containing: str = ""
    options: str = ""
    allow_stop: bool = False


@dataclass(frozen=True, slots=True)
class _Wakeable:
    """The session's clock, whose sleep ends early when a tab wants something."""

    clock: Clock
    pause: Callable[[float], None]

    def now(self) -> float:
        return self.clock.now()

    def sleep(self, seconds: float) -> None:
        self.pause(seconds)


@dataclass
class _Opened:
    """A job that is looked at: its whole log was read, and is read on."""

    reader: Reader
    curves: Curves = field(default_factory=Curves)
    lines: Lines = field(default_factory=Lines)
    read_at: float | None = None
    problem: str = ""


class Watcher:
    """``step`` is one look, after the pause that is due before it; ``run`` goes on until ``end``, in a thread of its own."""

    def __init__(
        self,
        session: Session,
        board: Board,
        settings: PageSettings,
        *,
        calls: Callable[[], int] = lambda: 0,
        pause: Callable[[float], None] | None = None,
        jitter: Callable[[], float] | None = None,
    ) -> None:
        self.session = session
        self.settings = settings
        self._board = board
        self._calls = calls
        self._wake = threading.Event()
        self._ended = threading.Event()
        self._pause = pause or self._wait
        board.changed = self._wake.set
        self._poller = Poller(
            feed=session.backend,
            clock=_Wakeable(session.clock, self._rest),
            jitter=jitter or random.SystemRandom().random,
            notice=self._note,
        )
        self._sweeps: Iterator[dict[str, JobSnapshot]] | None = None
        self._followed: set[str] = set()
        self._hurried = False
        self._fresh: set[str] = set()  # found since the start, so their logs are worth a look when they end
        self._tags: dict[str, Mapping[str, str]] = {}
        self._readers: dict[str, Reader] = {}
        self._opened: OrderedDict[str, _Opened] = OrderedDict()
        self._final: dict[str, tuple[JobSnapshot, Shown, Json | None]] = {}
        self._guards = JobGuards(cloud=session, guards={})
        self._progress = Progress(
            readers=(),
            display=_Nowhere(),
            logs=session.logs,
            storage=session.storage,
            clock=session.clock,
            price_of=session.price_of,
            trouble=session.backend.trouble,
            renew=session.backend.renew,
            guards=self._guards,
        )
        self._found_at: float | None = None
        self._whole_at: float | None = None
        self._read_at: float | None = None
        self._seen: datetime | None = None
        self._trouble = ""
        self._notes: deque[str] = deque(maxlen=NOTES)
        self._shown: tuple[Shown, ...] = ()
        self._ready = False

    # what requests ask, from other threads

    def spending(self) -> Json:
        """What the jobs cost, as they were last seen."""
        cut = self.settings.limit if len(self._shown) >= self.settings.limit else None
        return spending([(shown.row.snapshot, shown.tags) for shown in self._shown], self.session.prices, cut=cut)

    def snapshot(self, name: str) -> JobSnapshot | None:
        """A job as it was last seen; None for one that the page does not show."""
        return self._poller.known.get(name)

    def lines(self, name: str) -> Lines | None:
        """The kept lines of a job whose view is open."""
        found = self._opened.get(name)
        return found.lines if found is not None else None

    def hurry(self) -> None:
        """Look again at once: somebody stopped a job."""
        self._hurried = True
        self._wake.set()

    def end(self) -> None:
        self._ended.set()
        self._wake.set()

    # the thread

    def run(self) -> None:
        """Until ``end``; while nobody looks, nothing is asked."""
        while not self._ended.is_set():
            if not self._board.watched:
                self._wake.wait()
                self._wake.clear()
                continue
            self.step()

    def first(self) -> None:
        """The newest jobs as one list knows them. Raises CloudError: who may not ask is told before there is a page."""
        page = self.session.backend.fetch_page(JobQuery(containing=self.settings.containing))
        for job in page.jobs[: self.settings.limit]:
            self._poller.known.setdefault(job.name, job)
        self._publish()

    def step(self) -> None:
        """One pause, one look, one picture of what is known. A failure is shown, and never ends it."""
        try:
            self._find()
            self._follow()
            self._read()
        except CloudError as error:
            self._survive(error)
        self._publish()

    def _wait(self, seconds: float) -> None:
        if not self._ended.is_set():
            self._wake.wait(seconds)
        self._wake.clear()

    def _rest(self, seconds: float) -> None:
        """The poller's pause, which ends early when opened logs are due, or a list of new jobs."""
        if self._ended.is_set():
            return
        longest = self._find_every_s
        if self._opened and self._board.opened:
            longest = min(longest, READ_EMULATED_S if self.session.emulated else READ_EVERY_S)
        self._pause(min(seconds, longest))

    @property
    def _find_every_s(self) -> float:
        return FIND_EMULATED_S if self.session.emulated else FIND_EVERY_S

    def _survive(self, error: CloudError) -> None:
        backend = self.session.backend
        self._sweeps = None
        if backend.trouble(error) is Trouble.EXPIRED and backend.renew():
            return
        self._trouble = _trouble_words(backend.trouble(error), error)
        self._publish()
        self._pause(IDLE_S if self.session.emulated else FIND_EVERY_S / 2)

    def _find(self) -> None:
        """List what is new; at first, and from time to time, all."""
        now = self.session.clock.now()
        if self._found_at is not None and 0 <= now - self._found_at < self._find_every_s:
            return
        whole = self._whole_at is None or abs(now - self._whole_at) >= WHOLE_EVERY_S
        newest = max((job.created for job in self._poller.known.values() if job.created is not None), default=None)
        after = None if whole or newest is None else newest - OVERLAP
        query = JobQuery(containing=self.settings.containing, created_after=after)
        found = list(itertools.islice(listed(self.session.backend, query), self.settings.limit))
        self._found_at = now
        new = [job for job in found if job.name not in self._poller.known or not self._ready]
        if not self._ready:
            self._poller.known.update({job.name: job for job in new})
            self._publish()
        else:
            self._fresh.update(job.name for job in new)
        for job in fetch_details(self.session.backend, query, new):
            self._poller.known[job.name] = job
        self._learn_tags()
        if whole:
            self._whole_at = now
        self._ready = True
        self._trouble, self._seen = "", self._poller.service_now()
        self._forget()

    def _learn_tags(self) -> None:
        """The tags of jobs, once for each. Who may not ask for them sees jobs without tags."""
        new = [job for job in self._poller.known.values() if job.name not in self._tags]
        backend = self.session.backend
        try:
            told = fetch_tags(backend, new)
        except CloudError as error:
            if backend.trouble(error) in {Trouble.EXPIRED, Trouble.TRANSIENT}:
                raise
            told = [{} for _ in new]
        self._tags.update({job.name: tags for job, tags in zip(new, told, strict=True)})

    def _forget(self) -> None:
        """Keep the newest jobs, and all that run."""
        known = self._poller.known
        if len(known) <= self.settings.limit:
            return
        ended = [job for job in known.values() if job.over and job.name not in self._board.opened]
        ended.sort(key=lambda job: job.created.timestamp() if job.created else 0.0)
        for job in ended[: len(known) - self.settings.limit]:
            for kept in (known, self._tags, self._final, self._readers, self._opened):
                kept.pop(job.name, None)
            self._guards.forget(job.name)
            self._fresh.discard(job.name)

    def _follow(self) -> None:
        """Let the poller look at the jobs that run; with none, wait until it is time to look for new ones."""
        running = {job.name for job in self._poller.known.values() if not job.over}
        if not running:
            self._sweeps = None
            self._rest(max(0.0, self._find_every_s - (self.session.clock.now() - (self._found_at or 0.0))))
            return
        if self._sweeps is None or self._hurried or not running <= self._followed:
            self._hurried = False
            self._sweeps, self._followed = self._poller.sweeps(sorted(running)), set(running)
        try:
            next(self._sweeps)
        except StopIteration:
            self._sweeps = None
        if not self._poller.failing:
            self._trouble, self._seen = "", self._poller.service_now()

    def _read(self) -> None:
        """The numbers of running jobs, and the whole log of those that are looked at."""
        if self._poller.failing:
            return
        known = self._poller.known
        for name in self._board.opened:
            if name in known:
                self._open(known[name])
        self._read_opened()
        running = [job for job in known.values() if not job.over and job.name not in self._opened]
        for job in running if len(running) <= LOGGED else ():
            self._readers.setdefault(job.name, Reader(name=job.name, label=job.name, found=Recent()))
        for job in known.values():
            if job.terminal and job.name in self._fresh and job.emulated and job.name not in self._final:
                self._readers.setdefault(job.name, Reader(name=job.name, label=job.name, found=Recent()))
        readers = [reader for name, reader in self._readers.items() if name in known and not reader.complete]
        self._progress.readers = readers[:LOGGED]
        self._progress.look(known, self._poller.service_now(), self._note)

    def _open(self, job: JobSnapshot) -> None:
        if job.name in self._opened:
            self._opened.move_to_end(job.name)
            return
        rules = [rule for rule in requested_rules(job) if rule not in READ_ANYWAY]
        curves = Curves()
        reader = Reader(name=job.name, label=job.name, metrics=MetricReader(rules), found=curves)
        self._opened[job.name] = _Opened(reader, curves)
        self._readers.pop(job.name, None)  # the whole log is read again
        self._guards.forget(job.name)
        for name in list(self._opened)[: max(0, len(self._opened) - OPENED)]:
            if name not in self._board.opened:
                del self._opened[name]
                self._guards.forget(name)

    def _read_opened(self) -> None:
        """Read on the log that waited longest; one that nobody has read yet, at once."""
        now, looked_at = self.session.clock.now(), self._board.opened
        waiting = [
            opened
            for name, opened in self._opened.items()
            if name in looked_at and not opened.reader.complete and name in self._poller.known
        ]
        for opened in [one for one in waiting if one.read_at is None]:
            self._advance(opened)
        every_s = READ_EMULATED_S if self.session.emulated else READ_EVERY_S
        again = sorted((one for one in waiting if one.read_at is not None), key=lambda one: one.read_at or 0.0)
        if again and (self._read_at is None or abs(now - self._read_at) >= every_s):
            self._read_at = now
            for opened in again if self.session.emulated else again[:1]:
                self._advance(opened)

    def _advance(self, opened: _Opened) -> None:
        """Read one log on, a page at a time."""
        reader, session = opened.reader, self.session
        job = self._poller.known[reader.name]
        try:
            streams = None if job.terminal else expected_streams(job)
            for batch in session.logs.stream_events(reader.name, reader.cursor, streams=streams):
                for point in reader.metrics.read(batch.events):
                    opened.curves.add(point)
                opened.lines.add(batch.events)
                self._guards.hear(job.name, batch.events)
                reader.cursor = batch.cursor
        except CloudError as error:
            found = session.backend.trouble(error)
            if found in {None, Trouble.NOT_FOUND}:
                reader.complete = True
                opened.problem = f"The log cannot be read: {error}"
            elif found is Trouble.EXPIRED:
                session.backend.renew()
            if opened.problem == "":
                opened.problem = "AWS does not answer; the log is read on when it does."
            return
        now = session.clock.now()
        opened.read_at, opened.problem = now, ""
        reader.complete = job.terminal and (not streams_missing(job, reader.cursor) or settled(job, reader.cursor, now))

    def _note(self, text: str) -> None:
        self._notes.append(f"{fmt.clock(self._poller.service_now())} {text}")

    # what is shown

    def _publish(self) -> None:
        now = self._poller.service_now()
        price_of = functools.cache(self.session.price_of)
        shown: list[Shown] = []
        rows: dict[str, Json] = {}
        for name, job in self._poller.known.items():
            one, drawn = self._row(job, price_of, now)
            shown.append(one)
            rows[name] = drawn
        self._shown = tuple(shown)
        self._board.publish(rows, self._head([one.row for one in shown], now), self._details(now, price_of))

    def _row(
        self, job: JobSnapshot, price_of: Callable[[tuple[tuple[str, int], ...]], Price | None], now: datetime
    ) -> tuple[Shown, Json]:
        """A job's row; of one that has ended, and whose log was read, made once."""
        kept = self._final.get(job.name)
        if kept is not None and kept[0] is job and kept[2] is not None:
            return kept[1], kept[2]
        opened = self._opened.get(job.name)
        reader = opened.reader if opened is not None else self._readers.get(job.name)
        price = price_of(job.machines) if job.instance else None
        seen = _so_far(job)
        row = (
            reader.row(seen, price, self._guards.health(job, now))
            if reader is not None
            else WatchRow(snapshot=seen, label=job.name, price=price, log_read=False)
        )
        one = Shown(row, self._tags.get(job.name, {}))
        drawn = row_json(one, now)
        if job.terminal and (reader is None or reader.complete) and (reader is not None or job.name not in self._fresh):
            self._readers.pop(job.name, None)
            slim = Shown(WatchRow(snapshot=job, label=job.name, price=price, log_read=False), one.tags)
            self._final[job.name] = (job, slim, drawn)
        return one, drawn

    def _details(
        self, now: datetime, price_of: Callable[[tuple[tuple[str, int], ...]], Price | None]
    ) -> dict[str, Json]:
        found: dict[str, Json] = {}
        for name in self._board.opened:
            job, opened = self._poller.known.get(name), self._opened.get(name)
            if job is None or opened is None:
                continue
            found[name] = detail_json(
                opened.reader.row(
                    _so_far(job), price_of(job.machines) if job.instance else None, self._guards.health(job, now)
                ),
                opened.curves,
                opened.lines,
                now=now,
                ready=opened.read_at is not None,
                problem=opened.problem,
                options=self.settings.options,
            )
        return found

    def _head(self, rows: Sequence[WatchRow], now: datetime) -> Json:
        sentence, below = headline(rows, now)
        session = self.session
        totals = [usd for row in rows if (usd := cost(row, now)) is not None]
        return {
            "sentence": sentence if self._ready or rows else "Asking for the newest jobs",
            "below": below,
            "ready": self._ready,
            "needs": needs(rows, now, self.settings.options)[:6],
            "emulated": session.emulated,
            "where": "EMULATED on this machine" if session.emulated else f"AWS {session.region}",
            "seen": self._seen.timestamp() if self._seen is not None else None,
            "seen_words": fmt.clock(self._seen) if self._seen is not None else "",
            "trouble": self._trouble or self._poller_trouble(),
            "notes": list(self._notes),
            "calls": self._calls(),
            "allow_stop": self.settings.allow_stop,
            "limit": self.settings.limit,
            "full": len(rows) >= self.settings.limit,
            "options": self.settings.options,
            "textures": [(texture.style, texture.words) for texture in Texture],
            "usd": float(sum(totals)) if totals else None,
        }

    def _poller_trouble(self) -> str:
        return "AWS does not answer. The jobs go on, and may be billed." if self._poller.failing else ""


class _Nowhere:
    """A display for a ``Progress`` whose rows are read where they are made."""

    def show(self, rows: Sequence[WatchRow], now: datetime) -> None:
        """Shown by the board."""

    def note(self, text: str, now: datetime) -> None:
        """Told to the watcher."""

    def close(self, words: str = "") -> None:
        """Nothing to leave behind."""


def _so_far(job: JobSnapshot) -> JobSnapshot:
    """A job that runs without the seconds of its last describe: they are older than the page."""
    return job if job.terminal or job.billable_s is None else replace(job, billable_s=None)


def _trouble_words(found: Trouble | None, error: CloudError) -> str:
    if found is Trouble.EXPIRED:
        return "Your AWS login expired. The jobs go on; run aws sso login, and this page goes on too."
    if found is Trouble.TRANSIENT:
        return f"AWS does not answer ({error.code or error.operation}). The jobs go on, and may be billed."
    return str(error)
