"""Between boto3 and the simulated services: botocore's ``before-send`` event answers what would have gone over the network.

Signing, parsing and retries are botocore's own. Faults come from one seeded generator: throttles, 5xx, resets – half of the
latter two after the call took effect – and keys that expired.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import random
import re
import signal
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.utils import format_datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import boto3
import botocore.endpoint
import pytest
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.exceptions import ConnectionClosedError
from fakes.simulated_sagemaker import ACCOUNT, NOT_FOUND, REGION, Refusal, Service, VirtualClock

import sm_trn as st
from sm_trn.core.aws import Boto3Backend, CloudWatchLogs, RenewableSession, S3Storage
from sm_trn.wiring import Session

_S3_WORDS = {
    "ThrottlingException": ("SlowDown", 503),
    "ExpiredTokenException": ("ExpiredToken", 400),
    "InternalFailure": ("InternalError", 500),
}
_KEY = re.compile(r"Credential=([^/]+)/")


@dataclass(kw_only=True)
class Wire:
    """One seeded network. ``calls`` counts what was sent, by operation; ``faults`` what went wrong, by kind."""

    service: Service
    clock: VirtualClock
    seed: int = 0
    throttled: float = 0.0
    broken: float = 0.0
    reset: float = 0.0
    latency_s: float = 0.08
    skew_s: float = 0.0
    expired: set[str] = field(default_factory=set)
    down: bool = False
    lose_answers_of: set[str] = field(default_factory=set)
    elsewhere: dict[str, str] = field(default_factory=dict)  # keys of other accounts, which have no jobs
    meddle: Callable[[str, bool], bytes | None] | None = (
        None  # before a call and after it took effect; bytes are the answer
    )
    calls: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)

    def interrupt(self, at: int, happens: Callable[[], None], *, after: bool) -> list[int]:
        """Something ``happens`` at the call number ``at``, before or ``after`` it took effect; how many calls began and took effect."""
        seen = [0, 0]

        def meddle(_operation: str, done: bool) -> None:
            seen[done] += 1
            if seen[done] == at and done is after:
                happens()

        self.meddle = meddle
        return seen

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._lock = threading.RLock()

    def join(self, session: boto3.Session) -> None:
        session.events.register("before-send", self.send)

    def send(self, request: AWSPreparedRequest, event_name: str, **_event: Any) -> AWSResponse:
        _, service, operation = event_name.split(".")
        with self._lock:
            self.clock.sleep(self.latency_s)
            self.calls[operation] += 1
            if self.down:
                self.faults["down"] += 1
                raise ConnectionClosedError(endpoint_url=request.url)
            if _key(request) in self.expired:
                self.faults["expired"] += 1
                text = "The security token included in the request is expired"
                return self._refuse(request, Refusal("ExpiredTokenException", text), service)
            said = self.meddle(operation, False) if self.meddle is not None else None
            if said is not None:
                return AWSResponse(request.url, 200, {}, _Raw(said))
            fate = self._random.random()
            late = self._random.random() < 0.5
            if fate < self.throttled:
                self.faults["throttled"] += 1
                return self._refuse(request, Refusal("ThrottlingException", "Rate exceeded"), service)
            lost = operation in self.lose_answers_of
            fails = lost or fate < self.throttled + self.broken + self.reset
            answer = None if fails and not late and not lost else self._answer(request, service, operation)
            if not fails:
                assert answer is not None
                said = self.meddle(operation, True) if self.meddle is not None else None
                return answer if said is None else AWSResponse(request.url, 200, {}, _Raw(said))
            if lost or fate >= self.throttled + self.broken:
                self.faults["reset"] += 1
                raise ConnectionClosedError(endpoint_url=request.url)
            self.faults["broken"] += 1
            return self._refuse(request, Refusal("InternalFailure", "Internal failure", 500), service)

    def _answer(self, request: AWSPreparedRequest, service: str, operation: str) -> AWSResponse:
        if service == "s3":
            return self._s3(request, operation)
        account = self.elsewhere.get(_key(request), ACCOUNT)
        if service == "sts":
            said = f"<Account>{account}</Account>"
            text = f"<GetCallerIdentityResponse><GetCallerIdentityResult>{said}</GetCallerIdentityResult></GetCallerIdentityResponse>"
            return AWSResponse(request.url, 200, {}, _Raw(text.encode()))
        if account != ACCOUNT:
            return self._of_nobody(request, operation)
        try:
            return self._response(request, 200, self.service.answer(operation, json.loads(_text(request.body))))
        except Refusal as refusal:
            return self._refuse(request, refusal, service)

    def _of_nobody(self, request: AWSPreparedRequest, operation: str) -> AWSResponse:
        """What an account answers in which nothing ever ran."""
        if operation == "ListTrainingJobs":
            return self._response(request, 200, {"TrainingJobSummaries": []})
        code = "ResourceNotFoundException" if "Log" in operation else "ValidationException"
        return self._response(request, 400, {"__type": code, "message": NOT_FOUND})

    def _s3(self, request: AWSPreparedRequest, operation: str) -> AWSResponse:
        key = urlsplit(request.url).path.removeprefix("/")
        if operation == "ListObjectsV2":
            return self._objects(request)
        if operation == "PutObject":
            body = request.body
            self.service.objects[key] = body if isinstance(body, bytes) else body.read()
        there = operation in {"PutObject", "HeadBucket", "CreateBucket"} or key in self.service.objects
        if operation in {"GetObject", "HeadObject"} and there:
            body = self.service.objects.get(key, b"")
            headers = {"Content-Length": str(len(body)), "ETag": f'"{zlib.crc32(body):08x}"'}
            return AWSResponse(request.url, 200, headers, _Raw(body if operation == "GetObject" else b""))
        return self._response(request, 200 if there else 404, None)

    def _objects(self, request: AWSPreparedRequest) -> AWSResponse:
        prefix = parse_qs(urlsplit(request.url).query)["prefix"][0]
        written = datetime.fromtimestamp(self.clock.now() - 60, tz=timezone.utc).isoformat()
        rows = "".join(
            f"<Contents><Key>{key}</Key><LastModified>{written}</LastModified><Size>{len(body)}</Size></Contents>"
            for key, body in sorted(self.service.objects.items())
            if key.startswith(prefix)
        )
        return AWSResponse(request.url, 200, {}, _Raw(f"<ListBucketResult>{rows}</ListBucketResult>".encode()))

    def _refuse(self, request: AWSPreparedRequest, refusal: Refusal, service: str) -> AWSResponse:
        if service == "s3":  # it has words of its own for the same, and speaks XML
            code, status = _S3_WORDS.get(refusal.code, (refusal.code, refusal.status))
            body = (
                ""
                if request.method == "HEAD"
                else f"<Error><Code>{code}</Code><Message>{refusal.message}</Message></Error>"
            )
            return AWSResponse(request.url, status, {}, _Raw(body.encode()))
        return self._response(request, refusal.status, {"__type": refusal.code, "message": refusal.message})

    def _response(self, request: AWSPreparedRequest, status: int, body: Mapping[str, Any] | None) -> AWSResponse:
        date = datetime.fromtimestamp(self.clock.now() + self.skew_s, tz=timezone.utc)
        headers = {"Date": format_datetime(date, usegmt=True), "Content-Type": "application/x-amz-json-1.1"}
        return AWSResponse(request.url, status, headers, _Raw(b"" if body is None else json.dumps(body).encode()))


class _Raw(io.BytesIO):
    def stream(self, **_kwargs: Any) -> Iterator[bytes]:
        yield self.read()


def _key(request: AWSPreparedRequest) -> str:
    found = _KEY.search(_text(request.headers.get("Authorization", "")))
    return found[1] if found else ""


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


@dataclass(kw_only=True)
class World:
    """A session whose cloud is simulated: clock, service, wire, and the file that holds its login."""

    clock: VirtualClock
    service: Service
    wire: Wire
    session: Session
    login: Path

    def log_in(self, key: str) -> None:
        """What ``aws sso login`` does for a profile with keys."""
        write_login(self.login, key)


def write_login(path: Path, key: str) -> None:
    path.write_text(f"[default]\naws_access_key_id = {key}\naws_secret_access_key = secret\n")


def world(patch: pytest.MonkeyPatch, folder: Path, **faults: Any) -> World:
    """Only the environment and botocore's own sleep between retries are patched."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_ENDPOINT_URL"):
        patch.delenv(name, raising=False)
    login = folder / "credentials"
    write_login(login, "FIRST")
    patch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(login))
    patch.setenv("AWS_CONFIG_FILE", str(folder / "config"))
    patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    clock = VirtualClock()
    patch.setattr(botocore.endpoint, "time", SimpleNamespace(sleep=clock.sleep))
    service = Service(clock)
    wire = Wire(service=service, clock=clock, **faults)
    boto = RenewableSession(region=REGION)
    wire.join(boto)
    session = Session(
        backend=Boto3Backend(boto, clock),
        logs=CloudWatchLogs(boto),
        storage=S3Storage(boto, "a-bucket"),
        hosting=_hosting(boto),
        **_batch(boto, clock),
        role=f"arn:aws:iam::{ACCOUNT}:role/Training",
        bucket="a-bucket",
        region=REGION,
        emulated=False,
        announcement="simulated",
        boto_session=boto,
        clock=clock,
    )
    return World(clock=clock, service=service, wire=wire, session=session, login=login)


