"""Finding, starting and stopping the emulator of a state folder, from any process.

It talks to it over HTTP with the folder's key, as any client would; it must not import moto or boto3.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from ..core.errors import EmulatorError, expect_library
from ..core.session.defaults import state_folder
from . import options
from .options import Endpoint, Fault, Options

try:
    import fcntl
except ImportError:
    raise EmulatorError(
        "The emulator needs Linux, macOS or WSL: this Python has no fcntl. sm_trn checks, renders, launches on AWS and compares here"
    ) from None

from collections.abc import Mapping

_START_S = 60.0  # it takes about a second; a loaded machine may need more
_STOP_S = 20.0
_ASK_S = 10.0
_REGION: Final = re.compile(r"[a-z]{2,4}(?:-[a-z]{1,12}){1,3}-\d{1,2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """This is what ``status`` found. ``jobs`` counts them by TrainingJobStatus, ``endpoints`` by EndpointStatus, ``refused`` the
    requests for operations that the emulator does not have.
    """

    alive: bool
    state: Path
    url: str | None = None
    pid: int | None = None
    region: str | None = None
    isolation: str | None = None
    jobs: Mapping[str, int] = field(default_factory=dict)
    endpoints: Mapping[str, int] = field(default_factory=dict)
    disk_bytes: int = 0
    refused: Mapping[str, int] = field(default_factory=dict)


def find(state: Path | None = None) -> Endpoint | None:
    """Return the emulator of this folder, only if its process lives and answers."""
    folder = state_folder(state)
    endpoint = _read(folder)
    if endpoint is None or not _locked(folder):
        return None
    try:
        ask(endpoint, "Status", {})
    except (OSError, EmulatorError, http.client.HTTPException):
        return None
    return endpoint


def up(state: Path | None = None, *, region: str = "us-west-2", options: Options | None = None) -> Endpoint:
    """Start the emulator of this folder unless it runs, and return it.

    Raises EmulatorError with the end of its log, or for a region that cannot be one; NotConfigured without the extra ``local``.
    """
    if _REGION.fullmatch(region) is None:
        raise EmulatorError(f"region: got {region!r}, wanted the name of an AWS region, such as 'us-west-2'")
    folder = state_folder(state)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
    except OSError as error:
        raise EmulatorError(f"{folder}: the state folder cannot be made: {error}") from error
    with (folder / "up.lock").open("w", encoding="ascii") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        found = find(folder)
        if found is not None:
            return found
        expect_library("moto", "local", "the emulator")
        _start(folder, region, options or Options())
        endpoint = _read(folder)
    if endpoint is None:
        raise EmulatorError(f"{folder}: the emulator said it was ready but left no endpoint.json\n{_tail(folder)}")
    return endpoint


def down(state: Path | None = None) -> bool:
    """End the emulator of this folder and its jobs; False when none ran. Its state stays. Raises EmulatorError if it does not end."""
    folder = state_folder(state)
    endpoint = _read(folder)
    if endpoint is None or not _locked(folder):
        return False
    for number, patience in ((signal.SIGTERM, _STOP_S), (signal.SIGKILL, 5.0)):
        try:
            os.kill(endpoint.pid, number)
        except ProcessLookupError:
            return True
        until = time.monotonic() + patience
        while time.monotonic() < until:
            if not _locked(folder):
                return True
            time.sleep(0.02)
    raise EmulatorError(f"{folder}: process {endpoint.pid} does not end; got it killed, wanted it gone")


def reset(state: Path | None = None) -> None:
    """End the emulator and delete all it kept: jobs, logs, objects."""
    folder = state_folder(state)
    down(folder)
    for name in ("jobs", "tmp", "s3", "logs", "metrics", "hosted", options.DATA_FOLDER):
        shutil.rmtree(folder / name, ignore_errors=True)
    for file in (*folder.glob("emulator.db*"), folder / "endpoint.json", folder / "emulator.log"):
        file.unlink(missing_ok=True)


def status(state: Path | None = None) -> Status:
    """Return whether an emulator runs here, and what it holds."""
    folder = state_folder(state)
    endpoint = find(folder)
    size = _disk_bytes(folder)
    if endpoint is None:
        return Status(alive=False, state=folder, disk_bytes=size)
    known = ask(endpoint, "Status", {})
    told = ("url", "pid", "region", "isolation", "jobs", "endpoints", "refused")
    return Status(alive=True, state=folder, disk_bytes=size, **{name: known[name] for name in told})


def interrupt(name: str, state: Path | None = None, *, notice: bool = True) -> None:
    """Take a spot job's capacity away. Without ``notice`` it gets no SIGTERM. Raises EmulatorError."""
    try:
        ask(_running(state), "InterruptTrainingJob", {"TrainingJobName": name, "Notice": notice})
    except EmulatorError as error:
        raise EmulatorError(f"{error} (job {name!r}; sm-trn list shows the jobs that are here)") from error


