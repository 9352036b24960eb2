"""The run of one training job to its end: data, hosts, script, upload. It reports every step to the registry as an event.

The statuses are the engine's; this file decides only which event happens when.
"""

from __future__ import annotations

import contextlib
import enum
import errno
import socket
import time
import traceback
from typing import TYPE_CHECKING

from ..container import layout, transfer, twins
from ..container.cluster import Plan
from ..container.host import Host
from ..container.isolation import Isolation
from ..errors import INTERNAL_ERROR
from ..fault_injection import CAPACITY
from ..iam.keys import Key, new_key
from ..options import TWIN_TAG
from ..state.disk import disk_full, no_room, reason_of
from ..telemetry.logs import GROUP
from ..telemetry.metrics import MetricReader
from . import artifacts, configuration, launcher
from .checkpoints import CheckpointSync
from .deadlines import deadlines_of
from .engine import Event
from .plan import announcement, plan_of, substitution_line

if TYPE_CHECKING:
    from ..api.shapes import Body
    from ..container.layout import Where
    from .job import Job
    from .jobs import Control, TrainingContext

_OPERATION = "CreateTrainingJob"
_SHUTDOWN_GRACE_S = 5.0
_KILLED_S = 15.0


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


class JobRun:
    """Runs in a thread of its own, with a place on the machine; ``run`` returns when the job is terminal and cleaned up."""

    def __init__(self, name: str, context: TrainingContext, control: Control) -> None:
        self._context = context
        self._control = control
        self._job: Job = context.jobs.get(name)
        self._plan: Plan = plan_of(self._job.request, context.shared.options)
        self._deadlines = deadlines_of(self._job, self._plan)
        self._retries = int((self._job.request.get("RetryStrategy") or {}).get("MaximumRetryAttempts") or 0)
        self._key: Key = new_key()
        self._stream = ""
        self._built_in = False
        self._twin_key = self._job.tags.get(TWIN_TAG)
        self._twin = twins.twin_at(context.shared.root, self._twin_key) if self._twin_key is not None else None
        self._reader: MetricReader | None = None

    def run(self) -> None:
        context = self._context
        try:
            context.shared.principals.add(self._key)
            self._apply(Event.PREPARE)
            if not self._cancelled_early():
                self._live()
        except Exception as error:  # noqa: BLE001 - the last line of defence: whoever waits must hear of it
            self._note(f"InternalServerError\n{traceback.format_exc()}")
            self._fail(reason_of(error, context.shared.root))
        finally:
            context.shared.principals.remove(self._key)

    def _cancelled_early(self) -> bool:
        """End a job that has nothing on the machine yet; True when it did."""
        jobs = self._context.jobs
        state = jobs.get(self._job.name).state
        event = self._deadlines.overdue(jobs.now(), started=bool(state.attempts))
        if event is None and not self._control.stopped and state.ending is None:
            return False
        self._apply(event or Event.STOP)
        self._apply(Event.FINISH)
        return True

    def _live(self) -> None:
        if self._context.shared.faults.insufficient_capacity(_OPERATION):
            self._fail(CAPACITY)
            return
        self._attempts()

    def _attempts(self) -> None:
        attempt = 0
        while True:
            attempt += 1
            if self._delayed() or not self._attempt(attempt):
                return
            self._apply(Event.RELAUNCH)
            self._apply(Event.PREPARE)

    def _delayed(self) -> bool:
        """The time instances take to start; True when the job was ended meanwhile."""
        until = (
            time.monotonic()
            + self._context.shared.options.start_delay_s
            + self._context.shared.faults.start_delay(_OPERATION)
        )
        while (left := until - time.monotonic()) > 0 and not self._control.stopped:
            self._control.wait(left)
        return self._cancelled_early()

    def _attempt(self, number: int) -> bool:
        """One launch of the cluster; True when another launch is due: capacity was taken away, or an error is retried."""
        self._apply(Event.DOWNLOAD)
        root = self._context.state / "jobs" / self._job.name / str(number)
        self._stream = f"{GROUP}:{self._job.name}/{{}}-{int(time.time() * 1000)}"
        places: list[Where] = []
        try:
            if number == 1:
                self._announce()
            lacking = "" if self._plan.entrypoint or self._twin else self._context.shared.toolkit_error()
            refusal = self._refusal() or (lacking if self._context.shared.options.strict else "")
            if refusal:
                self._fail(refusal)
                return False
            self._built_in = bool(lacking) or bool(self._twin) or self._context.shared.isolation is Isolation.PORTABLE
            if self._built_in and number == 1:
                self._note(launcher.NOTE)
            places = [layout.place(root, name, self._context.shared.isolation) for name in self._plan.hosts]
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
                self._context.lines.finish(self._stream.format(where.name))

    def _refusal(self) -> str:
        """Why the job cannot run here; empty where it can."""
        if self._twin_key is not None and self._twin is None:
            return (
                f"ClientError: the tag {TWIN_TAG} names {self._twin_key!r}, which is no twin of this state folder; launch again with "
                "--environment twin, or without the tag"
            )
        return self._plan.refusal

    def _retried(self, reason: str) -> bool:
        """Whether RetryStrategy has an attempt left for an internal error; without one the job fails."""
        if self._retries <= 0 or self._control.stopped:
            self._fail(reason)
            return False
        self._retries -= 1
        self._note(f"{reason} RetryStrategy: the job starts again; {self._retries} more attempt(s)")
        self._apply(Event.RETRY)
        return True

    def _train(self, places: list[Where]) -> bool:
        request, context = self._job.request, self._context
        transfer.download_channels(
            context.shared.objects,
            places,
            [
                (channel, self._plan.hosts_of(channel), configuration.input_mode(channel, request) == "FastFile")
                for channel in request.get("InputDataConfig") or ()
            ],
            lambda: self._control.stopped,
        )
        if context.shared.faults.breaks_host(_OPERATION):
            raise BrokenHostError(INTERNAL_ERROR)
        if self._built_in:
            launcher.unpack_source(context.shared.objects, request, places)
        checkpoints = self._checkpoints(places)
        if self._cancelled_early():
            return False
        self._reader = MetricReader(
            _metric_rules(request),
            lambda point: context.metrics.add(self._job.name, point),
            self._note,
        )
        try:
            hosts = self._launch(places)
            self._apply(Event.TRAIN)
            if checkpoints:
                checkpoints.start()
            verdict = self._watch(hosts)
            failed = next((host for host in hosts if host.code not in {None, 0}), None)
            self._end(hosts, verdict)
        finally:
            self._reader.close()
            context.metrics.flush(self._job.name)
            if checkpoints:
                checkpoints.close()
        self._keep_metrics()
        for host in hosts:
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
        artifacts.upload(self._context, self._job, places, model=verdict is not Verdict.FAILED, note=self._note)
        if verdict is Verdict.FAILED and failed is not None:
            self._fail(self._reason(failed, next(where for where in places if where.name == failed.name)))
        else:
            self._apply(Event.FINISH)
        return False

    def _reason(self, host: Host, where: Where) -> str:
        tail = f", exit code: {host.code}"
        if host.code == errno.ENOSPC and not self._plan.entrypoint:  # the toolkit exits with an OSError's number
            tail = f"; {disk_full(self._context.shared.root)}{tail}"
        return "AlgorithmError: " + transfer.read_failure(where.ml)[: 1024 - 16 - len(tail)] + tail

    def _announce(self) -> None:
        image = self._job.request["AlgorithmSpecification"].get("TrainingImage", "")
        context = self._context
        stand_in = context.shared.options.job_python if self._twin is None else "a twin"
        self._say(announcement(self._plan, stand_in, image, context.shared.isolation.value))
        for line in self._twin.lines() if self._twin is not None else ():
            self._note(line)
        if self._plan.substituted and not self._plan.refusal:
            self._say(substitution_line(self._plan))

    def _checkpoints(self, places: list[Where]) -> CheckpointSync | None:
        config = self._job.request.get("CheckpointConfig")
        if not config:
            return None
        relative = (config.get("LocalPath") or "/opt/ml/checkpoints").removeprefix("/opt/ml/")
        folders = [(where.name, where.ml / relative) for where in places]
        sync = CheckpointSync(self._context.shared.objects, config["S3Uri"], folders, self._note)
        sync.restore()
        return sync

    def _launch(self, places: list[Where]) -> list[Host]:
        port = _free_port()
        return [self._start(where, port) for where in places]

    def _start(self, where: Where, port: int) -> Host:
        context, plan = self._context, self._plan
        python = twins.interpreter(where)
        configuration.write_configuration(where, plan, self._job.request)
        group = plan.group_of(where.name)
        layout.write_programs(where, python, plan.hosts, group.workers if group.neuron else 0)
        env = configuration.environment(where, plan, self._job, context, self._key, port=port)
        argv = tuple(layout.localized(part, where) for part in plan.entrypoint)
        argv = argv or launcher.arguments(python, toolkit=not self._built_in)
        if "/" not in argv[0]:
            argv = ("/usr/bin/env", *argv)
        below = self._twin.interpreter if self._twin is not None else context.shared.options.job_python
        argv = twins.in_environment(where, below, argv)
        shared = context.shared
        spec = layout.host_spec(where, shared.root, shared.isolation, argv, env, toolkit=not plan.entrypoint)
        stream = self._stream.format(where.name)
        return Host(
            where.name,
            spec,
            where.folder / "spec.json",
            lambda at, line: self._take(stream, at, line),
            self._control.wake.set,
        )

    def _take(self, stream: str, at: int, line: str) -> None:
        self._context.lines.append(stream, at, line)
        if self._reader is not None:
            self._reader.feed(at, line)

    def _watch(self, hosts: list[Host]) -> Verdict:
        """Wait for whatever ends the training."""
        control, jobs = self._control, self._context.jobs
        run_until = self._deadlines.run_until(jobs.get(self._job.name).state.attempts)
        while True:
            if any(host.code not in {None, 0} for host in hosts):
                return Verdict.STOP if control.stopped else Verdict.FAILED
            if all(host.code == 0 for host in hosts):
                return Verdict.DONE
            if any(host.lost is not None for host in hosts):
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

    def _end(self, hosts: list[Host], verdict: Verdict) -> None:
        """Bring every host down: SIGTERM, the grace, SIGKILL – or at once where no notice is given."""
        event = {Verdict.STOP: Event.STOP, Verdict.RUNTIME: Event.RUNTIME_EXCEEDED, Verdict.WAIT: Event.WAIT_EXCEEDED}
        if verdict in event:
            self._apply(event[verdict])
        control, grace = self._control, self._context.shared.options.stop_grace_s
        if verdict is Verdict.INTERRUPT:
            control.interrupt = False
            grace = grace if control.notice else 0.0
        elif verdict in {Verdict.FAILED, Verdict.DONE, Verdict.LOST}:
            grace = min(grace, 2.0)  # what is left cannot finish without the host that failed
        until = time.monotonic() + grace
        if grace > 0:
            for host in hosts:
                host.terminate()
        for host in hosts:
            while not host.join(min(0.2, until - time.monotonic())) and time.monotonic() < until:
                if control.shutdown:
                    until = min(until, time.monotonic() + _SHUTDOWN_GRACE_S)
        for host in hosts:
            host.kill()
        for host in hosts:
            host.join(_KILLED_S)

    def _keep_metrics(self) -> None:
        if self._reader is None:
            return
        known = {metric.name: metric for metric in self._context.jobs.get(self._job.name).metrics}
        known |= {metric.name: metric for metric in self._reader.final()}
        self._context.jobs.change(self._job.name, metrics=tuple(known.values()))

    def _apply(self, event: Event) -> None:
        if event is Event.FINISH:
            self._context.shared.objects.save()
        self._context.jobs.apply(self._job.name, event)

    def _fail(self, reason: str) -> None:
        with contextlib.suppress(OSError):  # the job has failed already
            self._context.shared.objects.save()
        self._context.jobs.apply(self._job.name, Event.FAIL, reason=reason)

    def _note(self, text: str) -> None:
        self._say(f"sm_trn emulator: {text}")

    def _say(self, line: str) -> None:
        with contextlib.suppress(OSError):  # a job whose own lines cannot be kept ends by that; ours would hide why
            for part in line.splitlines() if self._stream else ():
                self._context.lines.append(self._stream.format("algo-1"), int(time.time() * 1000), part)


def _metric_rules(request: Body) -> list[tuple[str, str]]:
    defined = request["AlgorithmSpecification"].get("MetricDefinitions") or ()
    return [(each["Name"], each["Regex"]) for each in defined]


def _free_port() -> int:
    """A port that nobody has now; torchrun binds it a moment later."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
