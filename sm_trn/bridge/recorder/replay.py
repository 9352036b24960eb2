"""The real SDK v2, given values: calls of its classes and functions made in a process of their own, against the recorder.

Started by ``sdk.py`` as ``python -m``. Each line of standard input is one job in JSON: calls in their order, with arguments
that are data; each line of standard output is its answer. No code of a launcher comes here, and nothing leaves this process.
"""

from __future__ import annotations

import base64
import contextlib
import importlib
import json
import os
import resource
import shutil
import signal
import socket
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from . import answers
from .inside import recording

STAMP: Final = "1999-12-31-23-59-59-999"
SHORT_STAMP: Final = "991231-2359"
SECONDS: Final = 20  # of processor time for one job
MEMORY: Final = 4_000_000_000  # bytes
# Whose classes and functions may be called, and whose modules looked into: a launcher is read, and no other code may run for it.
_SDKS: Final = frozenset({"sagemaker", "sagemaker_core", "smdebug_rulesconfig", "boto3", "botocore", "s3transfer"})
_DATA: Final = (str, bytes, int, float, bool, list, tuple, dict, set, frozenset, type(None))
# What the SDK is never asked to do for values: start programs, load libraries, and change files beside its own scratch folder.
_STARTS: Final = frozenset(
    {
        "os.system",
        "os.exec",
        "os.posix_spawn",
        "os.spawn",
        "os.fork",
        "os.forkpty",
        "os.startfile",
        "subprocess.Popen",
        "pty.spawn",
        "ctypes.dlopen",
    }
)
_CHANGES: Final = frozenset(
    {"os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate", "os.chmod", "os.chown", "os.utime",
     "os.setxattr", "os.removexattr", "shutil.rmtree"}
)  # fmt: skip
_WRITES: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_PIPELINE_SESSIONS: Final = frozenset({"PipelineSession", "LocalPipelineSession"})


class FailedError(Exception):
    """The SDK refused a call: which one, and what it said."""

    def __init__(self, event: int, error: BaseException) -> None:
        super().__init__(str(error))
        self.event, self.error = event, error


class Replay:
    """Calls made one after the other. Lists and mappings are one object wherever they are given, and change when they have changed."""

    def __init__(self) -> None:
        self.made: dict[int, Any] = {}
        self.heap: dict[int, Any] = {}
        self.told: dict[int, list[Any]] = {}  # what the launcher has said of each

    def run(self, events: list[dict[str, Any]]) -> None:
        """Make the calls. Raises FailedError for the first that is refused."""
        for event in events:
            self.remember(event.get("heap", {}))
            try:
                self.made[event["id"]] = self._one(event)
            except Exception as error:
                raise FailedError(event["id"], error) from error

    def _one(self, event: dict[str, Any]) -> Any:
        kind = event["kind"]
        if kind == "call":
            return self.call(_found(event["path"]), event)
        owner = self.value(event["owner"])
        if kind == "attribute":
            return _part(owner, event["name"])
        if kind == "item":
            return owner[self.value(event["key"])]
        if kind == "set":
            _expect_public(event["name"])
            return setattr(owner, event["name"], self.value(event["value"]))
        return self.call(_part(owner, event["name"]), event)

    def call(self, function: Any, event: dict[str, Any]) -> Any:
        """Call a function with the event's arguments. Raises PermissionError for one that is not the SDK's."""
        given = [self.value(each) for each in event.get("args", ())]
        names = {name: self.value(each) for name, each in event.get("kwargs", {}).items()}
        if not _is_of_sdk(function):
            raise PermissionError(f"{getattr(function, '__qualname__', function)!s:.80}: only the SDK is called here")
        return function(*given, **names)

    def remember(self, heap: Mapping[str, Any]) -> None:
        """Let every list and mapping change as the launcher has changed it; what the SDK itself has put into one stays."""
        for number, held in heap.items():
            self.heap.setdefault(int(number), {} if held["t"] == "dict" else [] if held["t"] == "list" else set())
        for number, held in heap.items():
            target, before = self.heap[int(number)], self.told.get(int(number), [])
            if held["t"] == "dict":
                gone = [key for key, _ in before if key not in [key for key, _ in held["v"]]]
                for key in gone:
                    target.pop(self.value(key), None)
                target.update(
                    (self.value(key), self.value(item)) for key, item in held["v"] if [key, item] not in before
                )
            elif held["v"] != before:
                target.clear()
                (target.extend if held["t"] == "list" else target.update)(map(self.value, held["v"]))
            self.told[int(number)] = held["v"]

    def value(self, written: Any) -> Any:
        """The value that was written for the pipe."""
        if not isinstance(written, dict):
            return written
        kind = written["t"]
        if kind == "node":
            return self.made[written["id"]]
        if kind == "heap":
            return self.heap[written["id"]]
        if kind == "tuple":
            return tuple(map(self.value, written["v"]))
        if kind == "bytes":
            return base64.b64decode(written["v"])
        if kind == "local":
            return _local(written["v"], folder=written["folder"])
        return _found(written["v"])


