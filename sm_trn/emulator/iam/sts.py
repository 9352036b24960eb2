"""Temporary credentials: moto answers STS, and the keys in its answers are made here, for the door must know them.

moto's own are the same for everybody.
"""

from __future__ import annotations

import re
import secrets
from datetime import datetime
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape

from ..errors import refused
from ..http.response import Answer
from .keys import Principal, new_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .authenticator import AuthenticatedRequest
    from .keys import Principals
    from .roles import Roles

_XML: Final = (("Content-Type", "text/xml"),)


def check_caller(parameters: Mapping[str, str], caller: AuthenticatedRequest, roles: Roles) -> Answer | None:
    """Answer GetCallerIdentity, which moto answers for its own keys; None for another operation. Raises AwsError for a role that does
    not exist."""
    if parameters.get("Action") == "GetCallerIdentity":
        principal = caller.principal
        account = principal.arn.split(":")[4]
        text = (
            f"<Arn>{escape(principal.arn)}</Arn><UserId>{escape(principal.user)}</UserId><Account>{account}</Account>"
        )
        body = (
            '<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult>'
            f"{text}</GetCallerIdentityResult></GetCallerIdentityResponse>"
        )
        return Answer(200, _XML, body.encode())
    role = parameters.get("RoleArn", "")
    if parameters.get("Action") == "AssumeRole" and not roles.exists(role):
        raise refused(
            "AccessDenied",
            f"User: {caller.principal.arn} is not authorized to perform: sts:AssumeRole on resource: {role}",
        )
    return None


def issue(answer: Answer, caller: AuthenticatedRequest, principals: Principals) -> Answer:
    """Return moto's answer with credentials of our own in the place of its; they end with the caller's key."""
    text = answer.body.decode() if isinstance(answer.body, bytes) else ""
    expiration = _member(text, "Expiration")
    if not expiration:
        return answer
    key, token = new_key(), secrets.token_urlsafe(200)
    for name, value in (("AccessKeyId", key.access), ("SecretAccessKey", key.secret), ("SessionToken", token)):
        text = re.sub(rf"<{name}>[^<]*</{name}>", f"<{name}>{value}</{name}>", text)
    parent = caller.principal
    principals.issue(
        Principal(
            key=key,
            token=token,
            arn=_member(text, "Arn") or parent.arn,
            user=_member(text, "AssumedRoleId") or _member(text, "FederatedUserId") or parent.user,
            expires=datetime.fromisoformat(expiration.replace("Z", "+00:00")).timestamp(),
            parent=parent.parent or parent.key.access,
        )
    )
    return Answer(answer.status, answer.headers, text.encode())


def _member(text: str, name: str) -> str:
    found = re.search(rf"<{name}>([^<]*)</{name}>", text)
    return found[1] if found else ""
