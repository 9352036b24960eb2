"""One loopback address that answers for every service, and keeps what it was asked.

Services are told apart by the scope of the signature: no host names are needed.
"""

from __future__ import annotations

import hmac
import json
import re
import secrets
import socket
import string
import threading
import urllib.parse
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final
from xml.sax.saxutils import escape

from ...core import loopback
from ...core.specs.json import Json
from . import answers
from .answers import Reply
from .recording import RecordedCall, RecordedPlace, without_secrets

_SCOPE: Final = re.compile(r"Credential=[^/]+/\d{8}/(?P<region>[^/]+)/(?P<service>[^/]+)/aws4_request")
_KEY: Final = re.compile(r"(?:Credential=|AWS )(?P<key>\w+)[/:]")
_UNKNOWN: Final = b"recorded"  # an object that is there, as all are, and whose content nobody knows
LARGEST: Final = 2_000_000_000  # bytes of uploads in all


class Answers:
    """Answers for every service and keeps what it was asked: ``calls`` and ``uploads`` are what came in."""

    def __init__(self, *, stop_at_submit: bool = False, hidden: Sequence[str] = ()) -> None:
        self._hidden = hidden
        self.ledger = answers.Ledger(stop_at_submit=stop_at_submit)
        self.calls: list[RecordedCall] = []
        self.uploads: dict[str, bytes] = {}
        self.held = 0
        self._parts: dict[str, dict[int, bytes]] = {}
        self._lock = threading.Lock()

    def answer(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """Keep the call and answer it."""
        scope = _SCOPE.search(headers.get("authorization", ""))
        service, region = (scope["service"], scope["region"]) if scope else ("s3", "us-west-2")
        places = _places(headers.get("x-recorded-place", ""))
        with self._lock:
            if service in {"s3", "s3express"}:
                return self._s3(method, target, headers, body, places)
            if "x-amz-target" in headers:
                return self._json(service, headers["x-amz-target"].rpartition(".")[2], body, region, places)
            if headers.get("smithy-protocol") == "rpc-v2-cbor":
                self._keep(service, target.rpartition("/")[2], {}, places)
                return Reply(200, b"\xbf\xff", "application/cbor", {"smithy-protocol": "rpc-v2-cbor"})
            if service == "sagemaker" and "/endpoints/" in target:
                self._keep("sagemaker-runtime", "InvokeEndpoint", {}, places)
                return answers.error("ModelError", "recorded, not launched: no model answers", 424)
            form = dict(urllib.parse.parse_qsl(body.decode("utf-8", "replace")))
            self._keep(service, form.get("Action", f"{method} {target.partition('?')[0]}"), {}, places)
            return (
                answers.query(service, form["Action"], form)
                if "Action" in form
                else Reply(200, b"{}", "application/json")
            )

    def _keep(self, service: str, operation: str, asked: Mapping[str, Json], places: tuple[RecordedPlace, ...]) -> None:
        request, found = without_secrets(asked, self._hidden)
        self.calls.append(
            RecordedCall(service=service, operation=operation, request=request, places=places, secrets=found)
        )

    def _json(self, service: str, operation: str, body: bytes, region: str, places: tuple[RecordedPlace, ...]) -> Reply:
        try:
            asked = json.loads(body or b"{}")
        except (ValueError, RecursionError):
            asked = {}
        asked = asked if isinstance(asked, dict) else {}
        self._keep(service, operation, asked, places)
        return (
            answers.sagemaker(self.ledger, operation, asked, region)
            if service == "sagemaker"
            else answers.plain(service, operation)
        )

    def _s3(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes, places: tuple[RecordedPlace, ...]
    ) -> Reply:
        path, _, query = target.partition("?")
        asked = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        key = urllib.parse.unquote(path).lstrip("/")
        bucket, _, name = key.partition("/")
        self._keep("s3", _s3_operation(method, name, asked), {"Bucket": bucket, "Key": name} if bucket else {}, places)
        if method == "PUT" and name:
            return self._put(f"s3://{key}", asked, _unchunked(headers, body))
        if method == "POST" and name:
            return self._multipart(f"s3://{key}", key, asked)
        if method in {"GET", "HEAD"} and name:
            made_up = answers.empty_archive() if name.endswith(("model.tar.gz", "sourcedir.tar.gz")) else None
            asked_for = made_up if method == "GET" else made_up or _UNKNOWN
            return _object(self.uploads.get(f"s3://{key}", asked_for))
        if method == "GET" and bucket:
            return self._listed(bucket, asked)
        if method == "GET":
            return Reply(200, b"<ListAllMyBucketsResult><Buckets/></ListAllMyBucketsResult>", "application/xml")
        return Reply(200 if method != "DELETE" else 204, b"", "application/xml", {"x-amz-bucket-region": "us-west-2"})

    def _put(self, uri: str, asked: Mapping[str, str], body: bytes) -> Reply:
        self.held += len(body)
        if self.held > LARGEST:
            return Reply(503, b"<Error><Code>SlowDown</Code></Error>", "application/xml")
        if "partNumber" in asked:
            self._parts.setdefault(asked.get("uploadId", ""), {})[int(asked["partNumber"])] = body
        else:
            self.uploads[uri] = body
        return Reply(200, b"", "application/xml", {"ETag": '"recorded"'})

    def _multipart(self, uri: str, key: str, asked: Mapping[str, str]) -> Reply:
        bucket, _, name = key.partition("/")
        if "uploads" in asked:
            place = f"<Bucket>{escape(bucket)}</Bucket><Key>{escape(name)}</Key><UploadId>{len(self.calls)}</UploadId>"
            body = f"<InitiateMultipartUploadResult>{place}</InitiateMultipartUploadResult>"
            return Reply(200, body.encode(), "application/xml")
        parts = self._parts.pop(asked.get("uploadId", ""), {})
        self.uploads[uri] = b"".join(parts[number] for number in sorted(parts))
        return Reply(
            200,
            b'<CompleteMultipartUploadResult><ETag>"recorded"</ETag></CompleteMultipartUploadResult>',
            "application/xml",
        )

    def _listed(self, bucket: str, asked: Mapping[str, str]) -> Reply:
        if "location" in asked:
            return Reply(200, b"<LocationConstraint>us-west-2</LocationConstraint>", "application/xml")
        prefix = f"s3://{bucket}/"
        names = [uri.removeprefix(prefix) for uri in self.uploads if uri.startswith(prefix + asked.get("prefix", ""))]
        items = "".join(_item(name, len(self.uploads[prefix + name])) for name in names)
        head = f"<Name>{escape(bucket)}</Name><KeyCount>{len(names)}</KeyCount><IsTruncated>false</IsTruncated>"
        body = f"<ListBucketResult>{head}{items}</ListBucketResult>"
        return Reply(200, body.encode(), "application/xml")


class Endpoint(Answers):
    """``Answers`` behind a loopback address, until it is closed; use it as a context.

    It answers whoever brings ``key``, as an access key or in the header X-Recorded-Key: other programs of this machine, and pages
    in a browser, do not know it.
    """

    def __init__(self, *, stop_at_submit: bool = False, hidden: Sequence[str] = ()) -> None:
        super().__init__(stop_at_submit=stop_at_submit, hidden=hidden)
        self.key = "AKIA" + "".join(secrets.choice(string.ascii_uppercase) for _ in range(16))
        self._servers: list[tuple[ThreadingHTTPServer, threading.Thread]] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def answer_on(self, listener: socket.socket) -> None:
        """Answer on this socket too, which listens to the same port of a network that only the launcher sees."""
        server = ThreadingHTTPServer(("127.0.0.1", self.port), _handler(self), bind_and_activate=False)
        server.socket.close()
        server.socket = listener
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._servers.append((server, thread))
        thread.start()

    def refusal(self, method: str, target: str, headers: Mapping[str, str]) -> str:
        """Why a request is not answered; empty if it is."""
        query = dict(urllib.parse.parse_qsl(target.partition("?")[2]))
        named = _KEY.match(headers.get("authorization", "").removeprefix("AWS4-HMAC-SHA256 "))
        presigned = query.get("AWSAccessKeyId") or query.get("X-Amz-Credential", "").partition("/")[0]
        key = headers.get("x-recorded-key") or (named["key"] if named else presigned)
        if why := loopback.refusal(method, headers, self.port):
            return why
        return "" if hmac.compare_digest(key.encode(), self.key.encode()) else "the access key is not that of this run"

    def __enter__(self) -> Endpoint:
        self.answer_on(self._listener)
        return self

    def __exit__(self, *_: object) -> None:
        for server, thread in self._servers:
            server.shutdown()
            server.server_close()
            thread.join()


def _item(name: str, size: int) -> str:
    when = "<LastModified>2022-01-01T00:00:00Z</LastModified><ETag>&quot;r&quot;</ETag>"
    return f"<Contents><Key>{escape(name)}</Key><Size>{size}</Size>{when}</Contents>"


def _s3_operation(method: str, name: str, asked: Mapping[str, str]) -> str:
    if method == "POST" and "delete" in asked:
        return "DeleteObjects"
    if not name:
        return {"HEAD": "HeadBucket", "GET": "ListObjects", "PUT": "CreateBucket", "DELETE": "DeleteBucket"}.get(
            method, method
        )
    return {
        "HEAD": "HeadObject",
        "GET": "GetObject",
        "PUT": "PutObject",
        "DELETE": "DeleteObject",
        "POST": "MultipartUpload",
    }.get(method, method)


def _object(body: bytes | None) -> Reply:
    if body is None:
        return Reply(
            404, b"<Error><Code>NoSuchKey</Code><Message>recorded, not launched</Message></Error>", "application/xml"
        )
    return Reply(
        200, body, "binary/octet-stream", {"ETag": '"recorded"', "Last-Modified": "Sat, 01 Jan 2022 00:00:00 GMT"}
    )


def _unchunked(headers: Mapping[str, str], body: bytes) -> bytes:
    """The content of a body in aws-chunked encoding."""
    if "aws-chunked" not in headers.get("content-encoding", "") and "STREAMING" not in headers.get(
        "x-amz-content-sha256", ""
    ):
        return body
    made, at = [], 0
    while at < len(body):
        end = body.find(b"\r\n", at)
        if end < 0:
            break
        size = int(body[at:end].partition(b";")[0] or b"0", 16)
        if size == 0:
            break
        made.append(body[end + 2 : end + 2 + size])
        at = end + 2 + size + 2
    return b"".join(made)


def _places(header: str) -> tuple[RecordedPlace, ...]:
    try:
        listed = json.loads(header or "[]")
        return tuple(RecordedPlace(file, int(line)) for file, _, line in (item.partition("\t") for item in listed))
    except (ValueError, AttributeError, TypeError):
        return ()


def _handler(endpoint: Endpoint) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 60

        def _handle(self) -> None:
            if self.headers.get("Expect") == "100-continue":
                pass  # the base class has answered it
            headers = {key.lower(): value for key, value in self.headers.items()}
            if why := endpoint.refusal(self.command, self.path, headers):
                self.close_connection = True  # its body is not read
                reply = answers.error("AccessDeniedException", why, 403)
            else:
                reply = endpoint.answer(self.command, self.path, headers, self._body())
            self.send_response(reply.status)
            self.send_header("Content-Type", reply.kind)
            self.send_header("Content-Length", str(len(reply.body)))
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(reply.body)

        def _body(self) -> bytes:
            if "chunked" in self.headers.get("Transfer-Encoding", ""):
                made = []
                while size := int(self.rfile.readline().partition(b";")[0] or b"0", 16):
                    made.append(self.rfile.read(size))
                    self.rfile.readline()
                self.rfile.readline()
                return b"".join(made)
            return self.rfile.read(min(int(self.headers.get("Content-Length") or 0), LARGEST))

        do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = do_OPTIONS = _handle  # noqa: N815 - names of the base class

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's word
            """Nothing: the recording is the log."""

    return Handler