def _local(name: str, *, folder: bool) -> str:
    """A file or folder of this name in a folder of this process, for code that looks whether it is there."""
    place = Path(tempfile.mkdtemp()) / name
    if folder:
        place.mkdir(parents=True)
    else:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
    return str(place)


def _found(path: str) -> Any:
    """A class or function by its dotted path: of the session that a pipeline uses, the one that sends."""
    words = path.split(".")
    for word in words:
        _expect_public(word)
    if words[0] not in _SDKS:
        raise ModuleNotFoundError(path)
    if words[-1] in _PIPELINE_SESSIONS:
        words = ["sagemaker", "Session"]
    for end in range(len(words), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(words[:end]))
        except ModuleNotFoundError as error:
            if end == 1 or not ".".join(words[:end]).startswith(str(error.name)):
                raise
            continue
        for word in words[end:]:
            found = _part(found, word)
        return found
    raise ModuleNotFoundError(path)


def _expect_public(name: str) -> None:
    if name.startswith("_"):
        raise PermissionError(f"{name[:80]}: only public names are looked at here")


def _part(owner: Any, name: str) -> Any:
    """A public attribute. Modules that the SDK has imported for itself are no part of it."""
    _expect_public(name)
    found = getattr(owner, name)
    if isinstance(found, ModuleType) and found.__name__.partition(".")[0] not in _SDKS:
        raise PermissionError(f"{name[:80]}: only the SDK is looked into here")
    return found


def _is_of_sdk(function: Any) -> bool:
    """Whether a function, a class or a method is the SDK's own, or a method of plain data."""
    owner = getattr(function, "__self__", None)
    if owner is not None and not isinstance(owner, (ModuleType, type)):
        return isinstance(owner, _DATA) or type(owner).__module__.partition(".")[0] in _SDKS
    return str(getattr(function, "__module__", "")).partition(".")[0] in _SDKS


def answer(job: dict[str, Any]) -> dict[str, Any]:
    """What a job gives: ``value`` or ``opaque`` of an object, ``request`` of a start, or what the SDK ``refused``."""
    calls: list[tuple[str, dict[str, Any], str]] = []
    os.environ.update(job["environment"])
    with recording(region=job["region"]), _listening(calls), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        replay = Replay()
        try:
            replay.run(job["events"])
            found = _started(replay, job, calls) if job["action"] == "fit" else _valued(replay, job)
        except FailedError as failed:
            found = {"refused": _words(failed.error), "event": failed.event}
        except Exception as error:  # noqa: BLE001 - whatever the SDK raises is what it says
            found = {"refused": _words(error), "event": None}
    renamed = [str(each.message).splitlines()[0] for each in told if "renamed" in str(each.message)]
    return {**found, "asked": [name for name, _, _ in calls], "renamed": renamed}


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:600]


def _valued(replay: Replay, job: dict[str, Any]) -> dict[str, Any]:
    value = replay.made[job["node"]]
    try:
        return {"value": json.loads(json.dumps(value))}
    except (TypeError, ValueError, RecursionError):
        return {"opaque": type(value).__name__, "truth": bool(value)}


