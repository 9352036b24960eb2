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
from ..sites import Place
from . import answers
from .answers import Reply
from .recording import RecordedCall, without_secrets

_SCOPE: Final = re.compile(r"Credential=[^/]+/\d{8}/(?P<region>[^/]+)/(?P<service>[^/]+)/aws4_request")
_KEY: Final = re.compile(r"(?:Credential=|AWS )(?P<key>\w+)[/:]")
_UNKNOWN: Final = b"recorded"  # an object that is there, as all are, and whose content nobody knows
LARGEST: Final = 2_000_000_000  # bytes of uploads in all


class Endpoint:
    """An address that answers for every service until it is closed: ``calls`` and ``uploads`` are what came in. Use it as a context.

    It answers whoever brings ``key``, as an access key or in the header X-Recorded-Key: other programs of this machine, and pages
    in a browser, do not know it. ``role`` is the role that it has; values that are ``hidden`` are kept in no call.
    """

    def __init__(self, *, hidden: Sequence[str] = (), role: str = answers.ROLE) -> None:
        self._hidden = hidden
        self.ledger = answers.Ledger(role=role)
        self.calls: list[RecordedCall] = []
        self.uploads: dict[str, bytes] = {}
        self._size = 0
        self._parts: dict[str, dict[int, bytes]] = {}
        self._lock = threading.Lock()
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
        """Return why a request is not answered; empty if it is."""
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

    def answer(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """Keep the call and answer it."""
        scope = _SCOPE.search(headers.get("authorization", ""))
        service, region = (scope["service"], scope["region"]) if scope else ("s3", "us-west-2")
        with self._lock:
            if service in {"s3", "s3express"}:
                return self._s3(method, target, headers, body)
            if "x-amz-target" in headers:
                return self._json(service, headers["x-amz-target"].rpartition(".")[2], body, region, headers)
            if headers.get("smithy-protocol") == "rpc-v2-cbor":
                self._keep(service, target.rpartition("/")[2], {}, headers)
                return Reply(200, b"\xbf\xff", "application/cbor", {"smithy-protocol": "rpc-v2-cbor"})
            if service == "sagemaker" and "/endpoints/" in target:
                self._keep("sagemaker-runtime", "InvokeEndpoint", {}, headers)
                return answers.error("ModelError", "recorded, not launched: no model answers", 424)
            form = dict(urllib.parse.parse_qsl(body.decode("utf-8", "replace")))
            self._keep(service, form.get("Action", f"{method} {target.partition('?')[0]}"), {}, headers)
            if "Action" in form:
                return answers.query(self.ledger, service, form["Action"], form)
            return Reply(200, b"{}", "application/json")

    def _keep(
        self, service: str, operation: str, body: Mapping[str, Json], headers: Mapping[str, str], region: str = ""
    ) -> None:
        request, removed = without_secrets(body, self._hidden)
        self.calls.append(
            RecordedCall(
                service=service,
                operation=operation,
                request=request,
                region=region,
                places=_places(headers.get("x-recorded-place", "")),
                made_at=_places(headers.get("x-recorded-made", "")),
                direct=headers.get("x-recorded-direct") == "1",
                secrets=removed,
            )
        )

    def _json(self, service: str, operation: str, body: bytes, region: str, headers: Mapping[str, str]) -> Reply:
        try:
            request = json.loads(body or b"{}")
        except (ValueError, RecursionError):
            request = {}
        request = request if isinstance(request, dict) else {}
        self._keep(service, operation, request, headers, region)
        if service == "sagemaker":
            return answers.sagemaker(self.ledger, operation, request, region)
        return answers.plain(service, operation)

    def _s3(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Reply:
        path, _, text = target.partition("?")
        query = dict(urllib.parse.parse_qsl(text, keep_blank_values=True))
        key = urllib.parse.unquote(path).lstrip("/")
        bucket, _, name = key.partition("/")
        self._keep("s3", _s3_operation(method, name, query), {"Bucket": bucket, "Key": name} if bucket else {}, headers)
        if method == "PUT" and name:
            return self._put(f"s3://{key}", query, _unchunked(headers, body))
        if method == "POST" and name:
            return self._multipart(f"s3://{key}", key, query)
        if method in {"GET", "HEAD"} and name:
            archive = answers.empty_archive() if name.endswith(("model.tar.gz", "sourcedir.tar.gz")) else None
            unknown = archive if method == "GET" else archive or _UNKNOWN
            return _object(self.uploads.get(f"s3://{key}", unknown))
        if method == "GET" and bucket:
            return self._listed(bucket, query)
        if method == "GET":
            return Reply(200, b"<ListAllMyBucketsResult><Buckets/></ListAllMyBucketsResult>", "application/xml")
        return Reply(200 if method != "DELETE" else 204, b"", "application/xml", {"x-amz-bucket-region": "us-west-2"})

    def _put(self, uri: str, query: Mapping[str, str], body: bytes) -> Reply:
        self._size += len(body)
        if self._size > LARGEST:
            return Reply(503, b"<Error><Code>SlowDown</Code></Error>", "application/xml")
        if query.get("partNumber", "").isdecimal():
            self._parts.setdefault(query.get("uploadId", ""), {})[int(query["partNumber"])] = body
        else:
            self.uploads[uri] = body
        return Reply(200, b"", "application/xml", {"ETag": '"recorded"'})

    def _multipart(self, uri: str, key: str, query: Mapping[str, str]) -> Reply:
        bucket, _, name = key.partition("/")
        if "uploads" in query:
            place = f"<Bucket>{escape(bucket)}</Bucket><Key>{escape(name)}</Key><UploadId>{len(self.calls)}</UploadId>"
            body = f"<InitiateMultipartUploadResult>{place}</InitiateMultipartUploadResult>"
            return Reply(200, body.encode(), "application/xml")
        parts = self._parts.pop(query.get("uploadId", ""), {})
        self.uploads[uri] = b"".join(parts[number] for number in sorted(parts))
        return Reply(
            200,
            b'<CompleteMultipartUploadResult><ETag>"recorded"</ETag></CompleteMultipartUploadResult>',
            "application/xml",
        )

    def _listed(self, bucket: str, query: Mapping[str, str]) -> Reply:
        if "location" in query:
            return Reply(200, b"<LocationConstraint>us-west-2</LocationConstraint>", "application/xml")
        prefix = f"s3://{bucket}/"
        names = [uri.removeprefix(prefix) for uri in self.uploads if uri.startswith(prefix + query.get("prefix", ""))]
        items = "".join(_item(name, len(self.uploads[prefix + name])) for name in names)
        head = f"<Name>{escape(bucket)}</Name><KeyCount>{len(names)}</KeyCount><IsTruncated>false</IsTruncated>"
        body = f"<ListBucketResult>{head}{items}</ListBucketResult>"
        return Reply(200, body.encode(), "application/xml")


def _item(name: str, size: int) -> str:
    when = "<LastModified>2022-01-01T00:00:00Z</LastModified><ETag>&quot;r&quot;</ETag>"
    return f"<Contents><Key>{escape(name)}</Key><Size>{size}</Size>{when}</Contents>"


def _s3_operation(method: str, name: str, query: Mapping[str, str]) -> str:
    if method == "POST" and "delete" in query:
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
    parts, at = [], 0
    while at < len(body):
        end = body.find(b"\r\n", at)
        if end < 0:
            break
        size = int(body[at:end].partition(b";")[0] or b"0", 16)
        if size == 0:
            break
        parts.append(body[end + 2 : end + 2 + size])
        at = end + 2 + size + 2
    return b"".join(parts)


def _places(header: str) -> tuple[Place, ...]:
    """Return the places in a header of the hook: file, line and cell of each."""
    try:
        return tuple(Place(str(file), int(line), int(cell)) for file, line, cell in json.loads(header or "[]"))
    except (ValueError, TypeError):
        return ()


def _handler(endpoint: Endpoint) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 60

        def _handle(self) -> None:
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
                blocks = []
                while size := int(self.rfile.readline().partition(b";")[0] or b"0", 16):
                    blocks.append(self.rfile.read(size))
                    self.rfile.readline()
                self.rfile.readline()
                return b"".join(blocks)
            return self.rfile.read(min(int(self.headers.get("Content-Length") or 0), LARGEST))

        do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = do_OPTIONS = _handle  # noqa: N815 - names of the base class

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's word
            """Nothing: the recording is the log."""

    return Handler
