"""Starts a thread for each job, passes on stops and interruptions, and ends everything at shutdown.

It must not know what a job does.
"""

from __future__ import annotations

import shutil
import subprocess
import threading
import time

from sm_trn.emulator.engine import Event
from sm_trn.emulator.runner import JobRun
from sm_trn.emulator.workshop import Control, Workshop

_LOOK_FOR = "import importlib.util as u, sys; sys.exit(0 if u.find_spec('sagemaker_training') else 3)"


class JobSupervisor:
    """The running jobs of this process."""

    def __init__(self, shop: Workshop) -> None:
        self._shop = shop
        self._lock = threading.Lock()
        self._running: dict[str, tuple[threading.Thread, Control]] = {}

    def start(self, name: str) -> None:
        control = Control()
        run = JobRun(name, self._shop, control)
        thread = threading.Thread(target=self._run, args=(name, run), name=f"job {name}", daemon=True)
        with self._lock:
            self._running[name] = (thread, control)
        thread.start()

    def stop(self, name: str) -> None:
        """The job is Stopping when this returns, or already past the point where a stop matters."""
        self._shop.jobs.apply(name, Event.STOP)
        control = self._control(name)
        if control is not None:
            control.stopped = True
            control.wake.set()

    def interrupt(self, name: str, *, notice: bool) -> None:
        control = self._control(name)
        if control is not None:
            control.notice = notice
            control.interrupt = True
            control.wake.set()

    def shutdown(self, timeout: float) -> None:
        """Stop every job, with a short grace, and wait until they are terminal."""
        with self._lock:
            running = dict(self._running)
        for name, (_, control) in running.items():
            control.shutdown = True
            self.stop(name)
        until = time.monotonic() + timeout
        for thread, _ in running.values():
            thread.join(max(0.0, until - time.monotonic()))

    def _control(self, name: str) -> Control | None:
        with self._lock:
            entry = self._running.get(name)
        return entry[1] if entry else None

    def _run(self, name: str, run: JobRun) -> None:
        try:
            run.run()
        finally:
            with self._lock:
                self._running.pop(name, None)
            shutil.rmtree(self._shop.state / "jobs" / name, ignore_errors=True)


class ToolkitCheck:
    """Whether the job interpreter has the training toolkit; asked once, when the first job starts."""

    def __init__(self, python: str) -> None:
        self._python = python
        self._found = False

    def __call__(self) -> str:
        """Empty, or the FailureReason of a job that cannot run without it."""
        if not self._found:
            asked = subprocess.run([self._python, "-I", "-c", _LOOK_FOR], check=False, capture_output=True, timeout=60)
            self._found = asked.returncode == 0
        if self._found:
            return ""
        return (
            f"ClientError: {self._python} has no sagemaker-training toolkit, which stands in for the training image; "
            "install sm_trn[local] there"
        )