def _hosting(boto: boto3.Session) -> Any:
    """The port to endpoints; None in a copy of the core alone, which has none."""
    if importlib.util.find_spec("sm_trn.hosting") is None:
        return None
    from sm_trn.hosting.aws import Boto3Hosting

    return Boto3Hosting(boto, "a-bucket")


def _batch(boto: boto3.Session, clock: VirtualClock) -> dict[str, Any]:
    """The port to queues; nothing in a copy of the core alone, which has none."""
    if importlib.util.find_spec("sm_trn.capacity") is None:
        return {}
    from sm_trn.capacity.batch import Boto3Queues

    return {"batch": Boto3Queues(boto, clock)}


@contextlib.contextmanager
def everywhere(here: World, patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Answer every boto3 session that is made inside the block, as the commands of the shell make theirs."""
    import botocore.handlers

    handler = ("before-send", here.wire.send)
    for name, value in {
        "SM_TRN_BACKEND": "aws",
        "SM_TRN_ROLE": here.session.role,
        "SM_TRN_BUCKET": here.session.bucket,
        "AWS_DEFAULT_REGION": REGION,
    }.items():
        patch.setenv(name, value)
    botocore.handlers.BUILTIN_HANDLERS.insert(0, handler)
    try:
        yield
    finally:
        botocore.handlers.BUILTIN_HANDLERS.remove(handler)


def sigint() -> None:
    """Ctrl-C, as the terminal sends it: the main thread is interrupted, whoever is at work."""
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def attached(session: Session, name: str) -> st.TrainingJob:
    """A handle without asking anybody."""
    return st.TrainingJob(name=name, session=session)
