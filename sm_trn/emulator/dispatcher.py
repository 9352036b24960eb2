"""The dispatcher is the WSGI application: it authenticates a request, calls whoever owns the operation, and writes the answer in
the client's protocol.

It routes by the service that the signature names. It must not run jobs, and knows of moto only that it answers.
"""

from __future__ import annotations

import json
import re
import socket
import sys
import traceback
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl

from .errors import AwsError, body_of, refused, validation
from .http.moto import Moto
from .http.response import Answer
from .operations import is_motos
from .s3.api import S3Api
from .s3.request import parse_request

if TYPE_CHECKING:
    from .fault_injection import FaultInjector
    from .http.body import Spool
    from .iam.authenticator import AuthenticatedRequest, Authenticator
    from .iam.roles import Roles
    from .iam.sts import StsApi
    from .regions import Regions
    from .s3.object_store import ObjectStore
    from .state.quota import Quota

StartResponse = Callable[[str, list[tuple[str, str]]], object]
CONTROL: Final = "SmTrnEmulator"
_FILL_THE_DISK: Final = frozenset({"CreateTrainingJob", "CreateTransformJob", "CreateEndpoint", "UpdateEndpoint"})
_INVOCATIONS = re.compile(r"/endpoints/([^/]{1,63})/invocations")
_JSON = "application/x-amz-json-1.1"
_RESTORE_S = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Who answers what. ``control`` holds the emulator's own operations, for its owner only."""

    regions: Regions
    objects: ObjectStore
    s3: S3Api
    sts: StsApi
    roles: Roles
    quota: Quota
    moto: Moto
    faults: FaultInjector
    control: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]]


class Dispatcher:
    """One instance serves every thread."""

    def __init__(self, authenticator: Authenticator, services: Services) -> None:
        self._authenticator = authenticator
        self._regions = services.regions
        self._objects = services.objects
        self._s3_api = services.s3
        self._sts = services.sts
        self._roles = services.roles
        self._quota = services.quota
        self._moto = services.moto
        self._faults = services.faults
        self._control = services.control

    @property
    def operations(self) -> frozenset[str]:
        """SageMaker's operations that are ours: none of them is moto's answer."""
        return self._regions.all()[0].operations.names

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        request_id = str(uuid.uuid4())
        try:
            request = self._authenticator.authenticate(environ)
            try:
                operation = _operation(environ, request.service)
                if operation:
                    self._faults.before(operation)
                answer = self._route(environ, request)
                if operation and self._faults.loses_answer(operation):
                    return _hang_up(environ, start_response)
                if answer.status >= 500:  # moto's; ours are raised
                    raise _unknown(environ)
            finally:
                request.body.close()
        except AwsError as fault:
            answer = _fault_answer(fault, environ, request_id)
        except Exception:  # noqa: BLE001 - the last line of defence: a 500 would only be repeated by every client
            sys.stderr.write(traceback.format_exc())
            ours = AwsError("InternalFailure", f"the emulator failed on this request; see its log ({request_id})")
            answer = _fault_answer(ours, environ, request_id)
        headers = [
            (name, value) for name, value in answer.headers if name.lower() not in {"content-length", "connection"}
        ]
        said = next((v for n, v in answer.headers if n.lower() == "content-length"), None)
        if isinstance(answer.body, bytes) and (said is None or environ["REQUEST_METHOD"] != "HEAD"):
            said = str(len(answer.body))
        headers += [("Content-Length", said or "0"), ("x-amzn-RequestId", request_id)]
        if not answer.of_an_object:  # what that says of caches is its owner's
            headers.append(("Cache-Control", "no-store"))
        start_response(f"{answer.status} {_phrase(answer.status)}", headers)
        if not isinstance(answer.body, bytes):
            return answer.body
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [answer.body]

    def _route(self, environ: dict[str, Any], request: AuthenticatedRequest) -> Answer:
        service = request.service
        prefix, _, operation = environ.get("HTTP_X_AMZ_TARGET", "").rpartition(".")
        if service == "s3":
            return self._s3(environ, request)
        if service == "sagemaker" and prefix in {"SageMaker", CONTROL}:
            return self._sagemaker(environ, request, prefix, operation)
        if service == "sagemaker":
            return self._invoke(environ, request)
        if service == "logs" and (document := self._log_answer(operation, request)) is not None:
            return _json(document)
        if service == "sts" and (answer := self._sts.answer(_form(environ, request.body), request)) is not None:
            return answer
        if service == "iam" and _form(environ, request.body).get("Action") == "CreateAccessKey":
            raise AwsError(
                "ServiceNotSupportedException",
                "the emulator takes no other long-lived keys than its own (sm-trn local env); temporary ones are STS's: AssumeRole",
            )
        return self._forward(environ, request)

    def _forward(self, environ: dict[str, Any], request: AuthenticatedRequest) -> Answer:
        if not self._objects.ready.wait(_RESTORE_S):
            raise AwsError("SlowDown", "the emulator is still starting", 429)
        request.body.rewind()
        return self._moto.forward(environ, request.body.file, request.body.length)

    def _sagemaker(self, environ: dict[str, Any], request: AuthenticatedRequest, prefix: str, operation: str) -> Answer:
        body = _document(request.body)
        if prefix == CONTROL:
            if not request.owner:
                raise refused("AccessDeniedException", "a job may not control the emulator")
            if operation not in self._control:
                raise validation(f"{CONTROL}.{operation}: no such control operation")
            return _json(self._control[operation](body))
        if operation in _FILL_THE_DISK:
            self._quota.check_job()
        self._roles.check(operation, body)
        document = self._regions.of(request.region).operations.answer(operation, body)
        if document is not None:
            return _json(document)
        if not is_motos(operation):
            raise AwsError("UnknownOperationException", f"the emulator does not have SageMaker's {operation}")
        return self._forward(environ, request)

    def _invoke(self, environ: dict[str, Any], request: AuthenticatedRequest) -> Answer:
        match = _INVOCATIONS.fullmatch(environ["PATH_INFO"])
        if match is None or environ["REQUEST_METHOD"] != "POST":
            raise _unknown(environ)
        sent = {name.lower(): value for name, value in environ["sm_trn.headers"]}
        headers, body = self._regions.of(request.region).hosting.invoke(match[1], request.body.read(), sent)
        return Answer(200, tuple(headers.items()), body)

    def _log_answer(self, operation: str, request: AuthenticatedRequest) -> dict[str, Any] | None:
        body = _document(request.body)
        logs = self._regions.of(request.region).logs
        if logs.owns(operation, body):
            return logs.answer(operation, body)
        request.body.rewind()
        return None

    def _s3(self, environ: dict[str, Any], request: AuthenticatedRequest) -> Answer:
        s3_request = parse_request(environ, request.body)
        answer = self._s3_api.answer(s3_request)
        if answer is not None:
            return answer
        answer = self._forward(environ, request)
        if answer.status < 300 and s3_request.bucket and not s3_request.key and not s3_request.names:
            if s3_request.method == "PUT":
                self._objects.create_bucket(s3_request.bucket, request.region)
            elif s3_request.method == "DELETE":
                self._objects.drop_bucket(s3_request.bucket)
        return answer


