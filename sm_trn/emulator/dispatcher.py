"""The dispatcher is the WSGI application: it authenticates a request, calls whoever owns the operation, and writes the answer in
the client's protocol.

It routes by the service that the signature names.
"""

from __future__ import annotations

import socket
import sys
import traceback
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from http.client import responses
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import parse_qsl

from .api.shapes import operation_at
from .control import CODES, PREFIX, Control, Refusals
from .errors import AwsError, body_of, refused
from .http.moto import Moto
from .http.request import HttpRequest
from .http.response import Answer, document, json_body
from .iam.signature import parse_authorization
from .operations import is_motos
from .s3.api import S3Api
from .s3.request import parse_request
from .service import INVOCATIONS

if TYPE_CHECKING:
    from .fault_injection import FaultInjector
    from .iam.authenticator import AuthenticatedRequest, Authenticator
    from .iam.roles import Roles
    from .iam.sts import StsApi
    from .regions import Regions
    from .s3.object_store import ObjectStore
    from .state.quota import Quota
    from .telemetry.logs import LogAnswer, LogRequest

StartResponse = Callable[[str, list[tuple[str, str]]], object]
_FILL_THE_DISK: Final = frozenset(
    {
        "CreateTrainingJob",
        "CreateProcessingJob",
        "CreateHyperParameterTuningJob",
        "CreateTransformJob",
        "CreateEndpoint",
        "UpdateEndpoint",
    }
)
_RESTORE_S = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Who answers what."""

    regions: Regions
    objects: ObjectStore
    s3: S3Api
    sts: StsApi
    roles: Roles
    quota: Quota
    moto: Moto
    faults: FaultInjector
    control: Control
    refusals: Refusals


class Dispatcher:
    """One instance serves every thread."""

    def __init__(self, authenticator: Authenticator, services: Services) -> None:
        self._authenticator = authenticator
        self._owners = services

    @property
    def operations(self) -> frozenset[str]:
        """SageMaker's operations that are ours: none of them is moto's answer."""
        return self._owners.regions.all()[0].operations.names

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        request_id, http = str(uuid.uuid4()), HttpRequest.of(environ)
        try:
            request = self._authenticator.authenticate(http)
            try:
                operation = _operation(request)
                if operation:
                    self._owners.faults.before(operation)
                answer = self._route(request)
                if operation and self._owners.faults.loses_answer(operation):
                    return _hang_up(environ["werkzeug.socket"], start_response)
                if answer.status >= 500:  # moto's; ours are raised
                    raise _unknown(http)
            finally:
                request.body.close()
        except AwsError as fault:
            if fault.code in CODES:
                self._owners.refusals.add(_named(http))
            answer = _fault_answer(fault, http, request_id)
        except Exception as error:  # noqa: BLE001 - the last line of defence: a 500 would only be repeated by every client
            sys.stderr.write(traceback.format_exc())
            ours = AwsError("InternalFailure", f"the emulator failed on this request; see its log ({request_id})")
            answer = _fault_answer(self._owners.quota.refusal(error) or ours, http, request_id)
        return _written(answer, http.method, request_id, start_response)

    def _route(self, request: AuthenticatedRequest) -> Answer:
        service, (prefix, operation) = request.service, request.http.target
        if service == "s3":
            return self._s3(request)
        if service == "sagemaker" and prefix in {"SageMaker", PREFIX}:
            return self._sagemaker(request, prefix, operation)
        if service == "sagemaker":
            return self._data_plane(request)
        if service == "logs" and (logs := self._log_answer(operation, request)) is not None:
            return _json(logs)
        return self._others(service, request)

    def _others(self, service: str, request: AuthenticatedRequest) -> Answer:
        """The answer to a request of a service that is ours in part, or moto's."""
        answer = None
        if service == "batch":
            answer = self._by_path(request)
        if service == "sts":
            answer = self._owners.sts.answer(_form(request), request)
        if answer is not None:
            return answer
        return self._iam(request) if service == "iam" else self._forward(request)

    def _iam(self, request: AuthenticatedRequest) -> Answer:
        asked = _form(request)
        if asked.get("Action") == "CreateAccessKey":
            raise AwsError(
                "ServiceNotSupportedException",
                "the emulator takes no other long-lived keys than its own (sm-trn local env); temporary ones are STS's: AssumeRole",
            )
        if asked.get("Action") == "SimulatePrincipalPolicy":
            return self._owners.roles.simulate(asked)
        return self._forward(request)

    def _forward(self, request: AuthenticatedRequest) -> Answer:
        if not self._owners.objects.ready.wait(_RESTORE_S):
            raise AwsError("SlowDown", "the emulator is still starting", 429)
        return self._owners.moto.forward(request.http, request.body)

    def _sagemaker(self, request: AuthenticatedRequest, prefix: str, operation: str) -> Answer:
        body = document(request.body.read())
        if prefix == PREFIX:
            if not request.owner:
                raise refused("AccessDeniedException", "a job may not control the emulator")
            return _json(self._owners.control.answer(operation, body))
        if operation in _FILL_THE_DISK:
            self._owners.quota.check_job()
        self._owners.roles.check(operation, body)
        answer = self._owners.regions.of(request.region).operations.answer(operation, body)
        if answer is not None:
            return _json(answer)
        if not is_motos(operation):
            raise AwsError("UnknownOperationException", f"the emulator does not have SageMaker's {operation}")
        return self._forward(request)

    def _data_plane(self, request: AuthenticatedRequest) -> Answer:
        answer = self._by_path(request)
        if answer is None:
            raise _unknown(request.http)
        return answer

    def _by_path(self, request: AuthenticatedRequest) -> Answer | None:
        """The answer of a room to a request that names no operation but a path; None where no room has it."""
        http, region = request.http, self._owners.regions.of(request.region)
        answer = region.answer(http.method, http.path, request.body.read, http.fields)
        if answer is None:
            return None
        headers, body = answer
        return Answer(200, tuple(headers.items()), body)

    def _log_answer(self, operation: str, request: AuthenticatedRequest) -> LogAnswer | None:
        body, logs = document(request.body.read()), self._owners.regions.of(request.region).logs
        return (
            logs.answer(operation, cast("LogRequest", body)) if logs.owns(operation, cast("LogRequest", body)) else None
        )

    def _s3(self, request: AuthenticatedRequest) -> Answer:
        asked = parse_request(request.http, request.body)
        answer = self._owners.s3.answer(asked)
        if answer is not None:
            return answer
        answer = self._forward(request)
        if answer.status < 300 and asked.bucket and not asked.key and not asked.names:
            if asked.method == "PUT":
                self._owners.objects.create_bucket(asked.bucket, request.region)
            elif asked.method == "DELETE":
                self._owners.objects.drop_bucket(asked.bucket)
        return answer


