"""One piece of work on the first of several places that has room for it: other machines, other regions, spot or on demand.

The places are tried in order. The next one is tried only when the job before it is known to be over, or never to have been made: two
jobs of one work would write the same checkpoints. A journal is written before each step, so that another process goes on after a kill.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, TypeAlias

from ..core.errors import CloudError, InvalidJob, JobFailed, LaunchUnknown, SmTrnError
from ..core.formatting import numbers as fmt
from ..core.formatting.missing import Missing
from ..core.logs.events import printable
from ..core.ports import Trouble
from ..core.pricing.cost import job_cost
from ..core.session.budget import OverBudget, as_usd
from ..core.session.handles import Session, remember
from ..core.session.launches import unique_names
from ..core.session.waits import stop_one
from ..core.specs.job import JobSpec
from ..core.specs.json import Object
from ..core.specs.snapshot import JobSnapshot, JobStatus
from ..core.specs.units import Usd
from ..core.status import why_command
from .submitting import Journal

Tell = Callable[[str], None]
Regions: TypeAlias = Mapping[str, Session[Any]]  # the session of each region beside the first's
LOOK_S: Final = 15.0
EMULATED_LOOK_S: Final = 0.2
ROUND_S: Final = 300.0  # between two rounds through all places
# What a create is refused with where an account or a zone has no room: another place may have some.
NO_ROOM: Final = frozenset({"ResourceLimitExceeded", "CapacityError", "InsufficientCapacity"})
# Secondary statuses in which a job has machines, or has had them.
_TRAINS: Final = frozenset({"Downloading", "DownloadingTrainingImage", "Training", "Uploading"})
_WAITED: Final = frozenset({"MaxWaitTimeExceeded"})
_PENDING: Final = "MaxPendingTimeInSeconds"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A job as it is launched at one place, and the session of the region."""

    job: JobSpec
    session: Session[Any]

    def __str__(self) -> str:
        machines = " + ".join(fmt.instances(name, count) for name, count in self.job.compute.machines)
        return f"{machines} in {self.session.region}{', spot' if self.job.spot is not None else ''}"


class Outcome(enum.Enum):
    """The outcome of one attempt."""

    DONE = "done"
    NO_ROOM = "no room"
    FAILED = "failed"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """An attempt that is over. ``name`` is empty for one that was refused before a job was made; ``usd`` None is unknown or nothing."""

    place: int
    name: str
    reason: str
    usd: Usd | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Fallen:
    """The work, done: the job that completed, where, and what was tried before. ``usd`` is what all of it has cost, as far as is known."""

    job: Any
    place: Place
    tried: tuple[Tried, ...]
    usd: Usd | None


def places_of(job: JobSpec, on: Sequence[JobSpec | str], session: Session[Any], regions: Regions) -> list[Place]:
    """The job itself, and then each alternative in order, all with the checkpoints of the first.

    A text is an instance type, or ``region:type``; a spec says everything itself. Raises InvalidJob with every error of each, and
    for what the team's policy does not allow; SmTrnError for a region without a session and for checkpoints of another place.
    """
    places = [Place(job=job, session=session)]
    for each in on:
        region, _, instance = each.rpartition(":") if isinstance(each, str) else ("", "", "")
        if region and region != session.region and region not in regions:
            raise SmTrnError(
                f"on: got {each!r} without a session of {region}, wanted regions={{{region!r}: st.connect('aws', region={region!r})}}"
            )
        other = (
            each
            if isinstance(each, JobSpec)
            else job.replace(compute=dataclasses.replace(job.compute, instance=instance))
        )
        places.append(Place(job=_one_lineage(job, other), session=regions.get(region, session)))
    for place in places:
        problems = place.session.refused(place.job)
        if problems:
            raise InvalidJob(f"{place.job.name} on {place}", problems)
        place.session.allowed([place.job])
    return places


def _one_lineage(job: JobSpec, other: JobSpec) -> JobSpec:
    """The alternative with the job's checkpoints. Raises SmTrnError where it has others."""
    if other.checkpoints == job.checkpoints:
        return other
    if other.checkpoints is None:
        return other.replace(checkpoint=job.checkpoints)
    raise SmTrnError(
        f"on: got checkpoints in {other.checkpoints.s3_uri} for {other.name}, wanted "
        f"{job.checkpoints.s3_uri if job.checkpoints is not None else 'none'}, as {job.name} has them: "
        "each place goes on where the one before it ended"
    )