def _started(replay: Replay, job: dict[str, Any], calls: list[tuple[str, dict[str, Any], str]]) -> dict[str, Any]:
    """Start what was made, and keep the body of CreateTrainingJob, or of the operation that is asked for."""
    replay.remember(job.get("heap", {}))
    estimator = replay.made[job["node"]]
    if getattr(estimator, "instance_type", None) in {"local", "local_gpu"}:
        return {"local": True}
    said = {
        name: _plain(getattr(estimator, name, None))
        for name in ("entry_point", "source_dir", "dependencies", "git_config")
    }
    if not job["raw"]:
        with contextlib.ExitStack() as opened:
            for number in job.get("contexts", ()):
                opened.enter_context(replay.made[number])
            replay.call(estimator.fit, job)
    wanted = job.get("operation", "CreateTrainingJob")
    sent = [(request, region) for name, request, region in calls if name == wanted]
    if not sent:
        return {"refused": f"no {wanted} is sent", "event": None}
    request, region = sent[-1]
    uploaded = getattr(getattr(estimator, "uploaded_code", None), "s3_prefix", None)
    return {
        **said,
        "request": _plain(request),
        "region": region,
        "uploaded": uploaded,
        "named": _names_region(estimator),
    }


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value, default=str))


def _names_region(estimator: Any) -> bool:
    """Whether the launcher itself says the region: its session does, or the image that it names."""
    session = getattr(getattr(estimator, "sagemaker_session", None), "boto_session", None)
    named = session is not None and session._session.instance_variables().get("region") is not None
    return named or getattr(estimator, "image_uri", None) is not None


@contextlib.contextmanager
def _listening(calls: list[tuple[str, dict[str, Any], str]]) -> Iterator[None]:
    """Note every call of botocore as it is asked for, before it is written for the wire."""
    client = importlib.import_module("botocore.client").BaseClient
    original = client._make_api_call

    def noted(self: Any, operation: str, asked: dict[str, Any]) -> Any:
        calls.append((operation, _plain(asked), self.meta.region_name))
        return original(self, operation, asked)

    client._make_api_call = noted
    try:
        yield
    finally:
        client._make_api_call = original


def prepare() -> None:
    """Import the SDK, and settle what depends on the moment and on files: time stamps, waiting, the archive of the source."""
    for name in ("sagemaker", "sagemaker.estimator", "sagemaker.pytorch", "sagemaker.huggingface"):
        importlib.import_module(name)
    instead: dict[str, dict[str, Any]] = {
        "sagemaker.utils": {
            "sagemaker_timestamp": lambda: STAMP,
            "sagemaker_short_timestamp": lambda: SHORT_STAMP,
            "create_tar_file": _empty_archive,
        },
        "sagemaker.fw_utils": {"_list_files_to_compress": lambda *_: []},
        "sagemaker.estimator": {"validate_source_dir": lambda *_: True},
        "sagemaker.git_utils": {"git_clone_repo": _cloned},
    }
    for name, functions in instead.items():
        for word, function in functions.items():
            function.__module__ = name  # a launcher may call it too, as the SDK's own
            setattr(importlib.import_module(name), word, function)
    for name, module in list(sys.modules.items()):
        if name.startswith("sagemaker.") and hasattr(module, "unique_name_from_base"):
            setattr(module, "unique_name_from_base", _unique)  # noqa: B010 - a module of somebody else's
    session = importlib.import_module("sagemaker.session").Session
    session.logs_for_job = session.wait_for_job = lambda *_, **__: None
    time.sleep = lambda _: None  # nothing is waited for
    _warm()


def _warm() -> None:
    """Let sessions of botocore share their clients and the files that they read, and make those that a start needs: each job finds
    them in its own copy of this process."""
    session = importlib.import_module("botocore.session").Session
    original, shared = session.create_client, dict[tuple[object, ...], Any]()

    def create(self: Any, service_name: str, region_name: str | None = None, *given: Any, **names: Any) -> Any:
        options = getattr(names.get("config"), "_user_provided_options", None)
        region = region_name or self.get_config_variable("region")
        key = (service_name, region, names.get("endpoint_url"), repr(options), len(given))
        if key not in shared or given:
            shared[key] = original(self, service_name, region_name, *given, **names)
        return shared[key]

    scoped = session.get_scoped_config

    def configuration(self: Any) -> dict[str, Any]:
        try:
            found: dict[str, Any] = scoped(self)
        except Exception:  # noqa: BLE001 - a profile that this machine has not
            return {}
        return found

    session.create_client, session.get_scoped_config = create, configuration
    loader = importlib.import_module("botocore.loaders").Loader
    start, read = loader.__init__, dict[Any, Any]()

    def begin(self: Any, *given: Any, **names: Any) -> None:
        start(self, *given, **names)
        self._cache = read  # of one loader; the files are the same

    loader.__init__ = begin
    sample = {"events": _SAMPLE, "action": "fit", "node": 1, "region": "us-west-2", "environment": {}, "raw": False}
    answer(sample)
    boto3: Any = importlib.import_module("boto3")
    boto3.DEFAULT_SESSION = None


