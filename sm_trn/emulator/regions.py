"""A region holds what SageMaker keeps apart by region: jobs, models, endpoints, their logs and metrics. S3, IAM and STS are shared.

The first region of a state has the state's own folder, any other one a folder below it, made when it is first asked for.
"""

from __future__ import annotations

import json
import re
import threading
from typing import TYPE_CHECKING, Final

from .container.orphans import REGIONS, clean_up_orphans
from .errors import refused
from .hosting.api import HostingApi
from .hosting.endpoints import Endpoints
from .operations import Operations
from .state.resources import Resources
from .state.store import Store
from .telemetry.log_store import LogLines
from .telemetry.logs import GROUP
from .telemetry.metric_store import MetricStore
from .training.api import TrainingApi
from .training.jobs import Jobs, TrainingContext
from .training.supervisor import JobSupervisor

if TYPE_CHECKING:
    from pathlib import Path

    from .container.context import Shared
    from .http.moto import Moto

_NAME: Final = re.compile(r"[a-z]{2,4}(-[a-z]{2,12}){1,3}-\d{1,2}")
_SETTING: Final = "region"


class Region:
    """It holds all that one region has of its own, in a folder of its own."""

    def __init__(self, name: str, store: Store, folder: Path, shared: Shared, moto: Moto) -> None:
        self.store = store
        self.jobs, self.resources = Jobs(store), Resources(store, name)
        self.lines, self.metrics = LogLines(folder / "logs"), MetricStore(folder / "metrics", moto, name)
        context = TrainingContext(
            shared=shared, jobs=self.jobs, lines=self.lines, metrics=self.metrics, state=folder, region=name
        )
        self.supervisor = JobSupervisor(context)
        self.training = TrainingApi(self.jobs, shared.objects, self.supervisor, shared.options, name)
        self.endpoints = Endpoints(self.resources, self.lines, context)
        self.hosting = HostingApi(self.resources, shared.objects, self.endpoints)
        self.operations = Operations(self.training, self.hosting, self.resources)
        self._name = name

    def restore(self) -> list[str]:
        """Bring back what was in service before a restart, and fail what ran; the names of the jobs that have to wait again."""
        self.endpoints.restore()
        return self.jobs.fail_unfinished()

    def prepare(self, moto: Moto) -> None:
        """Tell moto what it has to know of the region."""
        body = json.dumps({"logGroupName": GROUP}).encode()
        target, kind = "Logs_20140328.CreateLogGroup", "application/x-amz-json-1.1"
        moto.call("logs", "POST", "/", body, region=self._name, x_amz_target=target, content_type=kind)


class Regions:
    """They may be shared between threads."""

    def __init__(self, shared: Shared, store: Store, moto: Moto, region: str) -> None:
        self._shared = shared
        self._moto = moto
        self._lock = threading.Lock()
        first = store.setting(_SETTING) or region
        store.set(_SETTING, first)
        folder = shared.root / REGIONS
        folder.mkdir(exist_ok=True)
        self._open = {first: Region(first, store, shared.root, shared, moto)}
        for each in {region, *(path.name for path in folder.iterdir() if _NAME.fullmatch(path.name))} - {first}:
            self._open[each] = self._make(each)

    def of(self, name: str) -> Region:
        """Return a region, made now if need be. Raises AwsError for a name that no region has."""
        with self._lock:
            if name in self._open:
                return self._open[name]
            if not _NAME.fullmatch(name):
                raise refused("SignatureDoesNotMatch", f"Credential should be scoped to a valid region, got {name!r}")
            region = self._open[name] = self._make(name)
        self._shared.objects.ready.wait()
        region.prepare(self._moto)
        return region

    def all(self) -> list[Region]:
        with self._lock:
            return list(self._open.values())

    def interrupt(self, name: str, *, notice: bool) -> None:
        """Interrupt a job, wherever it is: the emulator's own control names no region. Raises AwsError."""
        regions = self.all()
        next((each for each in regions if each.jobs.has(name)), regions[0]).training.interrupt(name, notice=notice)

    def shutdown(self, until: float) -> None:
        """End all that runs, and wait for it until then (``time.monotonic``)."""
        regions = self.all()
        for each in regions:
            each.endpoints.shutdown()
        self._shared.slots.close()
        for each in regions:
            each.supervisor.stop_all()
        for each in regions:
            each.supervisor.join(until)

    def close(self) -> None:
        for each in self.all():
            each.store.close()

    def _make(self, name: str) -> Region:
        folder = self._shared.root / REGIONS / name
        folder.mkdir(exist_ok=True)
        clean_up_orphans(folder)
        return Region(name, Store(folder / "emulator.db"), folder, self._shared, self._moto)