@dataclasses.dataclass(kw_only=True)
class Fallback:
    """The state of one piece of work. Everything that it knows is in the journal."""

    places: Sequence[Place]
    journal: Journal
    tell: Tell
    max_pending_s: float
    give_up_s: float
    max_usd: Usd | None

    def run(self) -> Fallen:
        """Until the work is done. Raises JobFailed for a failure of the job's own, OverBudget, and CloudError when no place had room."""
        for done in self.journal.of("done"):
            return self._fallen(int(str(done["place"])), str(done["name"]))
        began = self._began()
        while True:
            for number in self._left():
                outcome, final = self._attempt(number)
                if outcome is Outcome.DONE:
                    self._note("done", number, final.name if final is not None else "")
                    return self._fallen(number, final.name if final is not None else "")
                if outcome is Outcome.FAILED and final is not None:
                    raise self._failure(number, final)
            if self._clock().now() - began + ROUND_S > self.give_up_s:
                story = [f"  {self.places[each.place]}: {each.reason}" for each in self._tried()[-len(self.places) :]]
                head = f"{self.places[0].job.name}: no place had room in {fmt.duration(self.give_up_s)}:"
                raise CloudError(
                    "\n".join([head, *story]),
                    operation="CreateTrainingJob",
                    code="CapacityError",
                )
            self.tell(f"no place has room; the next round begins in {ROUND_S:.0f} s")
            self._clock().sleep(EMULATED_LOOK_S if self.places[0].session.emulated else ROUND_S)
            self._note("round", 0, "")

    # --- what the journal knows

    def _clock(self) -> Any:
        return self.places[0].session.clock

    def _note(self, event: str, place: int, name: str, **more: str | float | None) -> None:
        self.journal.add([{"event": event, "place": place, "name": name, "at": self._clock().now(), **more}])

    def _began(self) -> float:
        if not self.journal.entries:
            self._note("began", 0, "", **{f"place{number}": str(place) for number, place in enumerate(self.places)})
        planned = [
            str(value)
            for name, value in self.journal.entries[0].items()
            if name.startswith("place") and name != "place"
        ]
        if planned != [str(place) for place in self.places]:
            raise SmTrnError(
                f"journal: got one of {', '.join(planned) or 'something else'}, wanted one of these places: "
                f"{', '.join(map(str, self.places))}; give the same places in the same order, or a journal that is not there yet"
            )
        return float(str(self.journal.entries[0]["at"]))

    def _open(self) -> Object | None:
        """The attempt that was planned and is not over; None between two."""
        over = {str(each["name"]) for each in self.journal.of("over")}
        return next((each for each in self.journal.of("planned") if str(each["name"]) not in over), None)

    def _left(self) -> Iterator[int]:
        """The places of this round that are still to be tried, that of an open attempt first."""
        rounds = [at for at, each in enumerate(self.journal.entries) if each["event"] == "round"]
        this = self.journal.entries[rounds[-1] if rounds else 0 :]
        tried = {int(str(each["place"])) for each in this if each["event"] == "over"}
        opened = self._open()
        if opened is not None:
            yield int(str(opened["place"]))
            tried.add(int(str(opened["place"])))
        yield from (number for number in range(len(self.places)) if number not in tried)

    def _tried(self) -> list[Tried]:
        return [
            Tried(
                place=int(str(each["place"])),
                name=str(each["name"]) if each.get("made") else "",
                reason=str(each.get("reason") or ""),
                usd=None if each.get("usd") is None else Decimal(str(each["usd"])),
            )
            for each in self.journal.of("over")
        ]

    def _spent(self) -> Usd:
        return sum((each.usd for each in self._tried() if each.usd is not None), Decimal(0))

    def _fallen(self, number: int, name: str) -> Fallen:
        tried = tuple(each for each in self._tried() if each.name != name)
        known = [each.usd for each in self._tried() if each.usd is not None]
        place = self.places[number]
        job = place.session.job_class(name=name, session=place.session, spec=place.job)
        return Fallen(job=job, place=place, tried=tried, usd=sum(known, Decimal(0)) if known else None)

    # --- one attempt

    def _attempt(self, number: int) -> tuple[Outcome, JobSnapshot | None]:
        place, opened = self.places[number], self._open()
        name = str(opened["name"]) if opened is not None else self._planned(number)
        refusal = self._ensure(number, name, resumed=opened is not None)
        if refusal is not None:
            self._note("over", number, name, made=None, reason=refusal)
            self.tell(f"{place}: {refusal}")
            return Outcome.NO_ROOM, None
        final = self._followed(number, name)
        cost = job_cost(final, place.session.price_of(final.machines))
        reason = printable(final.failure_reason) or (
            "" if final.status is JobStatus.COMPLETED else final.secondary or final.status_word
        )
        self._note(
            "over",
            number,
            name,
            made="yes",
            status=final.status_word,
            reason=reason,
            usd=None if cost is None else str(cost.usd),
        )
        spent = f"; {fmt.usd(self._spent())} so far" if self._spent() else ""
        self.tell(f"{place}: {name} {reason or final.status_word}{spent}")
        if final.status is JobStatus.COMPLETED:
            return Outcome.DONE, final
        return (Outcome.NO_ROOM if self._lacked_room(name, final) else Outcome.FAILED), final

    def _planned(self, number: int) -> str:
        """A name for the next job, in the journal before anything is sent. Raises OverBudget where it may cost too much."""
        place = self.places[number]
        if self.max_usd is not None and not place.session.emulated:
            most = place.session.ceiling(place.job)
            if most is None or self._spent() + most > self.max_usd:
                raise OverBudget(
                    (
                        f"{place}: {Missing.NO_PRICE if most is None else f'at most {fmt.usd(most)}'}, {fmt.usd(self._spent())} spent",
                    ),
                    total=None if most is None else self._spent() + most,
                    max_usd=self.max_usd,
                )
        (name,) = unique_names([place.job.name], self._clock().now())
        self._note("planned", number, name)
        self.tell(f"{place}: launching {name}")
        return name

    def _ensure(self, number: int, name: str, *, resumed: bool) -> str | None:
        """Make the job of a name, unless it is there; None once it is. The reason where the place refused it.

        It is asked until somebody knows: as long as the job may run, no other is made. Raises CloudError for a refusal that another
        place would meet too.
        """
        place = self.places[number]
        if resumed and self._look(place, name) is not None:
            return None
        while True:
            try:
                (request,) = place.session.requests_of([place.job], [name])
                remember(place.session.storage, place.job, request)
                place.session.backend.create_job(request)
            except LaunchUnknown:  # noqa: PERF203 - a wait for a service
                self.tell(f"{place}: nobody knows yet whether {name} was made; asking until somebody does")
                if self._look(place, name) is not None:
                    return None
            except CloudError as error:
                if error.code in NO_ROOM or "CapacityError" in str(error):
                    return str(error)
                if place.session.backend.trouble(error) is None:
                    raise
                self._pause(place, error)
            else:
                return None

    def _look(self, place: Place, name: str) -> JobSnapshot | None:
        """The job; None where there is none. Asked until the service answers."""
        while True:
            try:
                return place.session.backend.fetch_snapshot(name)
            except CloudError as error:  # noqa: PERF203 - as above
                trouble = place.session.backend.trouble(error)
                if trouble is Trouble.NOT_FOUND:
                    return None
                if trouble is None:
                    raise
                self._pause(place, error)

    def _pause(self, place: Place, error: CloudError) -> None:
        if place.session.backend.trouble(error) is Trouble.EXPIRED:
            place.session.backend.renew()
        place.session.clock.sleep(EMULATED_LOOK_S if place.session.emulated else LOOK_S)

    def _followed(self, number: int, name: str) -> JobSnapshot:
        """The job at its end. One that waits for machines longer than it may is stopped, and watched until it is over."""
        place, shown = self.places[number], ""
        while True:
            now = self._look(place, name)
            if now is None:
                raise CloudError(
                    f"{name} was deleted while it was watched; launch the work with a new journal",
                    operation="DescribeTrainingJob",
                )
            if now.terminal:
                return now
            if now.secondary != shown:
                shown = now.secondary
                self.tell(f"{place}: {name} {shown}")
            if self._waits_too_long(name, now) and now.status is not JobStatus.STOPPING:
                self._stop(number, name)
            place.session.clock.sleep(EMULATED_LOOK_S if place.session.emulated else LOOK_S)

    def _waits_too_long(self, name: str, now: JobSnapshot) -> bool:
        """Return True if the job has waited ``max_pending_s`` for machines since it was planned. A kill does not reset the time."""
        planned = next(float(str(each["at"])) for each in self.journal.of("planned") if each["name"] == name)
        trained = now.started is not None or any(each.status in _TRAINS for each in now.transitions)
        return not trained and self._clock().now() - planned > self.max_pending_s

    def _stop(self, number: int, name: str) -> None:
        place = self.places[number]
        if not any(each["name"] == name for each in self.journal.of("stopping")):
            self._note("stopping", number, name)
            self.tell(f"{place}: {name} has waited {fmt.duration(self.max_pending_s)} for machines; stopping it")
        try:
            stop_one(place.session.backend, name)
        except CloudError as error:
            if place.session.backend.trouble(error) is None:
                raise
            self._pause(place, error)

    def _lacked_room(self, name: str, final: JobSnapshot) -> bool:
        """Return True if the job ended for want of machines, or of its place: its own failures and stops of others are no such ends."""
        if final.status is JobStatus.FAILED:
            return final.failure_reason.startswith(("CapacityError", "InternalServerError"))
        pending = any(_PENDING in each.message for each in final.transitions)
        return (
            final.secondary in _WAITED or pending or any(each["name"] == name for each in self.journal.of("stopping"))
        )

    def _failure(self, number: int, final: JobSnapshot) -> JobFailed:
        reason = printable(final.failure_reason) or f"it was {final.status_word.lower()} by somebody"
        return JobFailed(
            f"{final.name} on {self.places[number]}: {reason}. Another place would not help\nNext: {why_command(final.name)}",
            operation="TrainingJob",
            code=final.status_word,
        )


