"""The dispatcher is the WSGI application: it authenticates a request, calls whoever owns the operation, and writes the answer in
the client's protocol.

It routes by the service that the signature names. Beside AWS's it has operations of the emulator's own, for its owner alone.
"""

from __future__ import annotations

import re
import socket
import sys
import threading
import traceback
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http.client import responses
from typing import Any, Final
from urllib.parse import parse_qsl

from . import s3
from .container.context import Context
from .container.layout import isolation_of
from .errors import AwsError, body_of, refused, validation
from .hosting.endpoints import Endpoints
from .http.moto import Moto
from .http.request import Answer, HttpRequest, json_answer, json_document
from .iam import roles as sts
from .iam.authenticator import AuthenticatedRequest, Authenticator
from .iam.roles import Roles
from .iam.signature import parse_authorization
from .operations import Operations, is_motos
from .options import Endpoint, Fault
from .state.disk import check_disk, disk_full, no_room
from .telemetry import logs
from .training.api import TrainingApi

StartResponse = Callable[[str, list[tuple[str, str]]], object]
_INVOCATIONS: Final = re.compile(r"/endpoints/([^/]{1,63})/invocations")  # the path of InvokeEndpoint
_UNKNOWN: Final = frozenset({"UnknownOperationException", "NotImplemented", "InvalidAction"})
_RESTORE_S: Final = 60
_PREFIX: Final = "SmTrnEmulator"  # of the header that names an operation of our own, where AWS's have the service
_NAMES: Final = 500  # of refused operations: more could only come of a client that makes names up
# How to do without an operation that the emulator lacks, by a word of its name or its path.
_ADVICE: Final = {
    "search": "ListTrainingJobs lists jobs",
    "hyperparametertuningjob": "search with a study of Optuna (sm_trn.tune), or use AWS (--backend aws)",
    "transformjob": "deploy the model and send its endpoint the rows, or use AWS (--backend aws)",
    "servicejob": "launch without a queue, or use AWS (--backend aws)",
    "jobqueue": "launch without a queue, or use AWS (--backend aws)",
    "serviceenvironment": "launch without a queue, or use AWS (--backend aws)",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatcher:
    """One instance serves every thread."""

    authenticator: Authenticator
    context: Context
    endpoint: Endpoint
    training: TrainingApi
    hosting: Endpoints
    roles: Roles
    moto: Moto
    operations: Operations
    lock: threading.Lock = field(default_factory=threading.Lock)
    refusals: Counter[str] = field(default_factory=Counter)  # of operations that the emulator does not have

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        request_id, http = str(uuid.uuid4()), HttpRequest.of(environ)
        try:
            request = self.authenticator.authenticate(http)
            try:
                operation = _operation(request)
                if operation:
                    self.context.faults.before(operation)
                answer = self._route(request)
                if operation and self.context.faults.meets("lost-answer", operation):
                    environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)  # the server then finds nobody to write to
                    start_response("200 OK", [("Content-Length", "0"), ("Connection", "close")])
                    return []
                kind = dict(answer.headers).get("Content-Type", "")
                is_page = http.method != "HEAD" and answer.status == 404 and kind.startswith("text/html")
                if answer.status >= 500 or is_page:  # moto's of a path that it does not know; ours are raised
                    raise _unknown(request)
            finally:
                request.body.close()
        except AwsError as fault:
            if fault.code in _UNKNOWN:
                with self.lock:
                    if _name(http) in self.refusals or len(self.refusals) < _NAMES:
                        self.refusals[_name(http)] += 1
            answer = _fault_answer(fault, http, request_id)
        except Exception as error:  # noqa: BLE001 - the last line of defence: a 500 would only be repeated by every client
            sys.stderr.write(traceback.format_exc())
            text = f"the emulator failed on this request; see its log ({request_id})"
            text = disk_full(self.context.root) if no_room(error) else text
            answer = _fault_answer(AwsError("InternalFailure", text), http, request_id)
        return _respond(answer, http.method, request_id, start_response)

    def _route(self, request: AuthenticatedRequest) -> Answer:
        service, (prefix, operation) = request.service, request.http.target
        if prefix != _PREFIX and not self.context.objects.ready.wait(_RESTORE_S):  # moto is imported while we serve
            raise AwsError("SlowDown", "the emulator is still starting", 429)
        if service in {"sagemaker", "logs"} and request.region != self.context.region:
            raise refused(
                "UnrecognizedClientException",
                f"this emulator serves {self.context.region}, got {request.region!r}; start one of that region in a folder of its own: "
                "sm-trn local up --region NAME --state FOLDER",
            )
        if service == "sagemaker" and prefix in {"SageMaker", _PREFIX}:
            return self._sagemaker(request, prefix, operation)
        if service == "sagemaker":
            return self._invoke(request)
        if service == "logs":
            answer = logs.answer(self.context.lines, request.region, operation, json_document(request.body.read()))
            return json_answer(answer) if answer is not None else self._forward(request)
        if service in {"sts", "iam"}:
            return self._iam(request)
        if service != "s3":
            return self._forward(request)
        s3.check(request.http, self.context.objects)
        forwarded = self._forward(request)
        s3.note(request.http, forwarded, self.context.objects)
        return forwarded

    def _iam(self, request: AuthenticatedRequest) -> Answer:
        """Answer a request of the query protocol that is about who may do what."""
        text = request.body.read().decode("utf-8", "replace")
        parameters = dict(parse_qsl(f"{request.http.query}&{text}", keep_blank_values=True))
        if request.service == "sts":
            answer = sts.check_caller(parameters, request, self.roles)
            return answer or sts.issue(self._forward(request), request, self.context.principals)
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
        body = json_document(request.body.read())
        if prefix == _PREFIX:
            if not request.owner:
                raise refused("AccessDeniedException", "a job may not control the emulator")
            return json_answer(self._control(operation, body))
        if operation in {"CreateTrainingJob", "CreateEndpoint"}:
            check_disk(self.context.root)
        self.roles.check(operation, body)
        answer = self.operations.answer(operation, body)
        if answer is not None:
            return json_answer(answer)
        if not is_motos(operation) or body.get("Resource") == "TrainingJob":  # of a search: moto has none of ours
            raise _unknown(request)
        return self._forward(request)

    def _control(self, operation: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Answer an operation of our own. Raises AwsError."""
        faults = self.context.faults
        if operation == "Status":
            return self._status()
        if operation == "InterruptTrainingJob":
            self.training.interrupt(str(body.get("TrainingJobName")), notice=bool(body.get("Notice", True)))
        elif operation == "AddFault":
            try:
                faults.add(Fault(**body))
            except (TypeError, ValueError) as error:
                raise validation(f"AddFault: {error}") from error
        elif operation == "ClearFaults":
            faults.clear()
        else:
            raise validation(f"{_PREFIX}.{operation}: no such control operation")
        return {}

    def _status(self) -> Mapping[str, Any]:
        endpoint, context = self.endpoint, self.context
        with self.lock:
            refusals = dict(self.refusals.most_common())
        return {
            "url": endpoint.url,
            "pid": endpoint.pid,
            "region": endpoint.region,
            "isolation": isolation_of(namespace=context.namespace),
            "jobs": Counter(job.status for job in self.training.jobs.all()),
            "endpoints": Counter(resource.status for resource in context.resources.of_kind("endpoint")),
            "refused": refusals,
        }

    def _invoke(self, request: AuthenticatedRequest) -> Answer:
        match = _INVOCATIONS.fullmatch(request.http.path)
        if match is None or request.http.method != "POST":
            raise _unknown(request)
        headers, body = self.hosting.invoke(match[1], request.body.read(), request.http.fields)
        return Answer(200, tuple(headers.items()), body)


def _operation(request: AuthenticatedRequest) -> str:
    """SageMaker's operation; empty for other services and for the emulator's own control."""
    prefix, operation = request.http.target
    if request.service != "sagemaker" or prefix == _PREFIX:
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


def _unknown(request: AuthenticatedRequest) -> AwsError:
    http = request.http
    operation = http.target[1] or f"{http.method} {http.path}"
    advice = next((f"; {text}" for word, text in _ADVICE.items() if word in operation.lower()), "")
    return AwsError(
        "UnknownOperationException", f"the emulator does not have {request.service}'s operation {operation}{advice}"
    )


def _name(http: HttpRequest) -> str:
    """The name of what was asked for: ``sagemaker:CreateProcessingJob``; where a protocol names none, ``sagemaker:POST /BatchGetMetrics``,
    or ``s3:PUT``, for the rest of it is the user's.
    """
    credential, (_, operation) = parse_authorization(http.fields.get("authorization", "")), http.target
    service = credential.service if credential else "unsigned"
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