def _operation(environ: dict[str, Any], service: str) -> str:
    """SageMaker's operation; empty for other services and for the emulator's own control."""
    prefix, _, operation = environ.get("HTTP_X_AMZ_TARGET", "").rpartition(".")
    if service != "sagemaker" or prefix == CONTROL:
        return ""
    return str(operation) or ("InvokeEndpoint" if _INVOCATIONS.fullmatch(environ["PATH_INFO"]) else "")


def _hang_up(environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
    """Close the connection where the answer should be: the server then finds nobody to write to."""
    environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
    start_response("200 OK", [("Content-Length", "0"), ("Connection", "close")])
    return []


def _document(body: Spool) -> Mapping[str, Any]:
    try:
        document = json.loads(body.read() or b"{}")
    except (ValueError, RecursionError) as error:
        raise AwsError("SerializationException", f"the body is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise AwsError("SerializationException", "the body is not a JSON object")
    return document


def _form(environ: dict[str, Any], body: Spool) -> dict[str, str]:
    """What a request of the query protocol says, in its body or in its query."""
    said = f"{environ.get('QUERY_STRING', '')}&{body.read().decode('utf-8', 'replace')}"
    return dict(parse_qsl(said, keep_blank_values=True))


def _json(document: Mapping[str, Any]) -> Answer:
    return Answer(200, (("Content-Type", _JSON),), json.dumps(document).encode())


def _unknown(environ: dict[str, Any]) -> AwsError:
    what = environ.get("HTTP_X_AMZ_TARGET") or f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}"
    return AwsError("UnknownOperationException", f"the emulator does not have this operation ({what})", 400)


def _fault_answer(fault: AwsError, environ: dict[str, Any], request_id: str) -> Answer:
    kind, body = body_of(fault, _protocol(environ), request_id)
    headers = [("Content-Type", kind), ("x-amzn-ErrorType", fault.code)]
    if kind == "application/cbor":
        headers.append(("smithy-protocol", "rpc-v2-cbor"))
    return Answer(fault.status, tuple(headers), body)


def _protocol(environ: dict[str, Any]) -> str:
    if "rpc-v2-cbor" in environ.get("HTTP_SMITHY_PROTOCOL", ""):
        return "cbor"
    kind = environ.get("CONTENT_TYPE", "")
    if _INVOCATIONS.fullmatch(environ["PATH_INFO"]):
        return "rest-json"
    if "HTTP_X_AMZ_TARGET" in environ or kind.startswith("application/x-amz-json"):
        return "json"
    if kind.startswith("application/x-www-form-urlencoded"):
        return "query"
    signed_for = environ.get("HTTP_AUTHORIZATION", "")
    return "rest-xml" if "/s3/" in signed_for or not signed_for else "rest-json"


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"
