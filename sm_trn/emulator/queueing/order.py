"""Which waiting job is started next, and which running one has to go for it. Pure: times and jobs are arguments.

First in, first out, where a queue has no policy; by the usage of shares (https://docs.aws.amazon.com/batch/latest/userguide/share-identifiers.html)
or by quota shares (https://docs.aws.amazon.com/batch/latest/userguide/quota-shares.html, preemption.html) where it has one. A job that does
not fit is waited for: no later one of its queue or quota share goes before it. Where AWS names a rule without saying it in
full – the heuristic of preemption, usage within one moment – the rule here is written at its function.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

INSTANCES: Final = "NUM_INSTANCES"
LEAST_WINDOW_S: Final = 600  # of shareDecaySeconds 0: the API reference of FairsharePolicy
NO_LIMIT: Final = -1  # of borrowLimit: it is the default

Needs = Mapping[str, int]  # instances of each type


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A job as the scheduler sees it. ``number`` is its place among all submissions; ``spans`` are the times that its attempts held
    instances, the last of them without an end while one does.
    """

    id: str
    number: int
    needs: Needs
    share: str = ""
    priority: int = 0
    active: bool = False
    waits: bool = True
    spans: tuple[tuple[float, float | None], ...] = ()
    ready: bool = True

    @property
    def size(self) -> int:
        return sum(self.needs.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Fair:
    """A fair-share policy."""

    decay_s: int = 0
    reservation: int = 0
    weights: tuple[tuple[str, float], ...] = ()

    def weight(self, share: str) -> float:
        """The share's factor: its own, that of a prefix with a ``*``, or 1."""
        for name, factor in self.weights:
            if share == name or (name.endswith("*") and share.startswith(name[:-1])):
                return factor
        return 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """A quota share: instances of each type, and what it does with those that it does not use."""

    name: str
    limits: Needs
    strategy: str = "RESERVE"
    borrow_percent: int = NO_LIMIT
    preempts: bool = False

    @property
    def lends(self) -> bool:
        return self.strategy != "RESERVE"

    def most(self, kind: str) -> float:
        """The most instances of a type that its jobs may hold, borrowed ones included."""
        own = self.limits.get(kind, 0)
        if self.strategy != "LEND_AND_BORROW":
            return own
        return float("inf") if self.borrow_percent == NO_LIMIT else own * (1 + self.borrow_percent / 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A queue: its jobs, its policy, and the room of its service environments."""

    entries: Sequence[Entry]
    room: Needs = field(default_factory=dict)  # free instances of each type, or of NUM_INSTANCES
    capacity: int = 0  # of NUM_INSTANCES, busy and free
    fair: Fair | None = None
    quotas: Sequence[Quota] = ()

    @property
    def waiting(self) -> list[Entry]:
        """Those that wait, by their priority and then their turn."""
        return sorted((each for each in self.entries if each.waits), key=_turn)


@dataclass(frozen=True, slots=True)
class Step:
    """What is done next: ``start`` a job, or ``preempt`` some to make room for one."""

    start: str = ""
    preempt: tuple[str, ...] = ()


def _turn(entry: Entry) -> tuple[int, int]:
    return (-entry.priority, entry.number)


def fits(needs: Needs, room: Needs) -> bool:
    """Whether there is room for a job: by its types where the room is counted by types, by its instances otherwise."""
    if INSTANCES in room:
        return sum(needs.values()) <= room[INSTANCES]
    return all(count <= room.get(kind, 0) for kind, count in needs.items())


def front(line: Line, now: float) -> list[Entry]:
    """The waiting jobs in the order in which they would start, if each ran for ever."""
    if line.quotas or line.fair is None:
        return sorted(line.waiting, key=lambda each: each.number)
    ordered: list[Entry] = []
    left = {each.id: each for each in line.waiting}
    usage = usages(line, line.fair, now)
    while left:
        entry = _next_of_shares(list(left.values()), line.fair, usage)
        ordered.append(entry)
        usage[entry.share] += entry.size
        del left[entry.id]
    return ordered


def step(line: Line, now: float) -> Step | None:
    """What is done next for a queue; None where it has to wait."""
    if line.quotas:
        return _quota_step(line)
    if line.fair is not None:
        return _fair_step(line, line.fair, now)
    head = min(line.waiting, key=lambda each: each.number, default=None)
    return Step(start=head.id) if head is not None and head.ready and fits(head.needs, line.room) else None


def usages(line: Line, fair: Fair, now: float) -> Counter[str]:
    """T of each share: instance-seconds within the policy's window. A job that holds instances counts for a second from its start on,
    so that jobs that start in one moment are spread over the shares.
    """
    window = fair.decay_s or LEAST_WINDOW_S
    found: Counter[str] = Counter()
    for entry in line.entries:
        for start, end in entry.spans:
            held = (now if end is None else end) - max(start, now - window)
            if held >= 0:
                found[entry.share] += (held + 1) * entry.size  # type: ignore[assignment]  # seconds are no whole numbers
    return found


def _next_of_shares(waiting: Sequence[Entry], fair: Fair, usage: Mapping[str, float]) -> Entry:
    """The first job of the share with the least usage × weight; of equal shares, of that whose first job came first."""
    heads: dict[str, Entry] = {}
    for entry in sorted(waiting, key=_turn):
        heads.setdefault(entry.share, entry)
    return min(heads.values(), key=lambda each: (usage.get(each.share, 0) * fair.weight(each.share), each.number))


def _fair_step(line: Line, fair: Fair, now: float) -> Step | None:
    waiting = line.waiting
    if not waiting:
        return None
    head = _next_of_shares(waiting, fair, usages(line, fair, now))
    shares = {each.share for each in line.entries if each.active}
    active = len(shares | {head.share})
    reserved = line.capacity * (fair.reservation / 100) ** active if fair.reservation and line.capacity else 0.0
    room = {kind: int(count - reserved) for kind, count in line.room.items()}
    return Step(start=head.id) if head.ready and fits(head.needs, room) else None


def _quota_step(line: Line) -> Step | None:
    """Own capacity first, each share's first job in the order of submission; then what a job may take back or take over; then
    what it may borrow, first in, first out."""
    quotas = {each.name: each for each in line.quotas}
    held = {name: _held(line, name) for name in quotas}
    heads: dict[str, Entry] = {}
    for entry in line.waiting:
        if entry.share in quotas:
            heads.setdefault(entry.share, entry)
    ready = sorted((each for each in heads.values() if each.ready), key=lambda each: each.number)
    for head in ready:
        if _within(head, quotas[head.share], held[head.share]) and fits(head.needs, line.room):
            return Step(start=head.id)
    for head in ready:
        victims = _victims(line, head, quotas, held)
        if victims:
            return Step(preempt=tuple(victims))
    for head in ready:
        if _may_borrow(head, quotas, held) and fits(head.needs, line.room):
            return Step(start=head.id)
    return None


def _held(line: Line, share: str) -> Counter[str]:
    found: Counter[str] = Counter()
    for entry in line.entries:
        if entry.active and entry.share == share:
            found.update(entry.needs)
    return found


def _within(entry: Entry, quota: Quota, held: Mapping[str, int]) -> bool:
    return all(held.get(kind, 0) + count <= quota.limits.get(kind, 0) for kind, count in entry.needs.items())


def _may_borrow(entry: Entry, quotas: Mapping[str, Quota], held: Mapping[str, Mapping[str, int]]) -> bool:
    """Whether others lend what the job needs beyond its own share, and its own share may borrow so much."""
    own = quotas[entry.share]
    if own.strategy != "LEND_AND_BORROW":
        return False
    for kind, count in entry.needs.items():
        wanted = held[entry.share].get(kind, 0) + count
        if wanted > own.most(kind):
            return False
        idle, borrowed = 0, 0
        for name, quota in quotas.items():
            free = quota.limits.get(kind, 0) - (wanted if name == own.name else held[name].get(kind, 0))
            idle += free if free > 0 and quota.lends else 0
            borrowed += -free if free < 0 else 0
        if borrowed > idle:
            return False
    return True


def _victims(line: Line, head: Entry, quotas: Mapping[str, Quota], held: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Running jobs to stop for a waiting one. Of its own share where that is full and lets a higher priority preempt; of shares that
    hold more than is theirs where the job's own capacity is lent out. Of either the lowest priority goes first, and of
    equals the one that started last: AWS names these two among what its heuristic looks at.
    """
    own = quotas[head.share]
    within = _within(head, own, held[head.share])
    candidates = [
        each
        for each in line.entries
        if each.active
        and (
            (not within and own.preempts and each.share == head.share and each.priority < head.priority)
            or (within and each.share != head.share and _over(each, quotas, held))
        )
    ]
    candidates.sort(key=lambda each: (each.priority, -(each.spans[-1][0] if each.spans else 0.0), -each.number))
    chosen: list[str] = []
    room, freed = Counter(line.room), Counter(held[head.share])
    for each in candidates:
        if _enough(head, own, room, freed, within=within):
            break
        chosen.append(each.id)
        room.update({INSTANCES: each.size} if INSTANCES in line.room else each.needs)
        if each.share == head.share:
            freed.subtract(each.needs)
    return chosen if chosen and _enough(head, own, room, freed, within=within) else []


def _enough(head: Entry, own: Quota, room: Needs, held: Mapping[str, int], *, within: bool) -> bool:
    return fits(head.needs, room) and (within or _within(head, own, held))


def _over(entry: Entry, quotas: Mapping[str, Quota], held: Mapping[str, Mapping[str, int]]) -> bool:
    """Whether the job is of a share that holds more than is its own, of a type that the job holds."""
    quota = quotas.get(entry.share)
    return quota is None or any(held[entry.share].get(kind, 0) > quota.limits.get(kind, 0) for kind in entry.needs)


def capacity_of(limits: Iterable[Mapping[str, object]]) -> dict[str, int]:
    """Capacity limits as a mapping of units."""
    return {str(each.get("capacityUnit", INSTANCES)): int(str(each.get("maxCapacity", 0))) for each in limits}
