"""Who is let in. Creating a training job runs code, so every one of these is a promise to the machine's owner."""

from __future__ import annotations

import contextlib
import http.client
import io
import json
import socket
import stat
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials
from botocore.exceptions import ClientError
from emulator.bench import Bench, client_of

from sm_trn.emulator import Endpoint
from sm_trn.emulator.errors import AwsError
from sm_trn.emulator.http.request import HttpRequest
from sm_trn.emulator.iam import authenticator, keys

LATER = 16 * 60


def send(
    endpoint: Endpoint,
    headers: Mapping[str, str] | None = None,
    *,
    secret: str | None = None,
    shift: float = 0,
    signed: bool = True,
    target: str = "SageMaker.ListTrainingJobs",
    body: bytes = b"{}",
    sent_body: bytes | None = None,
    method: str = "POST",
    path: str = "/",
) -> tuple[int, dict[str, str], bytes]:
    """One raw request: signed as the owner would unless told otherwise; ``headers`` are added unsigned or replace."""
    host = endpoint.url.removeprefix("http://")
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(time.time() + shift))
    known = {"host": host, "x-amz-date": moment, "x-amz-target": target, "content-type": "application/x-amz-json-1.1"}
    key = keys.Key(endpoint.access_key, secret or endpoint.secret_key)
    final = {
        **known,
        **(
            {"authorization": authorization(key, known, body, method=method, path=path, region=endpoint.region)}
            if signed
            else {}
        ),
    }
    final.update({name.lower(): value for name, value in (headers or {}).items()})
    connection = http.client.HTTPConnection(host, timeout=10)
    try:
        connection.putrequest(method, path, skip_host=True)
        content = body if sent_body is None else sent_body
        for name, value in {"content-length": str(len(content)), **final}.items():
            connection.putheader(name, value)
        connection.endheaders(content)
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()


def authorization(
    key: keys.Key,
    headers: Mapping[str, str],
    body: bytes,
    *,
    method: str = "POST",
    path: str = "/",
    region: str = "us-west-2",
) -> str:
    """What botocore's signer makes of a request, as of the time that it says."""
    signer = SigV4Auth(Credentials(key.access, key.secret), "sagemaker", region)
    request = AWSRequest(method, f"http://{headers['host']}{path}", dict(headers), body)
    request.context["timestamp"] = headers["x-amz-date"]
    scope, names = signer.scope(request), signer.signed_headers(signer.headers_to_sign(request))
    signature = signer.signature(signer.string_to_sign(request, signer.canonical_request(request)), request)
    return f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders={names}, Signature={signature}"


def refused(answer: tuple[int, dict[str, str], bytes]) -> bool:
    status, headers, _ = answer
    assert not [name for name in headers if name.startswith("access-control-")]
    return status == 403


def test_the_owner_is_let_in(emulator: Endpoint) -> None:
    status, _, body = send(emulator)
    assert (200, "TrainingJobSummaries") == (status, next(iter(json.loads(body))))


def test_an_unsigned_request_is_refused(emulator: Endpoint) -> None:
    assert refused(send(emulator, signed=False))


def test_a_wrong_secret_is_refused(emulator: Endpoint) -> None:
    assert refused(send(emulator, secret="guess"))


def test_a_wrong_access_key_is_refused(emulator: Endpoint) -> None:
    scope = "AKIAIOSFODNN7EXAMPLE/20250101/us-west-2/sagemaker/aws4_request"
    header = f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature={'0' * 64}"
    assert refused(send(emulator, {"authorization": header}))


@pytest.mark.parametrize("shift", [-LATER, LATER])
def test_a_request_of_another_time_is_refused(emulator: Endpoint, shift: float) -> None:
    assert refused(send(emulator, shift=shift))


def test_a_body_that_was_not_signed_is_refused(emulator: Endpoint) -> None:
    assert refused(send(emulator, sent_body=b'{"a":1}'))


def test_an_operation_that_was_not_signed_is_refused(emulator: Endpoint) -> None:
    assert refused(send(emulator, {"x-amz-target": "SageMaker.CreateTrainingJob"}))


def test_a_header_of_amazons_that_was_not_signed_is_refused(emulator: Endpoint) -> None:
    assert refused(send(emulator, {"x-amz-extra": "1"}))