def add_fault(fault: Fault, state: Path | None = None) -> None:
    """Let the emulator of this folder fail on purpose. Raises EmulatorError."""
    ask(_running(state), "AddFault", asdict(fault))


def clear_faults(state: Path | None = None) -> None:
    """Take back every fault that was asked for. Raises EmulatorError."""
    ask(_running(state), "ClearFaults", {})


def _running(state: Path | None) -> Endpoint:
    endpoint = find(state)
    if endpoint is None:
        raise EmulatorError(f"{state_folder(state)}: no emulator runs here; start it with 'sm-trn local up'")
    return endpoint


def ask(endpoint: Endpoint, operation: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Make one signed control call. Raises EmulatorError with the emulator's own sentence."""
    payload = json.dumps(dict(body)).encode()
    host = endpoint.url.removeprefix("http://")
    headers = {
        "content-type": "application/x-amz-json-1.1",
        "host": host,
        "x-amz-date": time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()),
        "x-amz-target": f"SmTrnEmulator.{operation}",
    }
    headers["authorization"] = _authorization(endpoint, headers, payload)
    with contextlib.closing(http.client.HTTPConnection(host, timeout=_ASK_S)) as connection:
        connection.request("POST", "/", payload, headers)
        answer = connection.getresponse()
        document: dict[str, Any] = json.loads(answer.read() or b"{}")
    if answer.status != 200:
        raise EmulatorError(f"{operation}: {document.get('message', answer.status)}")
    return document


def _authorization(endpoint: Endpoint, headers: Mapping[str, str], payload: bytes) -> str:
    """Sign a control call. botocore's signer takes as long to load as everything else that asks for a status."""
    moment, names = headers["x-amz-date"], ";".join(sorted(headers))
    scope = f"{moment[:8]}/{endpoint.region}/sagemaker/aws4_request"
    lines = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
    request = f"POST\n/\n\n{lines}\n{names}\n{hashlib.sha256(payload).hexdigest()}"
    key = f"AWS4{endpoint.secret_key}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    text = f"AWS4-HMAC-SHA256\n{moment}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    return f"AWS4-HMAC-SHA256 Credential={endpoint.access_key}/{scope}, SignedHeaders={names}, Signature={signature}"


def _disk_bytes(folder: Path) -> int:
    """Return what the plain files below a folder take on the disk, which is less than their length where they have holes."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):  # gone between the listing and the look
                total += Path(parent, name).lstat().st_blocks * 512
    return total


def _read(folder: Path) -> Endpoint | None:
    try:
        return options.load((folder / "endpoint.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _locked(folder: Path) -> bool:
    """Whether a process holds the folder's lock; the lock ends with its holder, however that ended."""
    try:
        with (folder / "lock").open("rb") as handle:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _start(folder: Path, region: str, options: Options) -> None:
    reader, writer = os.pipe()
    command = [sys.executable, "-m", "sm_trn.emulator", "--state", str(folder), "--region", region]
    command += ["--options", json.dumps(asdict(options)), "--ready-fd", str(writer)]
    with (folder / "emulator.log").open("ab") as log:
        (folder / "emulator.log").chmod(0o600)
        try:
            subprocess.run(
                command,
                check=True,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(writer,),
                cwd=folder,
                env=_environment(),
                start_new_session=True,
                timeout=_START_S,
            )
        except (subprocess.SubprocessError, OSError) as error:
            os.close(reader)
            raise EmulatorError(f"{folder}: the emulator could not be started: {error}\n{_tail(folder)}") from error
        finally:
            os.close(writer)
    with os.fdopen(reader, "r", encoding="utf-8") as pipe:
        said = pipe.read()
    if said != "ready":
        raise EmulatorError(f"{folder}: the emulator did not start: {said or 'it ended'}\n{_tail(folder)}")


def _environment() -> dict[str, str]:
    """The user's environment without anything that speaks of AWS; the package on the path."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "BOTO_"))}
    package = str(Path(__file__).resolve().parents[2])
    kept["PYTHONPATH"] = ":".join(part for part in (package, kept.get("PYTHONPATH")) if part)
    return kept


def _tail(folder: Path) -> str:
    try:
        return "\n".join((folder / "emulator.log").read_text(encoding="utf-8", errors="replace").splitlines()[-15:])
    except OSError:
        return ""
