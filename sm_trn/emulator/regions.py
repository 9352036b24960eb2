"""A region holds what SageMaker keeps apart by region: jobs, models, endpoints, their logs and metrics. S3, IAM and STS are shared.

The first region of a state has the state's own folder, any other one a folder below it, made when it is first asked for.
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Final

from .container.context import Shared
from .container.orphans import REGIONS, clean_up_orphans
from .errors import refused
from .operations import Operations
from .service import HttpAnswer, OpenService, ReadBody, RegionParts
from .state.resources import Resources
from .state.store import Store
from .telemetry.log_store import LogLines
from .telemetry.logs import GROUP, LogsApi
from .telemetry.metric_store import MetricStore
from .training.api import TrainingApi
from .training.jobs import Jobs, TrainingContext
from .training.supervisor import JobSupervisor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from .http.moto import Moto

_NAME: Final = re.compile(r"[a-z]{2,4}(-[a-z]{2,12}){1,3}-\d{1,2}")
_SETTING: Final = "region"


class Region:
    """It holds all that one region has of its own, in a folder of its own."""

    def __init__(
        self, name: str, store: Store, folder: Path, *, shared: Shared, moto: Moto, services: Sequence[OpenService]
    ) -> None:
        self.name = name
        self.store = store
        self.jobs, self.resources = Jobs(store), Resources(store, name)
        self.metrics = MetricStore(folder / "metrics", moto, name)
        lines, hosted = LogLines(folder / "logs"), LogLines(folder / "hosted-logs")
        context = TrainingContext(
            shared=shared, jobs=self.jobs, lines=lines, metrics=self.metrics, state=folder, region=name
        )
        self.supervisor = JobSupervisor(context)
        self.training = TrainingApi(self.jobs, shared.objects, self.supervisor, shared.options, name)
        parts = RegionParts(
            shared=shared,
            resources=self.resources,
            jobs=self.jobs,
            training=self.training,
            context=context,
            lines=hosted,
        )
        self.services = tuple(opened(parts) for opened in services)
        self.operations = Operations(self.training, self.resources, self.services)
        self.logs = LogsApi(lines, name, hosted)

    def restore(self) -> None:
        """Bring back what was in service before a restart, and fail what ran."""
        self.jobs.fail_unfinished()
        for service in self.services:
            service.restore()

    def answer(self, method: str, path: str, body: ReadBody, fields: Mapping[str, str]) -> HttpAnswer | None:
        """Answer a request that names no operation but a path; None for one that is nobody's. Raises AwsError."""
        answers = (service.answer(method, path, body, fields) for service in self.services)
        return next((answer for answer in answers if answer is not None), None)

    def prepare(self, moto: Moto) -> None:
        """Tell moto what it has to know of the region."""
        body = json.dumps({"logGroupName": GROUP}).encode()
        target, kind = "Logs_20140328.CreateLogGroup", "application/x-amz-json-1.1"
        moto.call("logs", "POST", "/", body, region=self.name, x_amz_target=target, content_type=kind)


class Regions:
    """They may be shared between threads."""

    def __init__(self, shared: Shared, store: Store, moto: Moto, region: str, services: Sequence[OpenService]) -> None:
        self._shared = shared
        self._services = services
        self._moto = moto
        self._lock = threading.Lock()
        first = store.setting(_SETTING) or _found_in(store) or region
        store.set(_SETTING, first)
        folder = shared.root / REGIONS
        folder.mkdir(exist_ok=True)
        self._open = {first: Region(first, store, shared.root, shared=shared, moto=moto, services=services)}
        for each in {region, *(path.name for path in folder.iterdir() if _NAME.fullmatch(path.name))} - {first}:
            self._open[each] = self._made(each)

    def of(self, name: str) -> Region:
        """Return a region, made now if need be. Raises AwsError for a name that no region has."""
        with self._lock:
            if name in self._open:
                return self._open[name]
            if not _NAME.fullmatch(name):
                raise refused("SignatureDoesNotMatch", f"Credential should be scoped to a valid region, got {name!r}")
            found = self._open[name] = self._made(name)
        self._shared.objects.ready.wait()
        found.prepare(self._moto)
        return found

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
            for service in reversed(each.services):
                service.shutdown()
        self._shared.slots.close()
        for each in regions:
            each.supervisor.stop_all()
        for each in regions:
            each.supervisor.join(until)

    def close(self) -> None:
        for each in self.all():
            each.store.close()

    def _made(self, name: str) -> Region:
        folder = self._shared.root / REGIONS / name
        folder.mkdir(exist_ok=True)
        clean_up_orphans(folder)
        return Region(
            name, Store(folder / "emulator.db"), folder, shared=self._shared, moto=self._moto, services=self._services
        )


def _found_in(store: Store) -> str:
    """Most of what a state holds that was written before regions were kept apart is of this one."""
    found = Counter(str(json.loads(text)["arn"]).split(":")[3] for text in chain(store.jobs(), store.records()))
    return found.most_common(1)[0][0] if found else ""
