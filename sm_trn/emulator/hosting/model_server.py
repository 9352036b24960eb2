"""A model server is one hosted model as a process: it fetches the archive, starts the container, and passes requests to its socket.

The socket lies in a folder that only the user can open; nothing listens on a port.
"""

from __future__ import annotations

import contextlib
import http.client
import shutil
import socket
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ..api.shapes import Body
from ..container import layout, transfer
from ..container.archive import UnsafeArchive, unpack
from ..container.context import Context
from ..container.host import Host
from ..iam.keys import Key, new_key
from ..objects import parse_s3_uri

SERVE: Final = layout.INSIDE / "serve.py"
LARGEST_ANSWER: Final = 6 * 2**20  # Body of InvokeEndpoint's answer, in the API's own model
_PING_S = 5.0
_LOOK_S = 0.05
_END_S = 10.0


class ServingError(Exception):
    """Why a model cannot be served; the text is a FailureReason."""


class NoAnswer(Exception):  # noqa: N818 - named for what happened
    """The container took too long, or died. ``status`` is what the service reports as the original one."""

    def __init__(self, message: str, status: int = 500) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    content_type: str
    body: bytes


class ModelServer:
    """Started with ``start``; a dead or hanging container is started again by the request after."""

    def __init__(self, container: Body, variant: str, context: Context, say: Callable[[int, str], None]) -> None:
        self.variant = variant
        self._container = container
        self._context = context
        self._say = say
        self._key: Key = new_key()
        self._root = context.root / "hosted" / uuid.uuid4().hex[:12]
        self._turn = threading.RLock()  # of starting and ending
        self._where: layout.Where | None = None
        self._host: Host | None = None
        self._socket_folder = Path()
        self._closed = False

    def start(self) -> None:
        """Returns when the container answers pings. Raises ServingError."""
        with self._turn:
            if self._host is not None and self._host.code is None:
                return
            if self._closed:
                raise ServingError("the container was ended")
            if self._where is None:
                self._where = self._placed()
                self._fetch(self._where)
            self._launch(self._where)

    def invoke(self, body: bytes, headers: Mapping[str, str], timeout: float) -> Reply:
        """Return the container's answer, whatever its status. Raises NoAnswer; the container is then started afresh."""
        try:
            self.start()
            return self._ask("POST", "/invocations", body, headers, timeout)
        except ServingError as error:
            raise NoAnswer(f"the container ended and could not be started again: {error}", 503) from error
        except TimeoutError as error:
            self._end_host()
            raise NoAnswer(
                f"Your invocation timed out while waiting for a response from container primary ({timeout:g} s). "
                "Review the latency metrics for each container in Amazon CloudWatch, resolve the issue, and try again.",
                0,
            ) from error
        except (OSError, http.client.HTTPException) as error:
            self._end_host()
            raise NoAnswer("the container died while it answered; its log says why") from error

    def close(self) -> None:
        """End the process and leave nothing behind. It may be called twice, and while it starts."""
        self._closed = True
        self._end_host()
        with self._turn:
            self._end_host()
            if self._where is not None:
                self._context.principals.remove(self._key)
                layout.remove(self._where)
                shutil.rmtree(self._socket_folder, ignore_errors=True)
                shutil.rmtree(self._root, ignore_errors=True)
                self._where = None

    def _placed(self) -> layout.Where:
        """Create the container's folders, of which that of the socket lies outside the state: its path may have 107 bytes."""
        where = layout.place(self._root, "model", namespace=self._context.namespace)
        self._socket_folder = Path(tempfile.mkdtemp(prefix="smt-"))
        (self._root / layout.NOTE).write_text(str(self._socket_folder), encoding="utf-8")
        self._context.principals.add(self._key)
        layout.write_programs(where, self._context.options.job_python, ("model",))
        return where

    def _fetch(self, where: layout.Where) -> None:
        uri, source = model_data(self._container)
        self._context.objects.ready.wait()
        if uri and source.get("CompressionType") == "None":
            try:
                names = transfer.download_folder(self._context.objects, uri, where.ml / "model")
            except transfer.TransferError as error:
                raise ServingError(f'Failed to download model data for container "primary": {error}') from error
            if not names:
                raise ServingError(f'Failed to download model data for container "primary": no objects under "{uri}"')
        elif uri:
            self._unpack(uri, where.ml / "model")
        code = str((self._container.get("Environment") or {}).get("SAGEMAKER_SUBMIT_DIRECTORY") or "")
        if code.startswith("s3://"):
            self._unpack(code, where.ml / "code")

    def _unpack(self, uri: str, folder: Path) -> None:
        bucket, key = parse_s3_uri(uri)
        try:
            with self._context.objects.open(bucket, key) as packed:
                unpack(packed, folder)
        except (KeyError, OSError) as error:
            raise ServingError(
                f'Failed to download model data for container "primary" from URL: "{uri}". Please ensure that there is '
                "an object located at the URL."
            ) from error
        except UnsafeArchive as error:
            raise ServingError(
                f'Failed to extract model data archive for container "primary" from URL: "{uri}": {error}. Please '
                'ensure that the object located at the URL is a valid tar.gz archive."'
            ) from error

    def _launch(self, where: layout.Where) -> None:
        context = self._context
        file = self._socket_folder / "s"
        file.unlink(missing_ok=True)
        image = str(self._container.get("Image") or "")
        python = context.options.job_python
        note = f"sm_trn emulator: EMULATED container on this machine's CPU; {python} stands in for image {image!r}"
        self._say(int(time.time() * 1000), note)
        env = layout.base_environment(where, context, self._key, self._container.get("Environment") or {})
        env |= {
            "SM_TRN_IMAGE": image,
            "SM_TRN_MODEL_DIR": f"{where.seen_ml}/model",
            "SM_TRN_CODE": f"{where.seen_ml}/model/code:{where.seen_ml}/code",
            "TS_DEFAULT_WORKERS_PER_MODEL": "1",
        }
        spec = layout.host_spec(where, context.root, (python, str(SERVE), str(file)), env, toolkit=False)
        ended = threading.Event()
        self._host = Host(where, spec, self._say, ended.set)
        self._await_ping(ended, context.options.ping_timeout_s)

    def _await_ping(self, ended: threading.Event, patience: float) -> None:
        until = time.monotonic() + patience
        while time.monotonic() < until and not self._closed:
            if ended.wait(_LOOK_S):
                break
            with contextlib.suppress(OSError, http.client.HTTPException):
                if self._ask("GET", "/ping", b"", {}, _PING_S).status == 200:
                    return
        self._end_host()
        raise ServingError(
            f"The primary container for production variant {self.variant} did not pass the ping health check. Please check "
            "CloudWatch logs for this endpoint."
        )

    def _end_host(self) -> None:
        host = self._host
        if host is not None and host.code is None:
            host.kill()
            host.join(_END_S)

    def _ask(self, method: str, path: str, body: bytes, headers: Mapping[str, str], timeout: float) -> Reply:
        connection = _OverSocket(str(self._socket_folder / "s"), timeout)
        try:
            connection.request(method, path, body, dict(headers))
            answer = connection.getresponse()
            content = answer.read(LARGEST_ANSWER + 1)
            return Reply(answer.status, answer.headers.get("Content-Type", "application/json"), content)
        finally:
            connection.close()


class _OverSocket(http.client.HTTPConnection):
    """HTTP over a Unix socket; ``timeout`` is for the whole answer's next byte."""

    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("model", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def model_data(container: Body) -> tuple[str, Body]:
    """Return where a container's model is, empty where it has none, and how it is kept there."""
    source = container.get("ModelDataSource", {}).get("S3DataSource", {})
    return container.get("ModelDataUrl") or source.get("S3Uri", ""), source
