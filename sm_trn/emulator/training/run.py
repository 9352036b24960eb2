"""The run of one training job to its end: data, hosts, script, upload. It reports every step to the registry as an event.

The statuses are the engine's; this module decides only which event happens when.
"""

from __future__ import annotations

import contextlib
import enum
import errno
import functools
import socket
import subprocess
import sys
import time
import traceback
from typing import Final

from ...core.specs.compute import Accelerator
from ..container import layout, transfer, twins
from ..container.context import Context
from ..container.host import Host
from ..container.layout import Where
from ..errors import INTERNAL_ERROR
from ..fault_injection import CAPACITY
from ..iam.keys import new_key
from ..options import TWIN_TAG
from ..state.disk import disk_full, no_room, reason_of
from ..telemetry.logs import GROUP
from ..telemetry.metrics import MetricReader
from . import hosts
from .checkpoints import CheckpointSync
from .engine import Event
from .jobs import Control, Jobs
from .plan import deadlines_of, input_mode, plan_of

_OPERATION = "CreateTrainingJob"
_SHUTDOWN_GRACE_S = 5.0
_KILLED_S = 15.0
_FIND_TOOLKIT = "import importlib.util as u, sys; sys.exit(0 if u.find_spec('sagemaker_training') else 3)"
LAUNCH: Final = layout.INSIDE / "launch.py"  # our own launcher
LAUNCHER_NOTE: Final = "the interpreter has no sagemaker-training toolkit; the emulator's own launcher stands in for it"


class BrokenHostError(Exception):
    """A host of the cluster is lost through no fault of the job; the text is a FailureReason."""


class Verdict(enum.Enum):
    DONE = "every host ended with 0"
    LOST = "a line of a host could not be kept"
    FAILED = "a host ended with something else"
    STOP = "a stop was asked for"
    RUNTIME = "MaxRuntimeInSeconds"
    WAIT = "MaxWaitTimeInSeconds"
    INTERRUPT = "spot capacity is gone"


@functools.cache
def has_toolkit(python: str) -> bool:
    """Return whether the jobs' interpreter has the training toolkit, which needs Linux. It is looked for once."""
    return (
        sys.platform == "linux"
        and subprocess.run([python, "-I", "-c", _FIND_TOOLKIT], check=False, timeout=60).returncode == 0
    )


