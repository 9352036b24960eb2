"""The runner gives each processing job a thread and a place on the machine: data in, one process a host, data out."""

from __future__ import annotations

import json
import shutil
import threading
import time
import traceback
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from ..container import layout, transfer
from ..container.host import Host
from ..container.slots import SlotRequest
from ..errors import AwsError
from ..iam.keys import Key, new_key
from ..s3.object_store import parse_s3_uri
from ..state.quota import no_room, reason_of
from .api import KIND
from .request import inputs_of, outputs_of, source_of

if TYPE_CHECKING:
    from pathlib import Path

    from ..container.context import RunContext
    from ..container.layout import Where
    from ..state.resources import Resource, Resources
    from ..telemetry.log_store import LogLines
    from .request import Application, ProcessingRequest

GROUP: Final = "/aws/sagemaker/ProcessingJobs"
_DAY: Final = 86_400
_KILLED_S: Final = 15.0


@dataclass(slots=True)
class _Entry:
    """A job that is not over, and what it is told from outside."""

    slot: SlotRequest
    wake: threading.Event = field(default_factory=threading.Event)
    stopped: bool = False


class ProcessingRunner:
    """The processing jobs of this process that are not over."""

    def __init__(self, resources: Resources, lines: LogLines, context: RunContext) -> None:
        self._resources = resources
        self._lines = lines
        self._context = context
        self._lock = threading.Lock()
        self._entries: dict[str, _Entry] = {}

    def start(self, name: str) -> None:
        slot = SlotRequest(partial(self._begin, name), lambda: None)
        with self._lock:
            self._entries[name] = _Entry(slot)
        self._context.shared.slots.acquire(slot, lambda: None)

    def stop(self, name: str) -> None:
        """The job is Stopping when this returns; one that waits for a place is Stopped."""
        with self._lock:
            entry = self._entries.get(name)
        if entry is None:
            return
        waited = self._context.shared.slots.cancel(entry.slot)
        self._resources.change(KIND, name, status="Stopping")
        entry.stopped = True
        entry.wake.set()
        if waited:
            self._resources.end(KIND, name, "Stopped")
            self._forget(name)

    def restore(self) -> None:
        self._resources.end_cut_off(KIND)

    def shutdown(self) -> None:
        with self._lock:
            names = list(self._entries)
        for name in names:
            self.stop(name)

    def _begin(self, name: str) -> None:
        entry = self._entries[name]
        threading.Thread(target=self._run, args=(name, entry), name=f"processing {name}", daemon=True).start()

    def _run(self, name: str, entry: _Entry) -> None:
        root = self._context.state / "jobs" / f"{name}.processing" / "1"  # no name of a job has a dot
        key, places = new_key(), list[layout.Where]()
        resource = self._resources.find(KIND, name)
        try:
            self._context.shared.principals.add(key)
            if resource is not None and not entry.wake.wait(self._context.shared.options.start_delay_s):
                places += self._places(resource.request, root)
                self._process(resource, entry, places, key)
            elif resource is not None:
                self._resources.end(KIND, name, "Stopped")
        except Exception as error:  # noqa: BLE001 - the last line of defence: whoever waits must hear of it
            said = isinstance(error, (transfer.TransferError, AwsError)) and not no_room(error)
            if not said:
                traceback.print_exc()
            reason = str(error) if said else reason_of(error, self._context.shared.root)
            self._resources.end(KIND, name, "Failed", reason)
        finally:
            self._context.shared.principals.remove(key)
            for where in places:
                layout.remove(where)
                self._lines.finish(_stream(name, where.name))
            shutil.rmtree(root.parent, ignore_errors=True)
            self._forget(name)
            self._context.shared.slots.release()

    def _places(self, request: ProcessingRequest, root: Path) -> list[Where]:
        count = request["ProcessingResources"]["ClusterConfig"]["InstanceCount"]
        names = [f"algo-{number}" for number in range(1, count + 1)]
        return [layout.place(root, name, self._context.shared.isolation) for name in names]

    def _process(self, resource: Resource, entry: _Entry, places: list[Where], key: Key) -> None:
        request: ProcessingRequest = resource.request
        self._resources.change(KIND, resource.name, facts={"started": self._resources.now()})
        self._say(resource.name, _announcement(request, self._context.shared.options.job_python))
        self._fetch(request, entry, places)
        for where in places:
            _write_configuration(where, resource, [each.name for each in places])
        hosts = [self._launch(resource, where, entry, key) for where in places]
        until = time.monotonic() + request.get("StoppingCondition", {}).get("MaxRuntimeInSeconds", _DAY)
        while any(host.code is None for host in hosts) and not any(host.code for host in hosts):
            entry.wake.wait(max(0.0, min(until - time.monotonic(), 1.0)))
            entry.wake.clear()
            if entry.stopped or time.monotonic() >= until or any(host.lost is not None for host in hosts):
                break
        failed = next((host for host in hosts if host.code), None)
        ended = all(host.code is not None for host in hosts)
        self._bring_down(hosts, 2.0 if failed else self._context.shared.options.stop_grace_s)
        for host in hosts:
            if host.lost is not None:
                raise host.lost
        message = transfer.read_failure(places[0].ml, "message")
        self._upload(request, places, continuous_only=failed is not None or not ended)
        if failed is not None and not entry.stopped:
            reason = f"AlgorithmError: See job logs for more information, exit code: {failed.code}"
            self._resources.end(KIND, resource.name, "Failed", reason, message=message)
        else:
            status = "Completed" if ended and not entry.stopped else "Stopped"
            self._resources.end(KIND, resource.name, status, message=message)

    def _fetch(self, request: ProcessingRequest, entry: _Entry, places: list[Where]) -> None:
        for asked in inputs_of(request):
            transfer.download_source(
                self._context.shared.objects,
                source_of(asked),
                [_inside(where, asked["LocalPath"]) for where in places],
                gzipped=asked.get("S3CompressionType") == "Gzip",
                stopped=lambda: entry.stopped,
            )
        for where in places:
            for wanted in outputs_of(request):
                _inside(where, wanted["LocalPath"]).mkdir(parents=True, exist_ok=True)

    def _launch(self, resource: Resource, where: Where, entry: _Entry, key: Key) -> Host:
        request: ProcessingRequest = resource.request
        shared = self._context.shared
        count = request["ProcessingResources"]["ClusterConfig"]["InstanceCount"]
        layout.write_programs(where, shared.options.job_python, [f"algo-{n}" for n in range(1, count + 1)])
        env = layout.base_environment(where, self._context, key, request.get("Environment") or {})
        argv = tuple(layout.localized(part, where) for part in _arguments(request["AppSpecification"]))
        if "/" not in argv[0]:
            argv = ("/usr/bin/env", *argv)
        spec = layout.host_spec(where, shared.root, shared.isolation, argv, env, toolkit=False)
        stream = _stream(resource.name, where.name)
        file = where.folder / "spec.json"
        return Host(where.name, spec, file, partial(self._lines.append, stream), entry.wake.set)

    def _bring_down(self, hosts: list[Host], grace: float) -> None:
        """SIGTERM, the grace, SIGKILL: nothing of a host that has ended is left to hear them."""
        until = time.monotonic() + grace
        for host in hosts:
            host.terminate()
        for host in hosts:
            host.join(until - time.monotonic())
            host.kill()
        for host in hosts:
            host.join(_KILLED_S)

    def _upload(self, request: ProcessingRequest, places: list[Where], *, continuous_only: bool) -> None:
        for wanted in outputs_of(request):
            if continuous_only and wanted.get("S3UploadMode") != "Continuous":
                continue
            bucket, prefix = parse_s3_uri(wanted["S3Uri"].rstrip("/") + "/")
            roots = [(where.name, _inside(where, wanted["LocalPath"])) for where in places]
            try:
                for name, path in transfer.merged(roots):
                    self._context.shared.objects.put_file(bucket, prefix + name, path)
            except KeyError as error:
                raise transfer.TransferError(
                    f"ClientError: Failed to upload output: the bucket {bucket!r} does not exist"
                ) from error

    def _say(self, name: str, line: str) -> None:
        self._lines.append(_stream(name, "algo-1"), int(time.time() * 1000), f"sm_trn emulator: {line}")

    def _forget(self, name: str) -> None:
        with self._lock:
            self._entries.pop(name, None)


