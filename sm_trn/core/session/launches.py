"""From specs to running jobs: everything that is shared goes up once, every name is new, creates leave at the account's pace."""

from __future__ import annotations

import contextlib
import dataclasses
import secrets
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from typing import Any, Final, Generic, Protocol, TypeVar

from .. import _entry
from ..errors import CloudError, LaunchUnknown, SmTrnError, UnknownName
from ..ports import Clock, Storage
from ..specs.job import Git, JobSpec, Script

CREATES_PER_S = 1.0  # CreateTrainingJob, per account and region: General Reference, SageMaker AI endpoints and quotas
CREATES_AT_ONCE = 4
LAUNCHERS = 4  # at once: with an answer in half a second, more would only be throttled
LAUNCH_TAG = "sm_trn:launch"  # what the jobs of one launch have in common: the end of its first job's name
STOP = "sm-trn stop"  # the command that ends jobs, by their names
ANSWERS_S = 10.0  # an interrupted launch waits so long for answers on their way: creates take a second or two

Prepare = Callable[[Mapping[str, Any]], None]
Create = Callable[[Mapping[str, Any]], str]


class Named(Protocol):
    """The handle of a job."""

    @property
    def name(self) -> str: ...


JobT = TypeVar("JobT", bound=Named)


class PartialLaunch(CloudError, Generic[JobT]):  # noqa: N818 - the vocabulary names it
    """Some jobs of a ``submit_all`` were launched and some were not; nothing is lost or launched twice.

    ``launched`` and ``unknown`` are handles: those of ``unknown`` were asked for and may run. ``failed`` says why, by name.
    """

    def __init__(
        self,
        launched: tuple[JobT, ...],
        failed: Mapping[str, Exception],
        unknown: tuple[JobT, ...] = (),
    ) -> None:
        self.launched = launched
        self.failed = failed
        self.unknown = unknown
        every = len(launched) + len(failed)
        head = f"{len(failed) - len(unknown)} of {every} jobs were not launched"
        head += f", and of {len(unknown)} nobody knows whether they run" if unknown else ""
        super().__init__("\n".join([head, *_told(launched, failed, unknown)]), operation="CreateTrainingJob")


class LaunchInterrupted(KeyboardInterrupt, Generic[JobT]):
    """Ctrl-C during a launch. What was launched runs on, and is billed: ``session.stop_all(error.launched + error.unknown)``.

    The fields are those of PartialLaunch.
    """

    def __init__(
        self, launched: tuple[JobT, ...], failed: Mapping[str, Exception], unknown: tuple[JobT, ...], stop: str = STOP
    ) -> None:
        self.launched = launched
        self.failed = failed
        self.unknown = unknown
        names = " ".join(job.name for job in (*launched, *unknown))
        after = [f"What was launched goes on; to end it: {stop} {names}"] if names else ["Nothing was started."]
        super().__init__("\n".join(["the launch was interrupted", *_told(launched, failed, unknown), *after]))


def _told(launched: Sequence[Named], failed: Mapping[str, Exception], unknown: Sequence[Named]) -> list[str]:
    """A line a job."""
    may_run = {job.name for job in unknown}
    return [f"  launched {job.name}" for job in launched] + [
        f"  {'may have been launched' if name in may_run else 'not launched'} {name}: "
        f"{'' if isinstance(error, SmTrnError) else f'{type(error).__name__}: '}{error}"
        for name, error in failed.items()
    ]


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
    _sources: dict[tuple[str | None, str | None, Git | None, tuple[str, ...]], tuple[str, dict[str, str]]] = (
        dataclasses.field(default_factory=dict)
    )
    _inputs: dict[str, str] = dataclasses.field(default_factory=dict)

    def place(self, job: JobSpec) -> tuple[JobSpec, str | None]:
        """``job`` with its channels in S3 and the tags that say where its source is from; and where the source lies.

        An image's own program has no source.
        """
        source, tags = self._source(job.script) if job.script is not None else (None, {})
        placed = {
            name: dataclasses.replace(channel, uri=self._input(channel.uri)) for name, channel in job.channels.items()
        }
        return job.replace(inputs={**job.inputs, **placed}, tags={**job.tags, **tags}), source

    def _input(self, uri: str) -> str:
        if uri not in self._inputs:
            self._inputs[uri] = self.storage.put_input(uri)
        return self._inputs[uri]

    def _source(self, script: Script) -> tuple[str, dict[str, str]]:
        key = (script.source_dir, script.entry if script.git else None, script.git, script.dependencies)
        if key not in self._sources:
            self._sources[key] = self._put(script)
        return self._sources[key]

    def _put(self, script: Script) -> tuple[str, dict[str, str]]:
        git = script.git
        if git is None:
            folder = script.source_dir or str(_entry.scripts_folder())
            return self.storage.put_source(folder, script.dependencies, allow_secrets=self.allow_secrets), {}
        from ..aws.git import checkout  # noqa: PLC0415 - `import sm_trn` loads no boto3

        pinned = checkout(git)
        try:
            below = pinned.folder / (script.source_dir or ".")
            if not below.resolve().is_relative_to(pinned.folder.resolve()) or not (below / script.entry).is_file():
                path = f"{script.source_dir or '.'}/{script.entry}"
                raise UnknownName(f"script: got {path!r}, wanted a file of {git.repo} at {pinned.commit}")
            beside = []
            for path in script.dependencies:
                found = pinned.folder / path
                if not found.exists() or not found.resolve().is_relative_to(pinned.folder.resolve()):
                    raise UnknownName(
                        f"script.dependencies: got {path!r}, wanted a path of {git.repo} at {pinned.commit}"
                    )
                beside.append(f"{found}/" if path.endswith("/") else str(found))
            uri = self.storage.put_source(str(below), beside, allow_secrets=self.allow_secrets)
            return uri, {"sm_trn:git": f"{git.repo}@{pinned.commit}"[:256]}
        finally:
            shutil.rmtree(pinned.folder, ignore_errors=True)