class JobRun:
    """Runs in a thread of its own, with a slot of the machine; ``run`` returns when the job is terminal and cleaned up."""

    def __init__(self, name: str, context: Context, jobs: Jobs, control: Control) -> None:
        self._context = context
        self._jobs = jobs
        self._control = control
        self._job = jobs.get(name)
        self._request = self._job.request
        self._plan = plan_of(self._request, context.options)
        self._deadlines = deadlines_of(self._request, self._job.state, self._plan)
        self._retries = int((self._request.get("RetryStrategy") or {}).get("MaximumRetryAttempts") or 0)
        self._key = new_key()
        self._stream = ""
        self._built_in = False
        self._twin_key = self._job.tags.get(TWIN_TAG)
        self._twin = twins.twin_at(context.root, self._twin_key) if self._twin_key is not None else None
        self._reader: MetricReader | None = None

    def run(self) -> None:
        context = self._context
        try:
            context.principals.add(self._key)
            self._apply(Event.PREPARE)
            if self._cancelled_early():
                return
            if context.faults.meets("capacity", _OPERATION):
                self._fail(CAPACITY)
                return
            attempt = 1
            while not self._delayed() and self._attempt(attempt):
                attempt += 1
                self._apply(Event.RELAUNCH)
                self._apply(Event.PREPARE)
        except Exception as error:  # noqa: BLE001 - the last line of defence: whoever waits must hear of it
            self._note(f"InternalServerError\n{traceback.format_exc()}")
            self._fail(reason_of(error, context.root))
        finally:
            context.principals.remove(self._key)

    def _cancelled_early(self) -> bool:
        """End a job that has nothing on the machine yet; True when it did."""
        state = self._jobs.get(self._job.name).state
        event = self._deadlines.overdue(self._jobs.now(), started=bool(state.attempts))
        if event is None and not self._control.stopped and state.ending is None:
            return False
        self._apply(event or Event.STOP)
        self._apply(Event.FINISH)
        return True

    def _delayed(self) -> bool:
        """Wait as long as instances take to start; True when the job was ended meanwhile."""
        until = time.monotonic() + self._context.options.start_delay_s
        while (left := until - time.monotonic()) > 0 and not self._control.stopped:
            self._control.wait(left)
        return self._cancelled_early()

    def _attempt(self, number: int) -> bool:
        """Launch the cluster once; True when another launch is due: capacity was taken away, or an error is retried."""
        context, plan = self._context, self._plan
        self._apply(Event.DOWNLOAD)
        root = context.root / "jobs" / self._job.name / str(number)
        self._stream = f"{GROUP}:{self._job.name}/{{}}-{int(time.time() * 1000)}"
        places: list[Where] = []
        try:
            if number == 1:
                self._announce()
            if refusal := self._refusal():
                self._fail(refusal)
                return False
            self._built_in = not plan.entrypoint and (
                self._twin is not None or not has_toolkit(context.options.job_python)
            )
            if self._built_in and number == 1:
                self._note(LAUNCHER_NOTE)
            places = [layout.place(root, name, namespace=context.namespace) for name in plan.hosts]
            return self._train(places)
        except transfer.TransferError as error:
            if no_room(error):
                raise
            self._fail(str(error))
            return False
        except BrokenHostError as error:
            return self._retried(str(error))
        finally:
            for where in places:
                layout.remove(where)
                context.lines.finish(self._stream.format(where.name))

    def _refusal(self) -> str:
        """Return why the job cannot run here; empty where it can."""
        if self._twin_key is not None and self._twin is None:
            return (
                f"ClientError: the tag {TWIN_TAG} names {self._twin_key!r}, which is no twin of this state folder; launch again with "
                "--environment twin, or without the tag"
            )
        options = self._context.options
        if options.strict and not self._plan.entrypoint and not self._twin and not has_toolkit(options.job_python):
            return (
                f"ClientError: {options.job_python} has no sagemaker-training toolkit, which stands in for the training image; "
                "install sm_trn[local] there"
            )
        return self._plan.refusal

    def _retried(self, reason: str) -> bool:
        """Return whether RetryStrategy has an attempt left for an internal error; without one the job fails."""
        if self._retries <= 0 or self._control.stopped:
            self._fail(reason)
            return False
        self._retries -= 1
        self._note(f"{reason} RetryStrategy: the job starts again; {self._retries} more attempt(s)")
        self._apply(Event.RETRY)
        return True

    def _train(self, places: list[Where]) -> bool:
        request, context = self._request, self._context
        transfer.download_channels(
            context.objects,
            places,
            [
                (channel, self._plan.hosts_of(channel), input_mode(channel, request) == "FastFile")
                for channel in request.get("InputDataConfig") or ()
            ],
            lambda: self._control.stopped,
        )
        if context.faults.meets("broken-host", _OPERATION):
            raise BrokenHostError(INTERNAL_ERROR)
        if self._built_in:
            hosts.unpack_source(context.objects, request, places)
        checkpoints = self._checkpoints(places)
        if self._cancelled_early():
            return False
        definitions = request["AlgorithmSpecification"].get("MetricDefinitions") or ()
        self._reader = MetricReader(
            [(each["Name"], each["Regex"]) for each in definitions],
            lambda point: context.metrics.add(self._job.name, point),
            self._note,
        )
        try:
            with socket.socket() as probe:  # a port that nobody has now; torchrun binds it a moment later
                probe.bind(("127.0.0.1", 0))
                port = int(probe.getsockname()[1])
            running = [self._start(where, port) for where in places]
            self._apply(Event.TRAIN)
            if checkpoints:
                checkpoints.start()
            verdict = self._watch(running)
            failed = next((host for host in running if host.code not in {None, 0}), None)
            self._end(running, verdict)
        finally:
            self._reader.close()
            context.metrics.flush(self._job.name)
            if checkpoints:
                checkpoints.close()
        known = {metric.name: metric for metric in self._jobs.get(self._job.name).metrics}
        known |= {metric.name: metric for metric in self._reader.final()}
        self._jobs.change(self._job.name, metrics=tuple(known.values()))
        for host in running:
            if host.lost is not None:
                raise host.lost
        return self._conclude(verdict, places, failed)

    def _conclude(self, verdict: Verdict, places: list[Where], failed: Host | None) -> bool:
        if verdict is Verdict.INTERRUPT:
            self._apply(Event.INTERRUPT)
            return not self._cancelled_early()
        if failed is not None and failed.broken:
            raise BrokenHostError("InternalServerError: the emulated host could not be set up; its log says why.")
        self._apply(Event.UPLOAD)
        uri = hosts.upload(self._context, self._job, places, model=verdict is not Verdict.FAILED, note=self._note)
        self._jobs.change(self._job.name, model_uri=uri)
        if verdict is Verdict.FAILED and failed is not None:
            where = next(where for where in places if where.name == failed.name)
            tail = f", exit code: {failed.code}"
            if failed.code == errno.ENOSPC and not self._plan.entrypoint:  # the toolkit exits with an OSError's number
                tail = f"; {disk_full(self._context.root)}{tail}"
            self._fail("AlgorithmError: " + transfer.read_failure(where.ml)[: 1024 - 16 - len(tail)] + tail)
        else:
            self._apply(Event.FINISH)
        return False

    def _announce(self) -> None:
        """Say in the log what is emulated, and how."""
        image, context = self._request["AlgorithmSpecification"].get("TrainingImage", ""), self._context
        stand_in = context.options.job_python if self._twin is None else "a twin"
        self._note(self._plan.announcement(stand_in, image, layout.isolation_of(namespace=context.namespace)))
        for line in self._twin.lines() if self._twin is not None else ():
            self._note(line)
        if self._plan.neuron:
            self._note(
                "SIMULATED the device neuron. Not known here: speed, memory, numerics, graph breaks, operators that Trainium lacks"
            )
        if self._plan.substituted and not self._plan.refusal:
            self._note(f"SUBSTITUTED {self._plan.substituted}; it cannot run on a CPU, so its speed is not rehearsed")

    def _checkpoints(self, places: list[Where]) -> CheckpointSync | None:
        config = self._request.get("CheckpointConfig")
        if not config:
            return None
        relative = (config.get("LocalPath") or "/opt/ml/checkpoints").removeprefix("/opt/ml/")
        folders = [(where.name, where.ml / relative) for where in places]
        sync = CheckpointSync(self._context.objects, config["S3Uri"], folders, self._note)
        sync.restore()
        return sync

    def _start(self, where: Where, port: int) -> Host:
        """Start a host: the toolkit, our own launcher or the request's entry point, in the job's own environment."""
        context, plan, python = self._context, self._plan, twins.interpreter(where)
        hosts.write_configuration(where, plan, self._request)
        group = plan.group_of(where.name)
        cores = group.workers if group.accelerator is Accelerator.NEURON else 0
        layout.write_programs(where, python, plan.hosts, cores)
        argv = tuple(layout.localized(part, where) for part in plan.entrypoint)
        argv = argv or ((python, str(LAUNCH)) if self._built_in else (python, "-m", "sm_trn_toolkit"))
        if "/" not in argv[0]:
            argv = ("/usr/bin/env", *argv)
        below = self._twin.interpreter if self._twin is not None else context.options.job_python
        spec = layout.host_spec(
            where,
            context.root,
            twins.in_environment(where, below, argv),
            hosts.environment(where, plan, self._job, context, self._key, port=port),
            toolkit=not plan.entrypoint,
        )
        stream = self._stream.format(where.name)
        return Host(where, spec, lambda at, line: self._take(stream, at, line), self._control.wake.set)

    def _take(self, stream: str, at: int, line: str) -> None:
        self._context.lines.append(stream, at, line)
        if self._reader is not None:
            self._reader.feed(at, line)

    def _watch(self, running: list[Host]) -> Verdict:
        """Wait for whatever ends the training."""
        control, jobs = self._control, self._jobs
        run_until = self._deadlines.run_until(jobs.get(self._job.name).state.attempts)
        while True:
            if any(host.code not in {None, 0} for host in running):
                return Verdict.STOP if control.stopped else Verdict.FAILED
            if all(host.code == 0 for host in running):
                return Verdict.DONE
            if any(host.lost is not None for host in running):
                return Verdict.LOST
            now = jobs.now()
            for verdict, due in (
                (Verdict.STOP, control.stopped),
                (Verdict.WAIT, now >= self._deadlines.wait_until),
                (Verdict.RUNTIME, now >= run_until),
                (Verdict.INTERRUPT, control.interrupt),
            ):
                if due:
                    return verdict
            control.wait(min(self._deadlines.wait_until - now, run_until - now, 1.0))

    def _end(self, running: list[Host], verdict: Verdict) -> None:
        """Bring every host down: SIGTERM, the grace, SIGKILL – or at once where no notice is given."""
        event = {Verdict.STOP: Event.STOP, Verdict.RUNTIME: Event.RUNTIME_EXCEEDED, Verdict.WAIT: Event.WAIT_EXCEEDED}
        if verdict in event:
            self._apply(event[verdict])
        control, grace = self._control, self._context.options.stop_grace_s
        if verdict is Verdict.INTERRUPT:
            control.interrupt = False
            grace = grace if control.notice else 0.0
        elif verdict in {Verdict.FAILED, Verdict.DONE, Verdict.LOST}:
            grace = min(grace, 2.0)  # what is left cannot finish without the host that failed
        until = time.monotonic() + grace
        if grace > 0:
            for host in running:
                host.terminate()
        for host in running:
            while not host.join(min(0.2, until - time.monotonic())) and time.monotonic() < until:
                if control.shutdown:
                    until = min(until, time.monotonic() + _SHUTDOWN_GRACE_S)
        for host in running:
            host.kill()
        for host in running:
            host.join(_KILLED_S)

    def _apply(self, event: Event) -> None:
        if event is Event.FINISH:
            self._context.objects.save()
        self._jobs.apply(self._job.name, event)

    def _fail(self, reason: str) -> None:
        with contextlib.suppress(OSError):  # the job has failed already
            self._context.objects.save()
        self._jobs.apply(self._job.name, Event.FAIL, reason=reason)

    def _note(self, text: str) -> None:
        with contextlib.suppress(OSError):  # a job whose own lines cannot be kept ends by that; ours would hide why
            for line in f"sm_trn emulator: {text}".splitlines() if self._stream else ():
                self._context.lines.append(self._stream.format("algo-1"), int(time.time() * 1000), line)