def _operation(request: AuthenticatedRequest) -> str:
    """SageMaker's operation, or Batch's; empty for other services and for the emulator's own control."""
    prefix, operation = request.http.target
    if request.service == "batch":
        found = operation_at("batch", request.http.method, request.http.path)
        return found[0] if found is not None else ""
    if request.service != "sagemaker" or prefix == PREFIX:
        return ""
    return operation or ("InvokeEndpoint" if INVOCATIONS.fullmatch(request.http.path) else "")


def _written(answer: Answer, method: str, request_id: str, start_response: StartResponse) -> Iterable[bytes]:
    """The answer as WSGI wants it. That to HEAD has no body, and the length that its headers say."""
    headers = [(name, value) for name, value in answer.headers if name.lower() not in {"content-length", "connection"}]
    length = next((value for name, value in answer.headers if name.lower() == "content-length"), None)
    if isinstance(answer.body, bytes) and (length is None or method != "HEAD"):
        length = str(len(answer.body))
    headers += [("Content-Length", length or "0"), ("x-amzn-RequestId", request_id)]
    if not answer.of_an_object:  # what that says of caches is its owner's
        headers.append(("Cache-Control", "no-store"))
    start_response(f"{answer.status} {responses.get(answer.status, 'Unknown')}", headers)
    if not isinstance(answer.body, bytes):
        return answer.body
    return [] if method == "HEAD" else [answer.body]


def _hang_up(connection: socket.socket, start_response: StartResponse) -> Iterable[bytes]:
    """Close the connection where the answer should be: the server then finds nobody to write to."""
    connection.shutdown(socket.SHUT_RDWR)
    start_response("200 OK", [("Content-Length", "0"), ("Connection", "close")])
    return []


def _form(request: AuthenticatedRequest) -> dict[str, str]:
    """What a request of the query protocol says, in its body or in its query."""
    text = request.body.read().decode("utf-8", "replace")
    return dict(parse_qsl(f"{request.http.query}&{text}", keep_blank_values=True))


def _json(answer: Mapping[str, Any]) -> Answer:
    headers, body = json_body(answer)
    return Answer(200, tuple(headers.items()), body)


def _unknown(http: HttpRequest) -> AwsError:
    what = http.fields.get("x-amz-target") or f"{http.method} {http.path}"
    return AwsError("UnknownOperationException", f"the emulator does not have this operation ({what})", 400)


def _named(http: HttpRequest) -> str:
    """The name of what was asked for: ``sagemaker:CreateProcessingJob``; where a protocol names none, ``sagemaker:POST /BatchGetMetrics``,
    or ``s3:PUT``, for the rest of it is the user's.
    """
    said, (_, operation) = parse_authorization(http.fields.get("authorization", "")), http.target
    service = said.service if said else "unsigned"
    place = "" if service in {"s3", "unsigned"} else f" /{http.path.split('/')[1]}"
    return f"{service}:{operation or http.method + place}"


def _fault_answer(fault: AwsError, http: HttpRequest, request_id: str) -> Answer:
    kind, body = body_of(fault, _protocol(http), request_id)
    headers = [("Content-Type", kind), ("x-amzn-ErrorType", fault.code)]
    if kind == "application/cbor":
        headers.append(("smithy-protocol", "rpc-v2-cbor"))
    return Answer(fault.status, tuple(headers), body)


def _protocol(http: HttpRequest) -> str:
    if "rpc-v2-cbor" in http.fields.get("smithy-protocol", ""):
        return "cbor"
    kind = http.fields.get("content-type", "")
    if INVOCATIONS.fullmatch(http.path):
        return "rest-json"
    if "x-amz-target" in http.fields or kind.startswith("application/x-amz-json"):
        return "json"
    if kind.startswith("application/x-www-form-urlencoded"):
        return "query"
    signed_for = http.fields.get("authorization", "")
    return "rest-xml" if "/s3/" in signed_for or not signed_for else "rest-json"
