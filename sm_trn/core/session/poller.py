"""The one poller: looks at any number of jobs with as few calls as will do, and goes on whatever the network does.

It yields what is known after each look. It must not know who shows it, nor read a log.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from typing import Any

from typing_extensions import assert_never

from ..errors import CloudError
from ..ports import OTHER_ACCOUNT, Clock, JobFeed, JobQuery, Trouble
from ..specs.snapshot import DELETED, JobSnapshot, parse_snapshot
from .pace import LONGEST_PAUSE_S, next_look_s

PLAIN = 1  # so few are described one by one; two cost less in a list, with a describe for each change
DETAILED = 20  # so many are described whenever something about them changed
BATCH = 25  # describes between two yields, so that a thousand ends at once are seen as they come
SPARE, SPARE_SHARE = 20, 0.08  # calls for details nobody waits for: so many, and this share of all
OVERLAP = timedelta(seconds=60)  # a list lags behind: what changed a minute before the newest change is asked for again
WHOLE_EVERY_S = 600.0  # then everything is listed, so that nothing a list left out is missed for longer
PATIENCE = 3  # looks in a row that fail before the user is told: a throttle is no news
ABSENT_LOOKS, ABSENT_S = 3, 60.0  # a job that so many looks over so long do not find, and no list names, is gone
PREFIX = 4  # letters that names must share to be asked for by them

Notice = Callable[[str], None]


class Look(enum.Enum):
    """How a look at the jobs went."""

    OK = enum.auto()
    FAILED = enum.auto()
    RETRY_NOW = enum.auto()  # the login was renewed just now


@dataclass(kw_only=True)
class Poller:
    """Looks until every job has ended. ``hints`` are the parts of a describe answer that are known before the first one.

    ``jitter`` gives random numbers from 0 to 1; ``notice`` is told, once each, what the user should know.
    """

    feed: JobFeed
    clock: Clock
    jitter: Callable[[], float]
    notice: Notice = lambda _text: None
    hints: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    detailed: bool = False  # every change is described, however many jobs there are
    calls: int = 0
    known: dict[str, JobSnapshot] = field(default_factory=dict)
    _open: dict[str, None] = field(default_factory=dict)  # not known to have ended
    _queue: dict[str, None] = field(default_factory=dict)  # to be described now
    _curious: dict[str, None] = field(default_factory=dict)  # to be described when there are calls to spare
    _few: bool = True
    _spent: int = 0
    _absent: dict[str, tuple[float, int]] = field(default_factory=dict)  # since when a job is not found, and how often
    _newest: datetime | None = None
    _whole_at: float | None = None
    _failures: int = 0
    _said: str = ""  # what the user was told last of a trouble that goes on
    _ahead_s: float = 0.0

    def sweeps(self, names: Collection[str]) -> Iterator[dict[str, JobSnapshot]]:
        """Everything known after each look; the last has every job ended, or ``Deleted``.

        Raises CloudError for what asking again will not mend: no permission, or a job that never was.
        """
        self._open = {name: None for name in names if name not in self.known or not self.known[name].over}
        due = self.clock.now()
        while self._open:
            now = self.clock.now()
            is_due = now >= due or due - now > LONGEST_PAUSE_S  # later than planned, or the clock was set back
            lists = is_due and not self._queue  # to list again for each batch would make a thousand ends quadratic
            look = self._look(self._survey, self._describe) if lists else self._look(self._describe)
            if lists or (is_due and look is Look.FAILED):
                jobs = (self.known[name] for name in self._open if name in self.known)
                pause_s = next_look_s(jobs, self.service_now(), failures=self._failures, jitter=self.jitter())
                due = now if look is Look.RETRY_NOW else now + pause_s
            yield dict(self.known)
            goes_on = look is Look.RETRY_NOW or (look is Look.OK and self._queue)
            if self._open and not goes_on:
                self.clock.sleep(min(LONGEST_PAUSE_S, max(0.0, due - self.clock.now())))

    @property
    def failing(self) -> bool:
        """Return True if the newest look got no answer: other questions would get none either."""
        return self._failures > 0

    def service_now(self) -> datetime:
        """The service's time, as far as it is known."""
        return datetime.fromtimestamp(self.clock.now() + self._ahead_s, tz=timezone.utc)

    def _look(self, *steps: Callable[[], None]) -> Look:
        """Ask the service, step by step."""
        try:
            for step in steps:
                step()
        except CloudError as error:
            return self._survive(error)
        if self._said:
            self.notice("Connected again; the watch goes on.")
        self._failures, self._said = 0, ""
        return Look.OK

    def _survive(self, error: CloudError) -> Look:
        trouble = self.feed.trouble(error)
        match trouble:
            case None | Trouble.NOT_FOUND:
                raise error
            case Trouble.EXPIRED:
                if self.feed.renew():
                    return Look.RETRY_NOW
                patience = 0
            case Trouble.TRANSIENT:
                patience = PATIENCE
            case _:
                assert_never(trouble)
        self._failures += 1
        words = _words(trouble, error)
        news = not self._said or (
            error.code == OTHER_ACCOUNT and self._said != words
        )  # the next login may be another account's
        if news and self._failures >= patience:
            self._said = words
            self.notice(words)
        return Look.FAILED

    def _survey(self) -> None:
        """Find out which of the jobs are worth a describe."""
        if len(self._open) <= PLAIN:
            self._queue = dict(self._open)
            return
        self._few = len(self._open) <= DETAILED
        self._queue.update(dict.fromkeys(name for name in self._absent if name in self._open))
        now = self.clock.now()
        whole = self._newest is None or self._whole_at is None or abs(now - self._whole_at) >= WHOLE_EVERY_S
        after = None if whole or self._newest is None else self._newest - OVERLAP
        query = JobQuery(containing=_shared(self._open), modified_after=after)
        unseen = self._list(query, set(self._open), whole=whole)
        if whole:
            self._whole_at = now
            self._queue.update(dict.fromkeys(name for name in self._open if name in unseen))

    def _list(self, query: JobQuery, unseen: set[str], *, whole: bool) -> set[str]:
        """Read the list of jobs, and return what it left of ``unseen``. Others' jobs are paged over only while that pays."""
        newest, token, barren = self._newest, None, 0
        while True:
            page = self.feed.fetch_page(query, token)
            self._called()
            matches = [job for job in page.jobs if job.name in unseen]
            for job in matches:
                self._hear(job)
            unseen.difference_update(job.name for job in matches)
            times = [job.modified for job in page.jobs if job.modified is not None]
            newest = max([*times, newest] if newest is not None else times, default=None)
            barren = 0 if matches else barren + 1
            token = page.token
            if token is None or (whole and (not unseen or barren > len(unseen) // 20)):
                self._newest = newest
                return unseen

    def _hear(self, listed: JobSnapshot) -> None:
        """Take in what a list says of a job, unless a describe has said something newer."""
        old = self.known.get(listed.name)
        if (
            old is not None
            and old.modified is not None
            and listed.modified is not None
            and listed.modified < old.modified
        ):
            return
        if listed.terminal:
            self._queue[listed.name] = None
            return
        if old is not None and _state(old) == _state(listed):
            return
        base = self.hints.get(listed.name, {}) if old is None else old.raw
        self.known[listed.name] = parse_snapshot({**base, **listed.raw})
        (self._queue if self.detailed or self._few else self._curious)[listed.name] = None

    def _describe(self) -> None:
        """Describe what is due, in parts; then, with the calls that are to spare, what is merely interesting."""
        for name in list(itertools.islice(self._queue, BATCH)):
            self._fetch(name)
        while self._curious and not self._queue and self._spent < SPARE + SPARE_SHARE * self.calls:
            self._spent += 1
            self._fetch(next(iter(self._curious)))

    def _fetch(self, name: str) -> None:
        try:
            self.known[name] = self.feed.fetch_snapshot(name)
            self._absent.pop(name, None)
        except CloudError as error:
            if self.feed.trouble(error) is not Trouble.NOT_FOUND:
                self._queue[name] = None  # a look without it would not be smooth
                raise
            self._miss(name, error)
        self._called()
        if name in self.known and self.known[name].over:
            self._open.pop(name, None)
        self._queue.pop(name, None)
        self._curious.pop(name, None)

    def _miss(self, name: str, error: CloudError) -> None:
        """One answer that does not know a job may be out of date; only many make it deleted, or one that never was: that is raised."""
        now, old = self.clock.now(), self.known.get(name)
        first, looks = self._absent.get(name, (now, 0))
        self._absent[name] = first, looks + 1
        if old is not None and old.emulated:  # what the emulator says is up to date
            looks, first = ABSENT_LOOKS, now - ABSENT_S
        if looks + 1 < ABSENT_LOOKS or (old is not None and abs(now - first) < ABSENT_S) or self._is_listed(name):
            return
        if old is None:
            raise error
        self.known[name] = replace(old, status=None, status_word=DELETED, secondary=DELETED)
        self.notice(f"{name} was deleted; it was last seen {old.status_word}.")

    def _is_listed(self, name: str) -> bool:
        """Return True if the list of jobs names it; then it is looked for as if it had been found."""
        query, token = JobQuery(containing=name), None
        while True:
            page = self.feed.fetch_page(query, token)
            self._called()
            token = page.token
            if any(job.name == name for job in page.jobs):
                del self._absent[name]
                return True
            if token is None:
                return False

    def _called(self) -> None:
        self.calls += 1
        heard = self.feed.service_time()
        if heard is not None:
            self._ahead_s = heard - self.clock.now()


def _state(job: JobSnapshot) -> tuple[str, str, datetime | None]:
    return job.status_word, job.secondary, job.modified


def _shared(names: Collection[str]) -> str:
    """Return the prefix of all names, if it is long enough to keep others' jobs out of a list."""
    first, last = min(names), max(names)
    same = next((place for place, letter in enumerate(first) if last[place : place + 1] != letter), len(first))
    prefix = first[:same]
    return prefix if len(prefix) >= PREFIX else ""


def _words(kind: Trouble, error: CloudError) -> str:
    if error.code == OTHER_ACCOUNT:
        return f"{error}, and so does the watch."
    if kind is Trouble.EXPIRED:
        return "Your AWS login expired. The jobs go on; run aws sso login, and the watch goes on too."
    return f"AWS does not answer ({error.code or error.operation}). The jobs go on, and so does the watch."