def _stream(name: str, host: str) -> str:
    return f"{GROUP}:{name}/{host}"


def _inside(where: Where, path: str) -> Path:
    """Where a host's /opt/ml/processing/… is on this machine."""
    return where.ml / path.removeprefix("/opt/ml/")


def _arguments(application: Application) -> list[str]:
    """What is run. Raises AwsError where only the image knows, for there are no images here."""
    entrypoint = application.get("ContainerEntrypoint") or []
    if not entrypoint:
        raise AwsError(
            "ClientError", "the emulator has no images: it runs what AppSpecification.ContainerEntrypoint names"
        )
    return [*entrypoint, *application.get("ContainerArguments", [])]


def _announcement(request: ProcessingRequest, python: str) -> str:
    cluster = request["ProcessingResources"]["ClusterConfig"]
    return (
        f"EMULATED {cluster['InstanceCount']} x {cluster['InstanceType']} on this machine's CPU; {python} stands in for image "
        f"{request['AppSpecification'].get('ImageUri', '')!r}"
    )


def _write_configuration(where: Where, resource: Resource, hosts: list[str]) -> None:
    """Write what a processing container finds in /opt/ml/config.

    https://docs.aws.amazon.com/sagemaker/latest/dg/build-your-own-processing-container.html
    """
    folder = where.ml / "config"
    folder.mkdir(exist_ok=True)
    job = {"ProcessingJobArn": resource.arn, "ProcessingJobName": resource.name, **resource.request}
    cluster = {"current_host": where.name, "hosts": hosts}
    for name, document in (("processingjobconfig", job), ("resourceconfig", cluster)):
        (folder / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
