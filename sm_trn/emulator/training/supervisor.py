"""The supervisor gives the machine's slots to jobs in the order of their creation, and runs each in a thread.

A job that waits costs no thread and no processor time.
"""

from __future__ import annotations

import shutil
import threading
import time
from typing import Final

from ..container.context import Context
from .engine import Event
from .jobs import Control, Jobs
from .plan import Deadlines, deadlines_of, plan_of
from .run import JobRun

_LONGEST_S: Final = 3600.0  # the clock may be set while a thread sleeps


class Supervisor:
    """The jobs of this process that are not over. Safe to share between threads."""

    def __init__(self, context: Context, jobs: Jobs) -> None:
        self._context = context
        self._jobs = jobs
        self._changed = threading.Condition(threading.RLock())
        self._controls: dict[str, Control] = {}
        self._threads: dict[str, threading.Thread] = {}  # of the jobs that have a slot
        self._waiting: dict[str, float] = {}  # until when, in order of arrival
        self._closed = False
        threading.Thread(target=self._end_overdue, name="deadlines", daemon=True).start()

    def start(self, name: str) -> None:
        """Run a job. It has a slot, or is Pending, when this returns."""
        slots = self._context.options.max_jobs
        with self._changed:
            self._controls[name] = Control()
            if len(self._threads) < slots and not self._waiting and not self._closed:
                self._begin(name)
                return
            deadlines = self._deadlines(name)
            self._waiting[name] = min(deadlines.wait_until, deadlines.pending_until)
            busy = f"{len(self._threads)} of {slots} busy: {', '.join(self._threads)}"
            self._apply(name, Event.QUEUE, f"Waits for a slot on this machine ({busy})")
            if self._waiting[name] < float("inf"):
                self._changed.notify()

    def stop(self, name: str) -> None:
        """Stop a job. It is Stopping when this returns, or past the point where a stop matters; one that waits is Stopped."""
        with self._changed:
            control, waited = self._controls.get(name), self._waiting.pop(name, None) is not None
        self._apply(name, Event.STOP)
        if control is not None:
            control.stopped = True
            control.wake.set()
        if waited:
            self._apply(name, Event.FINISH)
            self._controls.pop(name, None)

    def interrupt(self, name: str, *, notice: bool) -> None:
        """Take a running job's spot capacity away."""
        control = self._controls.get(name)
        if control is not None:
            control.notice = notice
            control.interrupt = True
            control.wake.set()

    def shutdown(self, until: float) -> None:
        """Stop every job with a short grace, and wait until then (``time.monotonic``). No job begins any more."""
        with self._changed:
            self._closed = True
            controls, threads = dict(self._controls), list(self._threads.values())
        for name, control in controls.items():
            control.shutdown = True
            self.stop(name)
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))

    def _begin(self, name: str) -> None:
        self._threads[name] = threading.Thread(target=self._run, args=(name,), name=f"job {name}", daemon=True)
        self._threads[name].start()

    def _run(self, name: str) -> None:
        try:
            JobRun(name, self._context, self._jobs, self._controls[name]).run()
        finally:
            shutil.rmtree(self._context.root / "jobs" / name, ignore_errors=True)
            with self._changed:
                del self._controls[name], self._threads[name]
                if self._waiting and not self._closed:
                    following = next(iter(self._waiting))
                    del self._waiting[following]
                    self._begin(following)

    def _end_overdue(self) -> None:
        """End the jobs that have waited until a deadline."""
        while True:
            with self._changed:
                now, due = self._jobs.now(), min(self._waiting.values(), default=float("inf"))
                if now < due:
                    self._changed.wait(min(due - now, _LONGEST_S))
                late = [name for name, until in self._waiting.items() if until <= self._jobs.now()]
                for name in late:
                    del self._waiting[name], self._controls[name]
            for name in late:
                event = self._deadlines(name).overdue(self._jobs.now(), started=False)
                self._apply(name, event or Event.WAIT_EXCEEDED)
                self._apply(name, Event.FINISH)

    def _deadlines(self, name: str) -> Deadlines:
        job = self._jobs.get(name)
        return deadlines_of(job.request, job.state, plan_of(job.request, self._context.options))

    def _apply(self, name: str, event: Event, reason: str = "") -> None:
        self._jobs.apply(name, event, reason=reason)