@pytest.mark.parametrize("origin", ["https://example.com", "null", "http://127.0.0.1:1", ""])
def test_a_web_page_is_refused_even_with_the_right_signature(emulator: Endpoint, origin: str) -> None:
    assert refused(send(emulator, {"origin": origin}))


def test_a_preflight_is_refused(emulator: Endpoint) -> None:
    assert refused(send(emulator, method="OPTIONS"))


@pytest.mark.parametrize("name", ["../../etc", "nowhere", "US-WEST-2", "us-west-2%2f..", "."])
def test_a_name_that_no_region_has_is_refused(emulator: Endpoint, name: str) -> None:
    before = {path.name for path in emulator.state.iterdir()}
    assert refused(send(replace(emulator, region=name)))
    assert before == {path.name for path in emulator.state.iterdir()}


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "10.0.0.1", "bucket.localhost"])
def test_another_host_name_is_refused(emulator: Endpoint, host: str) -> None:
    assert refused(send(emulator, {"host": host}))


@pytest.mark.parametrize("path", ["/moto-api/reset", "/moto-api/", "/moto-api/data.json", "/%6doto-api/reset"])
@pytest.mark.parametrize("signed", [True, False])
def test_motos_own_controls_are_closed(emulator: Endpoint, path: str, signed: bool) -> None:
    assert refused(send(emulator, path=path, signed=signed))


def test_no_answer_invites_other_origins(emulator: Endpoint) -> None:
    _, headers, _ = send(emulator)
    assert not [name for name in headers if name.startswith("access-control-")]


def test_a_refused_request_starts_nothing(bench: Bench) -> None:
    request = bench.request("print('must never run')")
    target, body = "SageMaker.CreateTrainingJob", json.dumps(request).encode()
    for answer in (
        send(bench.endpoint, signed=False, target=target, body=body),
        send(bench.endpoint, secret="guess", target=target, body=body),
        send(bench.endpoint, {"origin": "https://example.com"}, target=target, body=body),
        send(bench.endpoint, {"host": "evil.example"}, target=target, body=body),
        send(bench.endpoint, shift=LATER, target=target, body=body),
    ):
        assert refused(answer)
    with pytest.raises(ClientError, match="Requested resource not found"):
        bench.describe(request["TrainingJobName"])
    assert [] == bench.streams(request["TrainingJobName"])


def test_only_the_loopback_address_listens(emulator: Endpoint) -> None:
    port = int(emulator.url.rpartition(":")[2])
    listening = [
        row.split()[1]
        for table in ("tcp", "tcp6")
        for row in Path(f"/proc/net/{table}").read_text(encoding="ascii").splitlines()[1:]
        if row.split()[3] == "0A" and int(row.split()[1].rpartition(":")[2], 16) == port
    ]
    assert [f"0100007F:{port:04X}"] == listening


def test_the_key_lies_where_only_its_owner_reads_it(emulator: Endpoint) -> None:
    modes = {
        path.name: stat.S_IMODE(path.stat().st_mode) for path in (emulator.state, emulator.state / "endpoint.json")
    }
    assert {emulator.state.name: 0o700, "endpoint.json": 0o600} == modes
    assert not [path for path in emulator.state.rglob("*") if path.stat().st_mode & 0o077 and path.suffix == ".db"]


def test_the_secret_is_not_shown(emulator: Endpoint) -> None:
    assert emulator.secret_key not in repr(emulator)


@pytest.mark.parametrize(
    ("service", "call"),
    [
        ("sagemaker", "list_training_jobs"),
        ("s3", "list_buckets"),
        ("sts", "get_caller_identity"),
        ("iam", "list_roles"),
        ("logs", "describe_log_groups"),
        ("cloudwatch", "list_metrics"),
    ],
)
def test_every_protocol_gets_a_refusal_its_client_understands(emulator: Endpoint, service: str, call: str) -> None:
    with pytest.raises(ClientError) as caught:
        getattr(client_of(emulator, service, aws_secret_access_key="guess"), call)()
    answer = caught.value.response
    assert ("SignatureDoesNotMatch", 403) == (answer["Error"]["Code"], answer["ResponseMetadata"]["HTTPStatusCode"])
    getattr(client_of(emulator, service), call)()


def test_a_body_too_large_is_refused_before_it_is_read(emulator: Endpoint) -> None:
    status, _, _ = send(emulator, {"content-length": str(2**40)}, sent_body=b"")
    assert 413 == status


