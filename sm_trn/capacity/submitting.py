"""Launches that a journal remembers, at once or through a queue: after a kill the same call goes on, and starts nothing twice."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.errors import SmTrnError
from ..core.render.service_job import service_job
from ..core.session.budget import refuse_over
from ..core.session.details import each
from ..core.session.handles import Session, remember
from ..core.session.launches import LAUNCH_TAG, launch_all, unique_names
from ..core.specs.job import JobSpec
from ..core.specs.json import Json, Object
from ..core.specs.services import Queue
from ..core.specs.snapshot import JobStatus
from ..core.specs.units import Usd
from .queued import QueuedJob, existing

if TYPE_CHECKING:
    from .batch import Boto3Queues


class Journal:
    """The entries of a file, and more of them. Who adds some holds it."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.entries: list[Object] = self._read()

    def _read(self) -> list[Object]:
        if not self.path.exists():
            return []
        whole = self.path.read_bytes().rpartition(b"\n")[0]
        lines = whole.decode("utf-8", "replace").split("\n") if whole else []
        return [_entry(line, self.path, number) for number, line in enumerate(lines, 1)]

    @contextlib.contextmanager
    def held(self) -> Iterator[Journal]:
        """Keep other processes from this journal for the time of the block, where the system has locks, and drop what a kill cut off.

        Raises SmTrnError when another process has it.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            try:
                import fcntl  # noqa: PLC0415 - Windows has none

                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except ImportError:
                pass
            except BlockingIOError as error:
                raise SmTrnError(
                    f"journal: got {str(self.path)!r}, which another process is writing, wanted one at a time; let it end, or give "
                    "other work a journal of its own"
                ) from error
            self.entries = self._read()  # what was written until the lock was ours
            os.truncate(self.path, self.path.read_bytes().rfind(b"\n") + 1)
            yield self

    def add(self, entries: Iterable[Object]) -> None:
        """Write entries, all of them or – after a kill – a number of the first; they are on the disk when this returns."""
        added = list(entries)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            file.write("".join(f"{json.dumps(each)}\n" for each in added).encode())
            file.flush()
            os.fsync(file.fileno())
        self.entries += added

    def of(self, event: str) -> list[Object]:
        """The entries of one event, in order."""
        return [each for each in self.entries if each.get("event") == event]


def _entry(line: str, path: Path, number: int) -> Object:
    try:
        read: Json = json.loads(line)
    except ValueError:
        read = None
    if not isinstance(read, dict):
        raise SmTrnError(
            f"journal: got {line[:40]!r} in line {number} of {str(path)!r}, wanted a line of JSON; give a journal of your own launch, "
            "or a file that is not there yet"
        )
    return read


STOP = "sm-trn stop NAME --queue {queue}"
PLANNED, REPLACED = "planned", "replaced"
_AGAIN = {JobStatus.FAILED, JobStatus.STOPPING, JobStatus.STOPPED}  # a job that ended so is launched again


def planned_names(journal: Journal, labels: Sequence[str], place: str, now: float) -> list[str]:
    """Names for the jobs: those of the journal where it has them, new ones otherwise. The journal has them when this returns.

    Raises SmTrnError for a journal of other jobs, OSError for one that cannot be written.
    """
    plan = next(iter(journal.of(PLANNED)), None)
    if plan is None:
        plan = {
            "event": PLANNED,
            "place": place,
            "labels": " ".join(labels),
            "names": " ".join(unique_names(labels, now)),
        }
        journal.add([plan])
    known = str(plan.get("labels")).split()
    if (plan.get("place"), known) != (place, list(labels)):
        raise SmTrnError(
            f"journal: got one of {len(known)} jobs, {', '.join(known[:4])}, wanted one of these {len(labels)} jobs in {place!r}; "
            "give the same jobs in the same order, or a journal that is not there yet"
        )
    names = str(plan["names"]).split()
    for entry in journal.of(REPLACED):
        names[names.index(str(entry["name"]))] = str(entry["by"])
    return names


@contextlib.contextmanager
def once(
    session: Session[Any], specs: Sequence[JobSpec], path: str | Path, notice: Callable[[str], None]
) -> Iterator[tuple[dict[str, JobSpec], set[str]]]:
    """The jobs of a launch by name, tagged with its id, and the names of those that an earlier process has launched."""
    with Journal(path).held() as journal:
        begun = bool(journal.entries)
        names = planned_names(journal, [spec.name for spec in specs], session.region, session.clock.now())
        launch = str(journal.of(PLANNED)[0]["names"]).split()[0][-len("yymmdd-hhmmss-123456") :]
        snapshots = each(lambda name: existing(session, name), names if begun else ())
        known = {job.name: job.status for job in snapshots if job is not None}
        replaced = {name: name[:-6] + secrets.token_hex(3) for name, status in known.items() if status in _AGAIN}
        journal.add({"event": REPLACED, "name": name, "by": by} for name, by in replaced.items())
        started = known.keys() - replaced.keys()
        if started:
            notice(
                f"{len(started)} of these {len(names)} jobs were launched before and run, or have completed; "
                f"sm-trn list --launch {launch} shows them. Only the others are launched; to launch all again, delete {path}"
            )
        elif len(names) > 1:
            notice(
                f"Interrupted, the same command goes on with the rest. To list these jobs: sm-trn list --launch {launch}"
            )
        tagged = [spec.replace(tags={**spec.tags, LAUNCH_TAG: launch}) for spec in specs]
        yield dict(zip([replaced.get(name, name) for name in names], tagged, strict=True)), started


def submit_all(  # noqa: PLR0913 - those of ``Session.submit_all``
    session: Session[Any], queues: Boto3Queues, specs: Sequence[JobSpec], queue: Queue, *, ignore: Sequence[str],
    max_usd: Usd | float | None, journal: str | Path | None, notice: Callable[[str], None],
) -> list[QueuedJob]:  # fmt: skip
    """Put jobs into a queue, each once. All are checked before the first leaves, against the shape of CreateTrainingJob too.

    With a ``journal`` that an earlier process began, its names are used again and what is queued already is not sent again.
    Raises as ``Session.submit_all``.
    """
    queued = session.allowed([spec.replace(queue=queue) for spec in specs])
    if max_usd is not None and not session.emulated:
        refuse_over(max_usd, queued, session.price_of)
    with tempfile.TemporaryDirectory() as folder, Journal(journal or f"{folder}/journal").held() as kept:
        begun, ids = bool(kept.entries), dict[str, str]()
        names = planned_names(kept, [spec.name for spec in queued], queue.name, session.clock.now())
        by_name = dict(zip(names, queued, strict=True))
        requests = session.requests_of(queued, names, ignore=ignore)
        for request in requests:
            queues.refuse(request)

        def queue_once(request: Object) -> str:
            name = str(request["TrainingJobName"])
            job = queues.fetch_named(queue.name, name) if begun else None
            ids[name] = queues.submit(service_job(request, queue, token=name)) if job is None else job.id
            return ids[name]

        return launch_all(
            requests,
            lambda request: remember(session.storage, by_name[request["TrainingJobName"]], request),
            queue_once,
            handle=lambda name: QueuedJob(
                name=name,
                queue=queue.name,
                session=session,
                queues=queues,
                spec=by_name[name],
                known_id=ids.get(name, ""),
            ),
            clock=session.clock,
            paced=not session.emulated,
            stop=STOP.format(queue=queue.name),
            notice=notice,
        )
