"""The IAM roles that exist: moto keeps those of the emulator's own account; of other accounts it cannot know any."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from ...core.specs.snapshot import EMULATED_ACCOUNT
from ..errors import AwsError, validation
from ..http.response import Answer

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping

    from ..http.moto import Moto

_MEMBERS: Final = {"CreateTrainingJob": "RoleArn", "CreateProcessingJob": "RoleArn", "CreateModel": "ExecutionRoleArn"}
_HOUR: Final = 3600  # a role's MaxSessionDuration where nobody set it


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    arn: str
    id: str
    longest_s: int


class Roles:
    """``ready`` is set once moto has the roles that are there from the start."""

    def __init__(self, moto: Moto, ready: threading.Event) -> None:
        self._moto = moto
        self._ready = ready

    def check(self, operation: str, body: Mapping[str, Any]) -> None:
        """Raise what SageMaker answers to a role that it cannot assume."""
        arn = body.get(_MEMBERS.get(operation, ""))
        if isinstance(arn, str) and arn.startswith("arn:aws:iam::") and self.find(arn) is None:
            raise validation(
                f"Could not assume role {arn}. Please ensure that the role exists and allows principal 'sagemaker.amazonaws.com' "
                "to assume the role."
            )

    def simulate(self, parameters: Mapping[str, str]) -> Answer:
        """Answer SimulatePrincipalPolicy: no policy is looked at here, so a role that is there may do everything. Raises AwsError.

        SDK v3 asks it of every role that it is given or finds (core/helper/iam_role_resolver.py, _simulate_denied_actions).
        """
        arn = parameters.get("PolicySourceArn", "")
        if ":role/" not in arn or self.find(arn) is None:
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
        return Answer(200, (("Content-Type", "text/xml"),), text.encode())

    def find(self, arn: str) -> Role | None:
        """Find a role; None where the emulator's account has no such role. One of another account is taken at its word."""
        account, _, path = arn.removeprefix("arn:aws:iam::").partition(":role/")
        name = path.rpartition("/")[2]
        if account != EMULATED_ACCOUNT:
            return Role(arn=arn, id="AROASMTRNELSEWHERE", longest_s=12 * _HOUR)
        self._ready.wait()
        answer = self._moto.query("iam", "GetRole", "2010-05-08", {"RoleName": name})
        if answer.status != 200 or not isinstance(answer.body, bytes):
            return None
        facts = {node.tag.rpartition("}")[2]: node.text or "" for node in ElementTree.fromstring(answer.body).iter()}  # noqa: S314 - moto's own words
        if facts.get("Arn") != arn:
            return None
        return Role(arn=arn, id=facts["RoleId"], longest_s=int(facts.get("MaxSessionDuration") or _HOUR))