_SAMPLE: Final[list[dict[str, Any]]] = [
    {"id": 0, "kind": "call", "path": "sagemaker.get_execution_role"},
    {"id": 1, "kind": "call", "path": "sagemaker.pytorch.PyTorch", "kwargs": {
        "entry_point": "train.py", "role": {"t": "node", "id": 0}, "framework_version": "2.1", "py_version": "py310",
        "instance_type": "ml.g5.xlarge", "instance_count": 1,
    }},
]  # fmt: skip


def _unique(base: str, max_length: int = 63) -> str:
    return f"{base[: max_length - 16]}-{STAMP}"


def _empty_archive(source_files: list[str], target: str) -> str:
    del source_files
    Path(target).write_bytes(answers.empty_archive())
    return target


def _cloned(
    git_config: Any, entry_point: str, source_dir: str | None = None, dependencies: list[str] | None = None
) -> dict[str, Any]:
    del git_config
    return {"entry_point": entry_point, "source_dir": source_dir, "dependencies": dependencies}


def _alone() -> None:
    """Bound this process: no network, so much memory and time."""

    def refused(*_: object, **__: object) -> None:
        raise OSError("no network: only values are looked at here")

    sys.addaudithook(_held(os.path.realpath(tempfile.gettempdir())))
    socket.socket.connect = refused  # type: ignore[method-assign]  # of this process alone
    socket.getaddrinfo = refused  # type: ignore[assignment]
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    os.chdir(tempfile.mkdtemp())


def _held(scratch: str) -> Callable[[str, tuple[Any, ...]], None]:
    """A hook that refuses what only a program does: the SDK makes requests here, and nothing else."""

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _STARTS:
            raise PermissionError(f"{event}: nothing is started here")
        writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITES
        below = (
            event in {"os.remove", "os.rmdir"} and arguments[-1] != -1
        )  # in a folder that is open, as shutil.rmtree does
        if (event in _CHANGES or writes) and not below:
            for path in arguments[:1] if writes else arguments[:2]:
                if isinstance(path, (str, bytes)) and not _lies_in(os.fsdecode(path), scratch):
                    raise PermissionError(f"{event}: only the folder of this process is changed here")

    return hook


def _lies_in(path: str, scratch: str) -> bool:
    place = os.path.realpath(path)
    return path == os.devnull or place == scratch or place.startswith(scratch + os.sep)


def _forked(job: dict[str, Any]) -> bytes:
    """The answer of a process made for this one job: whatever it does to the SDK ends with it."""
    reader, writer = os.pipe()
    scratch = tempfile.mkdtemp()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            tempfile.tempdir = scratch
            _alone()
            written = json.dumps(answer(job)).encode()
        except BaseException as error:  # noqa: BLE001 - said, not raised
            written = json.dumps({"failed": _words(error)}).encode()
        with os.fdopen(writer, "wb") as file:
            file.write(written)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        written = file.read()
    _, status = os.waitpid(child, 0)
    shutil.rmtree(scratch, ignore_errors=True)
    died = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else f"exit {status >> 8}"
    return written or json.dumps({"failed": f"the process that asked the SDK ended: {died}"}).encode()


def main() -> None:
    """Answer the jobs on standard input until it ends."""
    told = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        prepare()
        first = b"{}"
    except Exception as error:  # noqa: BLE001 - said, not raised
        first = json.dumps({"failed": _words(error)}).encode()
    told.write(first + b"\n")
    told.flush()
    for line in sys.stdin.buffer:
        told.write(_forked(json.loads(line)) + b"\n")
        told.flush()


if __name__ == "__main__":
    main()
