"""The supervisor starts a thread for each job that has a slot, passes on stops and interruptions, and ends all jobs at shutdown."""

from __future__ import annotations

import shutil
import subprocess
import threading
import time
from dataclasses import dataclass
from functools import partial

from ..container.slots import SlotRequest
from .deadlines import deadlines_of
from .engine import Event
from .jobs import Control, TrainingContext
from .plan import plan_of
from .run import JobRun

_LOOK_FOR = "import importlib.util as u, sys; sys.exit(0 if u.find_spec('sagemaker_training') else 3)"


@dataclass(slots=True)
class _Entry:
    """A job that is not over. It has a thread once it has a place."""

    slot: SlotRequest
    control: Control
    thread: threading.Thread | None = None


class JobSupervisor:
    """The jobs of this process that are not over."""

    def __init__(self, context: TrainingContext) -> None:
        self._context = context
        self._lock = threading.Lock()
        self._entries: dict[str, _Entry] = {}

    def start(self, name: str) -> None:
        """The job has a place, or is Pending, when this returns."""
        job = self._context.jobs.get(name)
        due = deadlines_of(job, plan_of(job.request, self._context.shared.options)).while_waiting
        slot = SlotRequest(name, partial(self._begin, name), partial(self._give_up, name), due)
        with self._lock:
            self._entries[name] = _Entry(slot, Control())
        self._context.shared.slots.acquire(
            slot, lambda reason: self._context.jobs.apply(name, Event.QUEUE, reason=reason)
        )

    def stop(self, name: str) -> None:
        """The job is Stopping when this returns, or already past the point where a stop matters; one that waits is Stopped."""
        entry = self._entry(name)
        waited = entry is not None and self._context.shared.slots.cancel(entry.slot)
        self._apply(name, Event.STOP)
        if entry is None:
            return
        entry.control.stopped = True
        entry.control.wake.set()
        if waited:
            self._apply(name, Event.FINISH)
            self._forget(name)

    def interrupt(self, name: str, *, notice: bool) -> None:
        entry = self._entry(name)
        if entry is not None:
            entry.control.notice = notice
            entry.control.interrupt = True
            entry.control.wake.set()

    def stop_all(self) -> None:
        """Stop every job with a short grace, for the emulator ends. No job begins any more."""
        with self._lock:
            entries = dict(self._entries)
        for name, entry in entries.items():
            entry.control.shutdown = True
            self.stop(name)

    def join(self, until: float) -> None:
        """Wait until every job is terminal, or until then (``time.monotonic``)."""
        with self._lock:
            threads = [entry.thread for entry in self._entries.values() if entry.thread is not None]
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))

    def _begin(self, name: str) -> None:
        entry = self._entries[name]
        entry.thread = threading.Thread(target=self._run, args=(name, entry.control), name=f"job {name}", daemon=True)
        entry.thread.start()

    def _give_up(self, name: str) -> None:
        """It waited until a deadline."""
        job, now = self._context.jobs.get(name), self._context.jobs.now()
        overdue = deadlines_of(job, plan_of(job.request, self._context.shared.options)).overdue(now, started=False)
        self._apply(name, overdue or Event.WAIT_EXCEEDED)
        self._apply(name, Event.FINISH)
        self._forget(name)

    def _run(self, name: str, control: Control) -> None:
        try:
            JobRun(name, self._context, control).run()
        finally:
            self._forget(name)
            shutil.rmtree(self._context.state / "jobs" / name, ignore_errors=True)
            self._context.shared.slots.release(name)

    def _entry(self, name: str) -> _Entry | None:
        with self._lock:
            return self._entries.get(name)

    def _forget(self, name: str) -> None:
        with self._lock:
            self._entries.pop(name, None)

    def _apply(self, name: str, event: Event) -> None:
        self._context.jobs.apply(name, event)


class ToolkitCheck:
    """It finds out whether the job interpreter has the training toolkit: once, when the first job starts."""

    def __init__(self, python: str) -> None:
        self._python = python
        self._found = False

    def __call__(self) -> str:
        """Empty, or the FailureReason of a job that cannot run without it."""
        if not self._found:
            probe = subprocess.run([self._python, "-I", "-c", _LOOK_FOR], check=False, capture_output=True, timeout=60)
            self._found = probe.returncode == 0
        if self._found:
            return ""
        return (
            f"ClientError: {self._python} has no sagemaker-training toolkit, which stands in for the training image; "
            "install sm_trn[local] there"
        )