def fallback(  # noqa: PLR0913 - what the work is told, each by name
    job: JobSpec,
    on: Sequence[JobSpec | str],
    *,
    session: Session[Any],
    journal: str | Path,
    regions: Regions | None = None,
    max_pending_s: float = 1800.0,
    give_up_s: float = 86_400.0,
    max_usd: Usd | float | None = None,
    tell: Tell = print,
) -> Fallen:
    """Do one piece of work at the first place that has room for it, and return the job that completed.

    ``job`` is tried first, then each of ``on``: an instance type (``"ml.g5.12xlarge"``), one of another region
    (``"us-east-1:ml.g5.12xlarge"``, whose session is in ``regions``), or a whole spec, with an image and a distribution of its own. All
    are checked before the first starts, and all have the job's checkpoints, from which each goes on. A place has no room when the
    service refuses the job or fails it for want of capacity, when it ends a spot job that waited too long, and when the job has waited
    ``max_pending_s`` for machines: then it is stopped, and only when it is over the next is tried. After the last place the first is
    tried again, until ``give_up_s`` after the start.

    ``journal`` is a file: after a kill, the same call goes on where it ended, and launches nothing twice. ``tell`` hears each step and
    what it has cost. ``max_usd`` launches nothing that could pass it, with what was spent before. Raises InvalidJob, OverBudget,
    JobFailed for a failure of the job's own, CloudError when no place had room.

    >>> done = st.fallback(job, ["ml.g5.12xlarge"], session=session, journal="work.jsonl")  # doctest: +SKIP
    >>> done.job.name, done.usd  # doctest: +SKIP
    ('bert-251125-120000-a1b2c3', Decimal('3.06'))
    """
    places = places_of(job, on, session, regions or {})
    limit = None if max_usd is None else as_usd(max_usd)
    with Journal(journal).held() as kept:
        return Fallback(
            places=places, journal=kept, tell=tell, max_pending_s=max_pending_s, give_up_s=give_up_s, max_usd=limit
        ).run()
