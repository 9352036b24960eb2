"""From specs to running jobs: everything that is shared goes up once, every name is new, creates leave at the account's pace."""

from __future__ import annotations

import dataclasses
import secrets
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime, timezone
from typing import Any, TypeVar

from .. import _entry
from ..errors import CloudError, SmTrnError, UnknownName
from ..ports import Clock, Storage
from ..specs import Git, JobSpec, Script
from .pace import CREATES_PER_S, send_times

LAUNCHERS = 4  # at once: with an answer in half a second, more would only be throttled

Create = Callable[[Mapping[str, Any]], str]
Made = TypeVar("Made")


class PartialLaunch(CloudError):  # noqa: N818 - the vocabulary names it
    """Some jobs of a ``submit_all`` were launched and some were not; nothing is lost or launched twice."""

    def __init__(self, launched: tuple[Any, ...], failed: Mapping[str, Exception]) -> None:
        self.launched = launched
        self.failed = failed
        lines = [f"  launched {job.name}" for job in launched] + [
            f"  not launched {name}: {error}" for name, error in failed.items()
        ]
        super().__init__(
            "\n".join([f"{len(failed)} of {len(launched) + len(failed)} jobs were not launched", *lines]),
            operation="CreateTrainingJob",
        )


def unique_name(base: str, now: float) -> str:
    """``base`` with the time and six random digits: legal, at most 63 characters, unique within a millisecond too."""
    stamp = datetime.fromtimestamp(now, tz=timezone.utc).strftime("%y%m%d-%H%M%S")
    return f"{base}-{stamp}-{secrets.token_hex(3)}"


def unique_names(bases: Sequence[str], now: float) -> list[str]:
    """A name for each of ``bases``, no two alike."""
    names: dict[str, None] = {}
    for base in bases:
        while (name := unique_name(base, now)) in names:
            pass
        names[name] = None
    return list(names)


@dataclasses.dataclass(kw_only=True)
class Staging:
    """Uploads of one launch: a folder is packed once, a repository cloned once per script, a channel sent once – for all its jobs."""

    storage: Storage
    allow_secrets: bool = False
    _sources: dict[tuple[str | None, str | None, Git | None], tuple[str, dict[str, str]]] = dataclasses.field(
        default_factory=dict
    )
    _inputs: dict[str, str] = dataclasses.field(default_factory=dict)

    def place(self, job: JobSpec) -> tuple[JobSpec, str | None]:
        """``job`` with its channels in S3 and the tags that say where its source is from; and where the source lies.

        An image's own program has no source.
        """
        source, tags = self._source(job.script) if job.script is not None else (None, {})
        inputs = {
            name: dataclasses.replace(channel, uri=self._input(channel.uri)) for name, channel in job.channels.items()
        }
        return job.replace(inputs=inputs, tags={**job.tags, **tags}), source

    def _input(self, uri: str) -> str:
        if uri not in self._inputs:
            self._inputs[uri] = self.storage.put_input(uri)
        return self._inputs[uri]

    def _source(self, script: Script) -> tuple[str, dict[str, str]]:
        key = (script.source_dir, script.entry if script.git else None, script.git)
        if key not in self._sources:
            self._sources[key] = self._put(script)
        return self._sources[key]

    def _put(self, script: Script) -> tuple[str, dict[str, str]]:
        git = script.git
        if git is None:
            folder = script.source_dir or str(_entry.scripts_folder())
            return self.storage.put_source(folder, allow_secrets=self.allow_secrets), {}
        from ..aws import checkout  # noqa: PLC0415 - `import sm_trn` loads no boto3

        pinned = checkout(git)
        try:
            below = pinned.folder / (script.source_dir or ".")
            if not below.resolve().is_relative_to(pinned.folder.resolve()) or not (below / script.entry).is_file():
                path = f"{script.source_dir or '.'}/{script.entry}"
                raise UnknownName(f"script: got {path!r}, wanted a file of {git.repo} at {pinned.commit}")
            uri = self.storage.put_source(str(below), allow_secrets=self.allow_secrets)
            return uri, {"sm_trn:git": f"{git.repo}@{pinned.commit}"[:256]}
        finally:
            shutil.rmtree(pinned.folder, ignore_errors=True)


def create_all(
    requests: Iterable[Mapping[str, Any]], create: Create, clock: Clock, *, paced: bool
) -> dict[str, SmTrnError | None]:
    """Send every request, several at once; what became of each by its job's name. ``paced``: at the account's own rate,
    because what leaves faster comes back throttled.
    """
    asked = list(requests)
    times = send_times(len(asked), clock.now())
    sent: dict[str, Future[SmTrnError | None]] = {}
    with ThreadPoolExecutor(max_workers=LAUNCHERS) as pool:
        for request, at in zip(asked, times, strict=True):
            wait_s = at - clock.now()
            if paced and wait_s > 0:
                clock.sleep(
                    min(wait_s, len(asked) / CREATES_PER_S)
                )  # a clock that was set back holds nothing up for longer
            sent[request["TrainingJobName"]] = pool.submit(_created, create, request)
    return {name: future.result() for name, future in sent.items()}


def _created(create: Create, request: Mapping[str, Any]) -> SmTrnError | None:
    try:
        create(request)
    except SmTrnError as error:
        return error
    return None
