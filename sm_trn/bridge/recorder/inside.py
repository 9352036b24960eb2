"""A part of a running Python session against the recorder: what botocore sends is answered here, and goes nowhere."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import re
import sys
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any, Final

from .endpoint import Answers
from .recording import Recorded, RecordedCall

_BUCKET: Final = re.compile(r"(?P<bucket>.+)\.s3[.-][a-z0-9.-]*amazonaws\.com(\.cn)?")
_METADATA: Final = (
    "169.254.169.254",
    "fd00:ec2::254",
    "169.254.170.2",
    "169.254.170.23",
    "fd00:ec2::23",
)  # a machine's own credentials
_STANDINS: Final = {"AWS_ACCESS_KEY_ID": "AKIARECORDEDNOTLAUNCH", "AWS_SECRET_ACCESS_KEY": "recorded"}
# What the SDKs report of their own use goes by ``requests``, not through botocore.
_REPORTS: Final = ("sagemaker.telemetry.telemetry_logging", "sagemaker.core.telemetry.telemetry_logging")
_ONE: Final = threading.Lock()


class Recording:
    """What has been asked of AWS since the recording began. It grows until the recording ends."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._began = time.monotonic()

    @property
    def recorded(self) -> Recorded:
        """Everything so far, as ``record`` returns it."""
        return Recorded(
            calls=tuple(self._answers.calls),
            uploads=dict(self._answers.uploads),
            seconds=time.monotonic() - self._began,
        )

    @property
    def jobs(self) -> tuple[RecordedCall, ...]:
        """The calls of CreateTrainingJob."""
        return self.recorded.jobs


@contextlib.contextmanager
def recording(*, region: str = "us-west-2", stop_at_submit: bool = False) -> Iterator[Recording]:
    """Keep what this Python process asks of AWS through boto3 – the SDKs too – instead of sending it, until the block ends.

    Clients that exist already are held as well. ``region`` and made-up keys serve where there are none. With ``stop_at_submit``
    the first job is refused. What does not go through botocore is not held: for code of others take ``sm-trn import --run``, which
    runs in a process of its own. Raises RuntimeError inside another recording.

    >>> import boto3
    >>> with st.recording() as found:
    ...     name = boto3.client("sts", region_name="us-west-2").get_caller_identity()["Account"]
    >>> [call.operation for call in found.recorded.calls]
    ['GetCallerIdentity']
    """
    if not _ONE.acquire(blocking=False):
        raise RuntimeError("recording: this process is recorded already, wanted one recording at a time")
    try:
        answers = Answers(stop_at_submit=stop_at_submit)
        with _sent_to(answers), _environment(region), _quiet():
            yield Recording(answers)
    finally:
        _ONE.release()


@contextlib.contextmanager
def _sent_to(answers: Answers) -> Iterator[None]:
    """Answer every request where botocore would hand it to urllib3."""
    httpsession = importlib.import_module("botocore.httpsession")
    awsrequest = importlib.import_module("botocore.awsrequest")
    exceptions = importlib.import_module("botocore.exceptions")
    original = httpsession.URLLib3Session.send

    def send(self: Any, request: Any) -> Any:
        del self
        parts = urllib.parse.urlsplit(request.url)
        if parts.hostname in _METADATA:
            raise exceptions.EndpointConnectionError(endpoint_url=request.url)
        bucket = _BUCKET.fullmatch(parts.hostname or "")
        path = f"/{bucket['bucket']}{parts.path}" if bucket else parts.path
        headers = {str(key).lower(): _text(value) for key, value in request.headers.items()}
        reply = answers.answer(
            request.method, f"{path}?{parts.query}" if parts.query else path, headers, _body(request.body)
        )
        answered = {"Content-Type": reply.kind, "Content-Length": str(len(reply.body)), **reply.headers}
        return awsrequest.AWSResponse(request.url, reply.status, _Headers(answered), _Raw(reply.body))

    httpsession.URLLib3Session.send = send
    try:
        yield
    finally:
        httpsession.URLLib3Session.send = original


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _body(body: Any) -> bytes:
    if body is None:
        return b""
    if hasattr(body, "read"):
        body = body.read()
    return body.encode() if isinstance(body, str) else bytes(body)


class _Headers(dict[str, str]):
    """Names without regard to case, as urllib3's."""

    def get(self, name: str, default: Any = None) -> Any:
        return next((value for key, value in self.items() if key.lower() == name.lower()), default)


class _Raw(io.BytesIO):
    def stream(self, *_: object, **__: object) -> Iterator[bytes]:
        yield self.read()


@contextlib.contextmanager
def _environment(region: str) -> Iterator[None]:
    """Keys and a region where the environment and the files of AWS name none."""
    session = importlib.import_module("botocore.session").Session()
    given = {} if session.get_credentials() is not None else dict(_STANDINS)
    if session.get_config_variable("region") is None:
        given["AWS_DEFAULT_REGION"] = region
    os.environ.update(given)
    try:
        yield
    finally:
        for name in given:
            os.environ.pop(name, None)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """The SDKs' reports of their use are not sent, whether an SDK is imported already or in the recording."""
    with contextlib.ExitStack() as stack:

        def silence(module: ModuleType) -> None:
            for name in ("_send_telemetry_request", "_requests_helper"):
                if hasattr(module, name):
                    stack.callback(setattr, module, name, getattr(module, name))
                    setattr(module, name, lambda *_, **__: None)

        for name in _REPORTS:
            if name in sys.modules:
                silence(sys.modules[name])
        finder = _Finder(silence)
        sys.meta_path.insert(0, finder)
        stack.callback(sys.meta_path.remove, finder)
        yield


class _Finder(MetaPathFinder):
    """Finds the modules that report as Python does, and silences each when it has run."""

    def __init__(self, silence: Callable[[ModuleType], None]) -> None:
        self._silence = silence

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """The module's own place, with the silence after it."""
        del target
        spec = PathFinder.find_spec(name, path) if name in _REPORTS else None
        if spec is None or spec.loader is None:
            return None
        run = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            run(module)
            self._silence(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]  # of this one loader
        return spec
