"""The dispatcher is the WSGI application: it authenticates a request, calls whoever owns the operation, and writes the answer in
the client's protocol.

It routes by the service that the signature names.
"""

from __future__ import annotations

import re
import socket
import sys
import traceback
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from http.client import responses
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl

from . import s3
from .api.shapes import operation_at
from .control import PREFIX, Control
from .errors import AwsError, body_of, refused
from .http.moto import Moto
from .http.request import HttpRequest
from .http.response import Answer, document, json_body
from .iam import sts
from .iam.signature import parse_authorization
from .operations import is_motos
from .state.disk import check_disk, disk_full, no_room
from .telemetry import logs

if TYPE_CHECKING:
    from .container.context import Shared
    from .iam.authenticator import AuthenticatedRequest, Authenticator
    from .iam.roles import Roles
    from .regions import Regions

StartResponse = Callable[[str, list[tuple[str, str]]], object]
_INVOCATIONS: Final = re.compile(r"/endpoints/([^/]{1,63})/invocations")  # the path of InvokeEndpoint
_UNKNOWN: Final = frozenset({"UnknownOperationException", "NotImplemented", "InvalidAction"})
_RESTORE_S: Final = 60
# How to do without an operation that the emulator lacks, by a word of its name.
_ADVICE: Final = {
    "HyperParameterTuningJob": "search with a study of Optuna (sm_trn.tune), or use AWS (--backend aws)",
    "TransformJob": "deploy the model and send its endpoint the rows, or use AWS (--backend aws)",
    "ServiceJob": "launch without a queue, or use AWS (--backend aws)",
    "JobQueue": "launch without a queue, or use AWS (--backend aws)",
    "ServiceEnvironment": "launch without a queue, or use AWS (--backend aws)",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatcher:
    """One instance serves every thread."""

    authenticator: Authenticator
    shared: Shared
    regions: Regions
    roles: Roles
    moto: Moto
    control: Control

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        request_id, http = str(uuid.uuid4()), HttpRequest.of(environ)
        try:
            request = self.authenticator.authenticate(http)
            try:
                operation = _operation(request)
                if operation:
                    self.shared.faults.before(operation)
                answer = self._route(request)
                if operation and self.shared.faults.loses_answer(operation):
                    return _hang_up(environ["werkzeug.socket"], start_response)
                if answer.status >= 500 or _is_page(answer, http):  # moto's; ours are raised
                    raise _unknown(request)
            finally:
                request.body.close()
        except AwsError as fault:
            if fault.code in _UNKNOWN:
                self.control.count_refusal(_name(http))
            answer = _fault_answer(fault, http, request_id)
        except Exception as error:  # noqa: BLE001 - the last line of defence: a 500 would only be repeated by every client
            sys.stderr.write(traceback.format_exc())
            text = f"the emulator failed on this request; see its log ({request_id})"
            text = disk_full(self.shared.root) if no_room(error) else text
            answer = _fault_answer(AwsError("InternalFailure", text), http, request_id)
        return _respond(answer, http.method, request_id, start_response)

    def _route(self, request: AuthenticatedRequest) -> Answer:
        service, (prefix, operation) = request.service, request.http.target
        if prefix != PREFIX and not self.shared.objects.ready.wait(_RESTORE_S):  # moto is imported while we serve
            raise AwsError("SlowDown", "the emulator is still starting", 429)
        if service == "sagemaker" and prefix in {"SageMaker", PREFIX}:
            return self._sagemaker(request, prefix, operation)
        if service == "sagemaker":
            return self._invoke(request)
        if service == "logs":
            region = self.regions.of(request.region)
            answer = logs.answer(region.lines, request.region, operation, document(request.body.read()))
            return _json(answer) if answer is not None else self._forward(request)
        if service in {"sts", "iam"}:
            return self._iam(request, dict(parse_qsl(f"{request.http.query}&{_text(request)}", keep_blank_values=True)))
        if service != "s3":
            return self._forward(request)
        s3.check(request.http, self.shared.objects)
        forwarded = self._forward(request)
        s3.note(request.http, forwarded, self.shared.objects)
        return forwarded

    def _iam(self, request: AuthenticatedRequest, parameters: Mapping[str, str]) -> Answer:
        """Answer a request of the query protocol that is about who may do what."""
        if request.service == "sts":
            answer = sts.check_caller(parameters, request, self.roles)
            return answer or sts.issue(self._forward(request), request, self.shared.principals)
        if parameters.get("Action") == "CreateAccessKey":
            raise AwsError(
                "ServiceNotSupportedException",
                "the emulator takes no other long-lived keys than its own (sm-trn local up); temporary ones are STS's: AssumeRole",
            )
        if parameters.get("Action") == "SimulatePrincipalPolicy":
            return self.roles.simulate(parameters)
        return self._forward(request)

    def _forward(self, request: AuthenticatedRequest) -> Answer:
        return self.moto.forward(request.http, request.body, request.length)

    def _sagemaker(self, request: AuthenticatedRequest, prefix: str, operation: str) -> Answer:
        body = document(request.body.read())
        if prefix == PREFIX:
            if not request.owner:
                raise refused("AccessDeniedException", "a job may not control the emulator")
            return _json(self.control.answer(operation, body))
        if operation in {"CreateTrainingJob", "CreateEndpoint"}:
            check_disk(self.shared.root)
        self.roles.check(operation, body)
        answer = self.regions.of(request.region).operations.answer(operation, body)
        if answer is not None:
            return _json(answer)
        if not is_motos(operation):
            raise _unknown(request)
        return self._forward(request)

    def _invoke(self, request: AuthenticatedRequest) -> Answer:
        match = _INVOCATIONS.fullmatch(request.http.path)
        if match is None or request.http.method != "POST":
            raise _unknown(request)
        hosting = self.regions.of(request.region).hosting
        headers, body = hosting.invoke(match[1], request.body.read(), request.http.fields)
        return Answer(200, tuple(headers.items()), body)


def _operation(request: AuthenticatedRequest) -> str:
    """SageMaker's operation; empty for other services and for the emulator's own control."""
    prefix, operation = request.http.target
    if request.service != "sagemaker" or prefix == PREFIX:
        return ""
    return operation or ("InvokeEndpoint" if _INVOCATIONS.fullmatch(request.http.path) else "")


def _respond(answer: Answer, method: str, request_id: str, start_response: StartResponse) -> Iterable[bytes]:
    """The answer as WSGI wants it. That to HEAD has no body, and the length that its headers say."""
    headers = [(name, value) for name, value in answer.headers if name.lower() not in {"content-length", "connection"}]
    length = next((value for name, value in answer.headers if name.lower() == "content-length"), None)
    if length is None or method != "HEAD":
        length = str(len(answer.body))
    headers += [("Content-Length", length), ("x-amzn-RequestId", request_id)]
    start_response(f"{answer.status} {responses.get(answer.status, 'Unknown')}", headers)
    return [] if method == "HEAD" else [answer.body]


def _hang_up(connection: socket.socket, start_response: StartResponse) -> Iterable[bytes]:
    """Close the connection where the answer should be: the server then finds nobody to write to."""
    connection.shutdown(socket.SHUT_RDWR)
    start_response("200 OK", [("Content-Length", "0"), ("Connection", "close")])
    return []


def _text(request: AuthenticatedRequest) -> str:
    return request.body.read().decode("utf-8", "replace")


def _json(answer: Mapping[str, Any]) -> Answer:
    headers, body = json_body(answer)
    return Answer(200, tuple(headers.items()), body)


def _is_page(answer: Answer, http: HttpRequest) -> bool:
    """Return True for moto's page about a path that it does not know; an answer to HEAD has no page."""
    return (
        http.method != "HEAD"
        and answer.status == 404
        and dict(answer.headers).get("Content-Type", "").startswith("text/html")
    )


def _unknown(request: AuthenticatedRequest) -> AwsError:
    http = request.http
    operation = http.target[1] or operation_at(request.service, http.method, http.path) or f"{http.method} {http.path}"
    advice = next((f"; {text}" for noun, text in _ADVICE.items() if noun in operation), "")
    return AwsError(
        "UnknownOperationException", f"the emulator does not have {request.service}'s operation {operation}{advice}"
    )


def _name(http: HttpRequest) -> str:
    """The name of what was asked for: ``sagemaker:CreateProcessingJob``; where a protocol names none, ``sagemaker:POST /BatchGetMetrics``,
    or ``s3:PUT``, for the rest of it is the user's.
    """
    credential, (_, operation) = parse_authorization(http.fields.get("authorization", "")), http.target
    service = credential.service if credential else "unsigned"
    operation = operation or operation_at(service, http.method, http.path)
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
    if _INVOCATIONS.fullmatch(http.path):
        return "rest-json"
    if "x-amz-target" in http.fields or kind.startswith("application/x-amz-json"):
        return "json"
    if kind.startswith("application/x-www-form-urlencoded"):
        return "query"
    signed_for = http.fields.get("authorization", "")
    return "rest-xml" if "/s3/" in signed_for or not signed_for else "rest-json"
