"""From specs to jobs in a queue: checked, uploaded, written down where a journal is given, and submitted once each."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..core.errors import SmTrnError
from ..core.render.service_job import service_job
from ..core.session.budget import refuse_over
from ..core.session.handles import Session, remember
from ..core.session.launches import launch_all, unique_names
from ..core.specs.job import JobSpec
from ..core.specs.json import Object
from ..core.specs.services import Queue
from ..core.specs.units import Usd
from .journal import Journal
from .ports import Queues
from .queued import QueuedJob

STOP = "sm-trn stop NAME --queue {queue}"
PLANNED, QUEUED = "planned", "queued"


@dataclass(kw_only=True)
class Submissions:
    """What is known of each job of one submission: its name, and its id once Batch has it. Threads note ids; the journal keeps them."""

    queue: Queue
    names: tuple[str, ...]
    ids: dict[str, str] = field(default_factory=dict)
    journal: Journal | None = None
    begun: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def planned(cls, queue: Queue, labels: Sequence[str], now: float, journal: Journal | None) -> Submissions:
        """Names for the jobs: those of the journal where it has them, new ones otherwise. The journal has them all when this returns.

        Raises SmTrnError for a journal of other jobs, OSError for one that cannot be written.
        """
        if journal is None:
            return cls(queue=queue, names=tuple(unique_names(labels, now)))
        known = journal.of(PLANNED)
        expected = [{"label": label, "queue": queue.name} for label in labels[: len(known)]]
        if len(known) > len(labels) or expected != [
            {key: each.get(key) for key in ("label", "queue")} for each in known
        ]:
            raise SmTrnError(
                f"journal: got one of {len(known)} jobs, {', '.join(str(each.get('label')) for each in known[:4])}, wanted one of these "
                f"{len(labels)} jobs in {queue.name!r}; give the same jobs in the same order, or a journal that is not there yet"
            )
        names = [str(each["name"]) for each in known]
        names += unique_names(labels[len(known) :], now)
        new = zip(labels[len(known) :], names[len(known) :], strict=True)
        journal.add({"event": PLANNED, "name": name, "label": label, "queue": queue.name} for label, name in new)
        ids = {str(each["name"]): str(each["id"]) for each in journal.of(QUEUED)}
        return cls(queue=queue, names=tuple(names), ids=ids, journal=journal, begun=bool(known))

    def note(self, name: str, job_id: str) -> str:
        with self._lock:
            self.ids[name] = job_id
            if self.journal is not None:
                self.journal.add([{"event": QUEUED, "name": name, "id": job_id}])
        return job_id


def submit_all(
    session: Session[Any], queues: Queues, specs: Sequence[JobSpec], queue: Queue, *, ignore: Sequence[str],
    max_usd: Usd | float | None, journal: str | Path | None,
) -> list[QueuedJob]:  # fmt: skip
    """Put jobs into a queue, each once. All are checked before the first leaves, against the shape of CreateTrainingJob too.

    With a ``journal`` that an earlier process began, its names are used again and what is queued already is not sent again.
    Raises as ``Session.submit_all``.
    """
    queued = session.allowed([spec.replace(queue=queue) for spec in specs])
    if max_usd is not None and not session.emulated:
        refuse_over(max_usd, queued, session.price_of)
    if journal is None:
        return _submitted(session, queues, queued, queue, ignore, None)
    with Journal(journal).held() as kept:
        return _submitted(session, queues, queued, queue, ignore, kept)


def _submitted(  # noqa: PLR0917 - the parts of one submission
    session: Session[Any], queues: Queues, queued: Sequence[JobSpec], queue: Queue, ignore: Sequence[str],
    journal: Journal | None,
) -> list[QueuedJob]:  # fmt: skip
    known = Submissions.planned(queue, [spec.name for spec in queued], session.clock.now(), journal)
    asked = dict(zip(known.names, queued, strict=True))
    requests = session.requests_of(queued, known.names, ignore=ignore)
    for request in requests:
        queues.refuse(request)

    def queue_once(request: Object) -> str:
        name = str(request["TrainingJobName"])
        if name in known.ids:
            return known.ids[name]
        found = queues.fetch_named(queue.name, name) if known.begun else None
        if found is not None:
            return known.note(name, found.id)
        return known.note(name, queues.submit(service_job(request, queue, token=name)))

    return launch_all(
        requests,
        lambda request: remember(session.storage, asked[request["TrainingJobName"]], request),
        queue_once,
        handle=lambda name: QueuedJob(
            name=name,
            queue=queue.name,
            session=session,
            queues=queues,
            spec=asked[name],
            known_id=known.ids.get(name, ""),
        ),
        clock=session.clock,
        paced=not session.emulated,
        stop=STOP.format(queue=queue.name),
    )
