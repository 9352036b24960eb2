"""Who may be assumed: the roles that exist, and the temporary credentials that STS gives for them.

moto keeps the roles of the emulator's own account; of other accounts it cannot know any. It answers STS too, but its keys are the same
for everybody: those in its answers are made here, for the door must know them.
"""

from __future__ import annotations

import json
import re
import secrets
import threading
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final
from xml.sax.saxutils import escape

from ..errors import AwsError, refused, validation
from ..http.moto import Moto
from ..http.request import Answer
from ..options import EMULATED_ACCOUNT
from .authenticator import AuthenticatedRequest
from .keys import Principal, Principals, new_key

_XML: Final = (("Content-Type", "text/xml"),)
TRUST: Final = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [
            {"Effect": "Allow", "Principal": {"Service": "sagemaker.amazonaws.com"}, "Action": "sts:AssumeRole"}
        ],
    }
)
_MEMBERS: Final = {"CreateTrainingJob": "RoleArn", "CreateModel": "ExecutionRoleArn"}
_VERSION: Final = "2010-05-08"
_ROLE: Final = re.compile(r"arn:aws:iam::(\d{12}):role/(?:.*/)?([\w+=,.@-]{1,64})")


class Roles:
    """``ready`` is set once moto has the roles that are there from the start."""

    def __init__(self, moto: Moto, ready: threading.Event) -> None:
        self._moto = moto
        self._ready = ready

    def create(self, name: str) -> None:
        """Make a role that SageMaker may assume."""
        self._moto.query("iam", "CreateRole", _VERSION, {"RoleName": name, "AssumeRolePolicyDocument": TRUST})

    def check(self, operation: str, body: Mapping[str, Any]) -> None:
        """Raise what SageMaker answers to a role that it cannot assume."""
        arn = body.get(_MEMBERS.get(operation, ""))
        if isinstance(arn, str) and arn.startswith("arn:aws:iam::") and not self.exists(arn):
            raise validation(
                f"Could not assume role {arn}. Please ensure that the role exists and allows principal 'sagemaker.amazonaws.com' "
                "to assume the role."
            )

    def simulate(self, parameters: Mapping[str, str]) -> Answer:
        """Answer SimulatePrincipalPolicy: no policy is looked at here, so a role that is there may do everything. Raises AwsError.

        SDK v3 asks it of every role that it is given or finds (core/helper/iam_role_resolver.py, _simulate_denied_actions).
        """
        arn = parameters.get("PolicySourceArn", "")
        if ":role/" not in arn or not self.exists(arn):
            raise AwsError("NoSuchEntity", f"The role with name {arn.rpartition('/')[2]} cannot be found.", 404)
        actions = [value for name, value in parameters.items() if name.startswith("ActionNames.member.")]
        resources = [value for name, value in parameters.items() if name.startswith("ResourceArns.member.")] or ["*"]
        rows = "".join(
            f"<member><EvalActionName>{escape(action)}</EvalActionName><EvalResourceName>{escape(resource)}</EvalResourceName>"
            "<EvalDecision>allowed</EvalDecision><MatchedStatements/><MissingContextValues/></member>"
            for action in actions
            for resource in resources
        )
        text = (
            '<SimulatePrincipalPolicyResponse xmlns="https://iam.amazonaws.com/doc/2010-05-08/"><SimulatePrincipalPolicyResult>'
            f"<IsTruncated>false</IsTruncated><EvaluationResults>{rows}</EvaluationResults>"
            "</SimulatePrincipalPolicyResult></SimulatePrincipalPolicyResponse>"
        )
        return Answer(200, _XML, text.encode())

    def exists(self, arn: str) -> bool:
        """Return True for a role of the emulator's account that is there, and for any of another account: it is taken at its word."""
        match = _ROLE.fullmatch(arn)
        if match is None or match[1] != EMULATED_ACCOUNT:
            return match is not None
        self._ready.wait()
        answer = self._moto.query("iam", "GetRole", _VERSION, {"RoleName": match[2]})
        return answer.status == 200 and f"<Arn>{arn}</Arn>".encode() in answer.body


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