def presigning(endpoint: Endpoint) -> Any:
    return client_of(endpoint, "s3", config=Config(signature_version="s3v4"))


def test_a_presigned_url_opens_its_object_only(bench: Bench) -> None:
    where = {"Bucket": bench.endpoint.bucket, "Key": "presigned.txt"}
    bench.s3.put_object(**where, Body=b"shown")
    url = presigning(bench.endpoint).generate_presigned_url("get_object", where, 60)
    path = url.removeprefix(bench.endpoint.url)
    assert (200, b"shown") == plain_get(bench.endpoint, path)
    assert 403 == plain_get(bench.endpoint, path.replace("presigned.txt", "other.txt"))[0]
    assert 403 == plain_get(bench.endpoint, path.replace("X-Amz-Expires=60", "X-Amz-Expires=600"))[0]
    assert 403 == plain_get(bench.endpoint, f"{path}&tagging")[0]
    assert 403 == plain_get(bench.endpoint, path, "DELETE")[0]


def test_a_presigned_url_takes_an_object_with_what_was_signed_of_it(bench: Bench) -> None:
    where = {"Bucket": bench.endpoint.bucket, "Key": "sent.txt"}
    url = presigning(bench.endpoint).generate_presigned_url(
        "put_object", {**where, "ContentType": "text/x-sent", "Metadata": {"a": "b"}}, 60
    )
    path = url.removeprefix(bench.endpoint.url)
    theirs = {"content-type": "text/x-sent", "x-amz-meta-a": "b"}
    assert 200 == plain_get(bench.endpoint, path, "PUT", b"sent", theirs)[0]
    found = bench.s3.get_object(**where)
    assert (b"sent", "text/x-sent", {"a": "b"}) == (found["Body"].read(), found["ContentType"], found["Metadata"])
    assert 403 == plain_get(bench.endpoint, path, "PUT", b"sent", {**theirs, "content-type": "text/other"})[0]
    copied = {**theirs, "x-amz-copy-source": f"{bench.endpoint.bucket}/presigned.txt"}
    assert 403 == plain_get(bench.endpoint, path, "PUT", b"", copied)[0]


def plain_get(
    endpoint: Endpoint, path: str, method: str = "GET", body: bytes = b"", headers: Mapping[str, str] | None = None
) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(endpoint.url.removeprefix("http://"), timeout=10)
    try:
        connection.request(method, path, body, dict(headers or {}))
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def test_a_presigned_url_ends_with_its_time(bench: Bench, tmp_path: Path) -> None:
    """The same URL at other times: an entrance with a clock of its own."""
    shift = [0.0]
    endpoint = bench.endpoint
    port = int(endpoint.url.rpartition(":")[2])
    owner = keys.Key(endpoint.access_key, endpoint.secret_key)
    entrance = authenticator.Authenticator(keys.Principals(owner), port, tmp_path, clock=lambda: time.time() + shift[0])
    where = {"Bucket": endpoint.bucket, "Key": "brief.txt"}
    path = presigning(endpoint).generate_presigned_url("get_object", where, 600).removeprefix(endpoint.url)
    for shift[0] in (0.0, 500.0):
        assert entrance.authenticate(asked_by_url(endpoint, path)).owner
    shift[0] = 700.0
    with pytest.raises(AwsError, match="AccessDenied: Request has expired"):
        entrance.authenticate(asked_by_url(endpoint, path))
    bench.s3.put_object(**where, Body=b"brief")
    assert (200, b"brief") == plain_get(endpoint, path)
    gone = presigning(endpoint).generate_presigned_url("get_object", where, -5).removeprefix(endpoint.url)
    status, said = plain_get(endpoint, gone)
    assert (403, True) == (status, b"Request has expired" in said)


def asked_by_url(endpoint: Endpoint, path: str) -> HttpRequest:
    return arrived("GET", path, b"", host=endpoint.url.removeprefix("http://"))


def arrived(method: str, path: str, body: bytes, **headers: str) -> HttpRequest:
    raw_path, _, query = path.partition("?")
    return HttpRequest(
        method=method,
        path=raw_path,
        raw_path=raw_path,
        query=query,
        headers=tuple(headers.items()),
        content=io.BytesIO(body),
    )


def test_a_presigned_request_is_taken_for_objects_only(bench: Bench) -> None:
    url = bench.sagemaker.generate_presigned_url("list_training_jobs", {}, 60)
    assert 403 == plain_get(bench.endpoint, url.removeprefix(bench.endpoint.url))[0]