class Launch(Generic[JobT]):
    """The outcomes of all jobs of one launch. The threads that send note it themselves, so no interrupt can lose a name."""

    def __init__(
        self, names: Sequence[str], handle: Callable[[str], JobT], stop: str, notice: Callable[[str], None]
    ) -> None:
        self._names = tuple(names)
        self._notice = notice
        self._handle = handle
        self._stop = stop
        self._changed = threading.Condition()
        self._sent: set[str] = set()
        self._outcomes: dict[str, BaseException | None] = {}
        self._over = False

    def send(self, request: Mapping[str, Any], prepare: Prepare, create: Create) -> None:
        """Prepare and create one job; its outcome is noted, not raised – but for an interrupt, which is both."""
        name = request["TrainingJobName"]
        outcome: BaseException | None = None
        try:
            prepare(request)
            self._notice(f"launching {name}")  # before it leaves: whatever ends this process, its name is known
            with self._changed:
                if self._over:
                    return
                self._sent.add(name)
            create(request)
        except BaseException as error:  # noqa: BLE001 - noted, and told with the job's name
            outcome = error
        with self._changed:
            self._outcomes[name] = outcome
            self._changed.notify_all()
        if outcome is not None and not isinstance(outcome, Exception):
            raise outcome

    def end(self) -> None:
        """Nothing more leaves. Waits a little for the answers of what has left, unless it is interrupted again."""
        self._over = True
        with contextlib.suppress(KeyboardInterrupt), self._changed:
            self._changed.wait_for(lambda: self._sent <= set(self._outcomes), timeout=ANSWERS_S)

    @property
    def launched(self) -> tuple[JobT, ...]:
        return tuple(self._handle(name) for name in self._names if self._outcomes.get(name, self) is None)

    @property
    def unknown(self) -> tuple[JobT, ...]:
        """Jobs whose create call got no conclusive answer. They may be running."""
        outcomes = [(name, self._outcomes.get(name, _NO_ANSWER)) for name in self._names if name in self._sent]
        return tuple(self._handle(name) for name, outcome in outcomes if outcome is not None and not _refused(outcome))

    @property
    def failed(self) -> dict[str, Exception]:
        """Why each of the others was not launched, or may have been."""
        reasons: dict[str, Exception] = {}
        for name in self._names:
            silent = _NO_ANSWER if name in self._sent else _NOT_SENT
            error = self._outcomes.get(name, silent)
            if error is not None:
                reasons[name] = error if isinstance(error, Exception) else silent
        return reasons

    def result(self) -> list[JobT]:
        """The jobs. Raises the error of a launch of one job, PartialLaunch when some jobs were not launched."""
        launched, unknown, failed = self.launched, self.unknown, self.failed
        if not failed:
            return list(launched)
        first = next(iter(failed.values()))
        if len(self._names) == 1 and isinstance(first, SmTrnError):
            raise first
        raise PartialLaunch(launched, failed, unknown) from first

    def interrupted(self) -> LaunchInterrupted[JobT]:
        return LaunchInterrupted(self.launched, self.failed, self.unknown, self._stop)


_NOT_SENT: Final = SmTrnError("it was not sent any more")
_NO_ANSWER: Final = SmTrnError("it was sent, and its answer did not come")


def _refused(error: BaseException) -> bool:
    """Return True if a create that failed so has started nothing."""
    return isinstance(error, SmTrnError) and not isinstance(error, LaunchUnknown) and error is not _NO_ANSWER


def launch_all(  # noqa: PLR0913 - what a launch is told, each by name
    requests: Iterable[Mapping[str, Any]],
    prepare: Prepare,
    create: Create,
    *,
    handle: Callable[[str], JobT],
    clock: Clock,
    paced: bool,
    stop: str = STOP,
    notice: Callable[[str], None] = lambda _text: None,
) -> list[JobT]:
    """Prepare and send every request, several at once. ``paced``: at the account's own rate, because what leaves faster
    comes back throttled. ``stop`` is the command that ends what was launched; ``notice`` hears each name before its create leaves.

    Raises the error of the only job, PartialLaunch when some were not launched or something unexpected ended the launch, and
    LaunchInterrupted: whatever happens, each name that was or may have been created is told.
    """
    asked = list(requests)
    launch = Launch([request["TrainingJobName"] for request in asked], handle, stop, notice)
    pool = ThreadPoolExecutor(max_workers=LAUNCHERS)
    try:
        sent = []
        for request, at in zip(asked, send_times(len(asked), clock.now()), strict=True):
            wait_s = at - clock.now()
            if paced and wait_s > 0:  # a clock that was set back holds nothing up for longer than the whole launch
                clock.sleep(min(wait_s, len(asked) / CREATES_PER_S))
            sent.append(pool.submit(launch.send, request, prepare, create))
        for future in sent:
            future.result()
        return launch.result()
    except SmTrnError:
        raise
    except BaseException as error:
        launch.end()
        if isinstance(error, Exception):
            raise PartialLaunch(launch.launched, launch.failed, launch.unknown) from error
        raise launch.interrupted() from error
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def send_times(
    count: int, start: float, *, per_s: float = CREATES_PER_S, at_once: int = CREATES_AT_ONCE
) -> Iterator[float]:
    """When each of ``count`` requests may leave: a token bucket of ``at_once`` that fills at ``per_s``."""
    for place in range(count):
        yield start + max(0, place + 1 - at_once) / per_s
