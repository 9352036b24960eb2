"""What a run made is found, stopped and deleted: by its journal, and by the tag of the run. It must not know any probe."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...core.aws.errors import as_cloud_error, trouble
from ...core.errors import CloudError
from ...core.ports import Clock, Trouble
from ...emulator import down
from ..policies.conformance import PREFIX
from .bench import TERMINAL
from .journal import CONFIG, ENDPOINT, GONE, MODEL, TAG, TRAINING_JOB, Journal, Left, abandoned, forgotten
from .target import Target

EMULATOR = "emulator"  # the fingerprint of runs that asked an emulator of their own, and nobody else
_PATIENCE_S, _EMULATED_PATIENCE_S = 1200.0, 60.0
_LOOK_S, _EMULATED_LOOK_S = 10.0, 0.1
_STARTING_S = 8.0  # so long a killed run's emulator may still be starting
_PAGE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """What was found of a run and is gone: names of jobs, endpoints and the like, how many objects, and its own ``emulator``."""

    run: str
    names: tuple[str, ...] = ()
    objects: int = 0
    emulator: bool = False

    def __str__(self) -> str:
        jobs = f"{len(self.names)} job{'' if len(self.names) == 1 else 's'} or the like"
        emulator = " Its emulator was ended." if self.emulator else ""
        return f"Run {self.run}: {jobs} stopped and deleted, {self.objects} objects deleted.{emulator}"


def sweep(target: Target | None, state: Path | None, clock: Clock, tell: Callable[[str], None]) -> list[Removed]:
    """Remove what runs left whose process is dead. Without a target only their emulators are ended.

    A run of another account, region or bucket is left as it is, and told. Raises CloudError where something could not be removed:
    the next start tries again.
    """
    found = []
    for journal in abandoned(state):
        left, done = journal.read(), False
        try:
            ended = _end_emulator(journal, left)
            if left.fingerprint in {"", EMULATOR}:  # nothing was sent before the first line was written
                found.append(Removed(run=left.run, emulator=ended))
                done = True
            elif target is not None and left.fingerprint == target.fingerprint:
                found.append(remove(left, target, clock))
                done = True
            else:
                tell(f"Run {left.run} was interrupted in another account, region or bucket: log in there to remove it.")
        finally:
            journal.close(done=done)
    return [*found, *(_end_forgotten(scratch) for scratch in forgotten(state))]


def _end_forgotten(scratch: Path) -> Removed:
    """An emulator that started after its run had been removed."""
    ended = down(scratch)
    shutil.rmtree(scratch, ignore_errors=True)
    return Removed(run=scratch.name, emulator=ended)


def remove(left: Left, target: Target, clock: Clock) -> Removed:
    """Stop and delete all that a run made. Raises CloudError; what is gone already is no error."""
    remover = _Remover(left, target, clock)
    names = tuple(remover.hosting()) + tuple(remover.jobs())
    return Removed(run=left.run, names=names, objects=remover.objects())


def end_emulator(journal: Journal) -> None:
    """End the emulator that a run started, if it did."""
    if journal.scratch.exists():
        down(journal.scratch)


def _end_emulator(journal: Journal, left: Left) -> bool:
    """The same for a run that was killed, perhaps while its emulator was starting; whether there was one."""
    while journal.scratch.exists():
        if down(journal.scratch):
            return True
        if time.time() - left.started > _STARTING_S:
            return False
        time.sleep(0.2)
    return False


class _Remover:
    def __init__(self, left: Left, target: Target, clock: Clock) -> None:
        self._left, self._target, self._clock = left, target, clock
        self._sagemaker, self._s3 = target.client("sagemaker"), target.client("s3")
        emulated = target.emulated
        self._look = _EMULATED_LOOK_S if emulated else _LOOK_S
        self._patience = _EMULATED_PATIENCE_S if emulated else _PATIENCE_S

    def jobs(self) -> Iterator[str]:
        """Stop every job of the run, then delete each once it has ended; the names of those that were there."""
        names = dict.fromkeys([*self._named(TRAINING_JOB), *self._tagged()])
        there = [name for name in names if self._stopped(name)]
        for name in there:
            self._deleted(name)
            yield name

    def hosting(self) -> Iterator[str]:
        """Endpoints first: they are billed until they are deleted."""
        for kind, operation, member in (
            (ENDPOINT, "delete_endpoint", "EndpointName"),
            (CONFIG, "delete_endpoint_config", "EndpointConfigName"),
            (MODEL, "delete_model", "ModelName"),
        ):
            for name in self._named(kind):
                gone = self._until(
                    lambda operation=operation, member=member, name=name: (  # type: ignore[misc]  # mypy knows no default of a lambda
                        self._ask(operation, **{member: name}) is None
                    ),
                    since=self._written(name),
                )
                if gone:
                    yield name

    def objects(self) -> int:
        """Delete every object under the run's prefix, and return how many there were."""
        where, count = {"Bucket": self._target.bucket, "Prefix": f"{PREFIX}/{self._left.run}/"}, 0
        while True:
            with as_cloud_error("ListObjectsV2", where["Prefix"]):
                rows = self._s3.list_objects_v2(**where).get("Contents", [])
            if not rows:
                return count
            keys = [{"Key": row["Key"]} for row in rows]
            with as_cloud_error("DeleteObjects", where["Prefix"]):
                answer = self._s3.delete_objects(Bucket=self._target.bucket, Delete={"Objects": keys, "Quiet": True})
            if answer.get("Errors"):
                code = str(answer["Errors"][0].get("Code", ""))
                raise CloudError(f"DeleteObjects of {where['Prefix']!r}: {code}", operation="DeleteObjects", code=code)
            count += len(keys)

    def _named(self, kind: str) -> list[str]:
        refused = {made.name for made in self._left.made if made.kind == GONE}
        return [made.name for made in self._left.made if made.kind == kind and made.name not in refused]

    def _tagged(self) -> list[str]:
        """What carries the run's tag, whoever wrote it down: Search may not know the newest yet."""
        filters = [{"Name": f"Tags.{TAG}", "Operator": "Equals", "Value": self._left.run}]
        with as_cloud_error("Search", self._left.run):
            answer = self._sagemaker.search(
                Resource="TrainingJob", SearchExpression={"Filters": filters}, MaxResults=_PAGE
            )
        return [row["TrainingJob"]["TrainingJobName"] for row in answer["Results"]]

    def _stopped(self, name: str) -> bool:
        """Ask a job to stop, and return whether there is one. A job that was just asked for may not be known yet."""
        since, until = self._written(name), self._clock.now() + self._patience
        while True:
            found = self._ask("describe_training_job", TrainingJobName=name)
            if found is not None:
                if found["TrainingJobStatus"] not in {*TERMINAL, "Stopping"}:
                    self._ask("stop_training_job", TrainingJobName=name)
                return True
            if self._clock.now() - since > self._target.settle_s or self._clock.now() > until:
                return False
            self._clock.sleep(self._look)

    def _deleted(self, name: str) -> None:
        """Wait for a job's end, release its pool, delete it. Raises CloudError where it does not end."""
        until = self._clock.now() + self._patience
        while (found := self._ask("describe_training_job", TrainingJobName=name)) is not None:
            pool = found.get("WarmPoolStatus", {}).get("Status")
            if found["TrainingJobStatus"] not in {*TERMINAL, "Stopping"}:
                self._ask("stop_training_job", TrainingJobName=name)
            elif pool == "Available":
                release = {"KeepAlivePeriodInSeconds": 0}
                self._ask("update_training_job", TrainingJobName=name, ResourceConfig=release)
            elif found["TrainingJobStatus"] in TERMINAL:
                if not hasattr(self._sagemaker, "delete_training_job"):  # botocore before 2025: jobs stay in the list
                    return
                self._ask("delete_training_job", TrainingJobName=name)
            if self._clock.now() > until:
                raise CloudError(
                    f"{name}: does not end; it is asked again at the next start", operation="StopTrainingJob"
                )
            self._clock.sleep(self._look)

    def _until(self, done: Callable[[], bool], since: float) -> bool:
        """Repeat until it is done, and return whether it took more than one look, so that there was something."""
        until, looks = self._clock.now() + self._patience, 0
        while not done():
            looks += 1
            if self._clock.now() > until:
                raise CloudError("an endpoint is not deleted; it is asked again at the next start", operation="Delete")
            self._clock.sleep(self._look)
        if not looks and self._clock.now() - since <= self._target.settle_s:
            self._clock.sleep(self._target.settle_s)
            return self._until(done, 0.0)
        return looks > 0

    def _written(self, name: str) -> float:
        return max((made.at for made in self._left.made if made.name == name), default=0.0)

    def _ask(self, operation: str, **members: Any) -> Any:
        """The answer; None where it does not exist. An ended job that refuses a stop, or a pool that ends by itself, is no error.

        Raises CloudError.
        """
        try:
            with as_cloud_error(operation, self._left.run):
                return dict(getattr(self._sagemaker, operation)(**members))
        except CloudError as error:
            if trouble(error) is Trouble.NOT_FOUND or error.code == "ResourceNotFound" or _unknown(error):
                return None
            if operation != "describe_training_job" and error.code in {"ValidationException", "ResourceInUse"}:
                return {}  # its state changed between our look and our request: look again
            raise


def _unknown(error: CloudError) -> bool:
    return "could not find" in str(error).lower()