def test_a_recorded_request_is_of_no_use_after_a_quarter_of_an_hour(tmp_path: Path) -> None:
    now = [1_700_000_000.0]
    key = keys.new_key()
    entrance = authenticator.Authenticator(keys.Principals(key), 5000, tmp_path, clock=lambda: now[0])
    recorded = recorded_request(key, now[0])
    assert entrance.authenticate(recorded()).owner
    now[0] += 14 * 60
    assert entrance.authenticate(recorded()).owner
    now[0] += 2 * 60
    with pytest.raises(AwsError, match="RequestExpired"):
        entrance.authenticate(recorded())


def recorded_request(key: keys.Key, at: float) -> Callable[[], HttpRequest]:
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(at))
    headers = {"host": "127.0.0.1:5000", "x-amz-date": moment, "x-amz-target": "SageMaker.ListTrainingJobs"}
    made = authorization(key, headers, b"{}")
    return lambda: arrived("POST", "/", b"{}", **headers, **{"content-length": "2", "authorization": made})


def connected(endpoint: Endpoint, sent: bytes = b"") -> socket.socket:
    one = socket.create_connection(("127.0.0.1", int(endpoint.url.rpartition(":")[2])), timeout=10)
    one.sendall(sent)
    return one


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n", b"414"),
        (b"GET / HTTP/1.1\r\nX: " + b"a" * 70_000 + b"\r\n\r\n", b"431"),
        (b"GET / HTTP/1.1\r\n" + b"X-A: a\r\n" * 200 + b"\r\n", b"431"),
        (b"GET / HTTP/9.9\r\n\r\n", b"505"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n", b"400"),
    ],
)
def test_lines_and_headers_beyond_measure_are_refused(emulator: Endpoint, sent: bytes, status: bytes) -> None:
    with connected(emulator) as one:
        with contextlib.suppress(ConnectionError):  # it may hang up before all is sent
            one.sendall(sent)
        answer = b""
        with contextlib.suppress(ConnectionError):
            while block := one.recv(4096):
                answer += block
    assert not answer or status in answer  # nothing where it hung up with more on its way
    assert 200 == send(emulator)[0]


def test_a_body_in_pieces_is_bounded_as_well(emulator: Endpoint) -> None:
    """Chunked, so it says no length: it is read no further than the limit, and answered."""
    head = f"POST / HTTP/1.1\r\nHost: {emulator.url.removeprefix('http://')}\r\nTransfer-Encoding: chunked\r\n"
    with connected(emulator, f"{head}Content-Length: 5\r\n\r\n".encode()) as one:
        with contextlib.suppress(OSError):
            for _ in range(20):
                one.sendall(b"100000\r\n" + b"x" * 2**20 + b"\r\n")
        one.settimeout(10)
        with contextlib.suppress(ConnectionError):
            assert one.recv(100).startswith(b"HTTP/1.1 403")
    assert 200 == send(emulator)[0]


@pytest.mark.parametrize(
    "begun", [b"", b"POST / HT", b"POST / HTTP/1.1\r\nHost: a\r\nX: ", b"POST / HTTP/1.1\r\nContent-Length: 99\r\n\r\n"]
)
def test_silent_and_slow_clients_keep_nobody_out(emulator: Endpoint, begun: bytes) -> None:
    strangers = []
    try:
        for _ in range(400):
            with contextlib.suppress(OSError):
                strangers.append(connected(emulator, begun))
        for _ in range(5):
            assert 200 == send(emulator)[0]
    finally:
        for one in strangers:
            one.close()


def test_a_stranger_that_takes_too_long_is_cut_off() -> None:
    from sm_trn.emulator.http.server import LoopbackServer

    server = LoopbackServer("127.0.0.1", 0, 4, patience_s=0.3)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        with (
            socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as one,
            contextlib.suppress(ConnectionError),
        ):
            assert b"" == one.recv(1)
    finally:
        server.shutdown()
        server.server_close()


def test_no_server_is_made_for_another_address() -> None:
    from sm_trn.emulator.http.server import LoopbackServer

    for host in ("0.0.0.0", "", "::", "10.0.0.1"):  # noqa: S104 - what must be refused
        with pytest.raises(ValueError, match=r"wanted '127\.0\.0\.1'"):
            LoopbackServer(host, 0, 4)
