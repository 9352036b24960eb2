"""STS says who the caller is, and issues temporary credentials, which are good for every service but the emulator's control.

https://docs.aws.amazon.com/STS/latest/APIReference/API_Operations.html
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape

from ...core.specs.snapshot import EMULATED_ACCOUNT
from ..api import shapes
from ..errors import AwsError, refused
from ..http.response import Answer
from ..options import ROLE_NAME
from . import session_tokens
from .keys import new_key
from .session_tokens import Temporary

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .authenticator import AuthenticatedRequest
    from .keys import Principals
    from .roles import Roles

_OWNER: Final = f"arn:aws:sts::{EMULATED_ACCOUNT}:assumed-role/{ROLE_NAME}/sm_trn"
_USER: Final = "AROASMTRNEMULATED:sm_trn"
# Credentials of an assumed role last an hour, those of a session or a federated user half a day, where nothing is said.
_LASTS_S: Final = {"AssumeRole": 3600, "GetSessionToken": 43_200, "GetFederationToken": 43_200}
_CHAINED_S: Final = 3600


class StsApi:
    """Says who asks, and issues credentials that end with the key they were asked for with."""

    def __init__(self, principals: Principals, roles: Roles, clock: Callable[[], float] = time.time) -> None:
        self._principals = principals
        self._roles = roles
        self._clock = clock

    def answer(self, parameters: Mapping[str, str], caller: AuthenticatedRequest) -> Answer | None:
        """Answer a request of the query protocol; None for what is moto's. Raises AwsError."""
        operation = parameters.get("Action", "")
        if operation == "GetCallerIdentity":
            arn, user = _identity(caller)
            return _answer(operation, {"Arn": arn, "UserId": user, "Account": arn.split(":")[4]})
        if operation in {"AssumeRoleWithSAML", "AssumeRoleWithWebIdentity", "AssumeRoot"}:
            raise AwsError("InvalidAction", f"the emulator's STS does not have {operation}")
        if operation not in _LASTS_S:
            return None
        lasts = _number(parameters.get("DurationSeconds"), _LASTS_S[operation])
        plain = {name: value for name, value in parameters.items() if "." not in name}
        try:
            shapes.check(operation, {**plain, "DurationSeconds": lasts}, "sts")
        except AwsError as fault:  # the query protocol's name for it
            raise AwsError(fault.code.replace("ValidationException", "ValidationError"), fault.message) from fault
        if operation == "AssumeRole":
            return self._assume(parameters["RoleArn"], parameters["RoleSessionName"], lasts, caller)
        arn, user = _identity(caller)
        if operation == "GetFederationToken":
            arn, user = (
                f"arn:aws:sts::{EMULATED_ACCOUNT}:federated-user/{parameters['Name']}",
                f"{EMULATED_ACCOUNT}:{parameters['Name']}",
            )
            return _answer(
                operation, {"FederatedUser": {"Arn": arn, "FederatedUserId": user}}, self._new(arn, user, lasts, caller)
            )
        return _answer(operation, {}, self._new(arn, user, lasts, caller))

    def _assume(self, wanted: str, session: str, lasts: int, caller: AuthenticatedRequest) -> Answer:
        role = self._roles.find(wanted)
        if role is None:
            raise refused(
                "AccessDenied",
                f"User: {_identity(caller)[0]} is not authorized to perform: sts:AssumeRole on resource: {wanted}",
            )
        if lasts > role.longest_s:
            raise AwsError(
                "ValidationError", "The requested DurationSeconds exceeds the MaxSessionDuration set for this role."
            )
        if caller.temporary is not None and lasts > _CHAINED_S:
            raise AwsError(
                "ValidationError",
                "The requested DurationSeconds exceeds the 1 hour session limit for roles assumed by role chaining",
            )
        name = role.arn.rpartition("/")[2]
        arn = f"arn:aws:sts::{role.arn.split(':')[4]}:assumed-role/{name}/{session}"
        user = f"{role.id}:{session}"
        found = {"AssumedRoleUser": {"Arn": arn, "AssumedRoleId": user}}
        return _answer("AssumeRole", found, self._new(arn, user, lasts, caller))

    def _new(self, arn: str, user: str, lasts: int, caller: AuthenticatedRequest) -> dict[str, str]:
        parent = caller.temporary.parent if caller.temporary else caller.access_key
        secret_of_parent = self._principals.secret_of(parent)
        if secret_of_parent is None:  # withdrawn while it asked
            raise refused("InvalidClientTokenId", "The security token included in the request is invalid.")
        known = Temporary(
            parent=parent, access=new_key().access, arn=arn, user=user, expires=int(self._clock()) + lasts
        )
        secret, token = session_tokens.issue(known, secret_of_parent)
        return {
            "AccessKeyId": known.access,
            "SecretAccessKey": secret,
            "SessionToken": token,
            "Expiration": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(known.expires)),
        }


def _identity(caller: AuthenticatedRequest) -> tuple[str, str]:
    known = caller.temporary
    return (_OWNER, _USER) if known is None else (known.arn, known.user)


def _number(text: str | None, otherwise: int) -> int:
    if text is None:
        return otherwise
    if not text.isdecimal():
        raise AwsError("MalformedInput", f"DurationSeconds: got {text!r}, wanted a whole number")
    return int(text)


def _answer(
    operation: str, found: Mapping[str, str | Mapping[str, str]], credentials: Mapping[str, str] | None = None
) -> Answer:
    members = {**found, **({"Credentials": credentials} if credentials else {})}
    text = (
        f'<{operation}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><{operation}Result>{_xml(members)}'
        f"</{operation}Result></{operation}Response>"
    )
    return Answer(200, (("Content-Type", "text/xml"),), text.encode())


def _xml(members: Mapping[str, str | Mapping[str, str]]) -> str:
    return "".join(
        f"<{name}>{escape(value) if isinstance(value, str) else _xml(value)}</{name}>"
        for name, value in members.items()
    )
