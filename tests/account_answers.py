"""An AWS account as a table of answers: botocore's own clients, stopped before they send (event ``before-call``)."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from email.utils import format_datetime
from io import BytesIO
from typing import Any

import jobs
from botocore.awsrequest import AWSResponse
from botocore.exceptions import EndpointConnectionError
from botocore.loaders import Loader

from sm_trn.core.aws.renewal import RenewableSession

Answer = dict[str, Any]
LOADER = Loader()  # one for all: it keeps the services' models
TRUST = json.dumps({"Statement": [{"Principal": {"Service": "sagemaker.amazonaws.com"}}]})
IMAGE: Answer = {"imageDetails": [{}]}


def allowed(parameters: Answer) -> Answer:
    """What IAM's simulator says where everything is allowed."""
    return {
        "EvaluationResults": [{"EvalActionName": name, "EvalDecision": "allowed"} for name in parameters["ActionNames"]]
    }


def denying(action: str, principal: str) -> Callable[[Answer], Answer]:
    def answer(parameters: Answer) -> Answer:
        found = allowed(parameters)
        for each in found["EvaluationResults"]:
            if each["EvalActionName"] == action and principal in parameters["PolicySourceArn"]:
                each |= {"EvalDecision": "implicitDeny", "EvalResourceName": parameters["ResourceArns"][0]}
        return found

    return answer


def group(*, itself: bool) -> Answer:
    rule = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": "sg-1"}] if itself else []}
    return {"SecurityGroups": [{"GroupId": "sg-1", "IpPermissions": [rule], "IpPermissionsEgress": [rule]}]}


def routes(*gateways: str) -> Answer:
    found = [{"DestinationCidrBlock": "0.0.0.0/0", "GatewayId": gateway, "State": "active"} for gateway in gateways]
    return {"RouteTables": [{"VpcId": "vpc-1", "Associations": [{"Main": True}], "Routes": found}]}


def quota(instance: str, value: float) -> Answer:
    return {"Quotas": [{"QuotaName": f"{instance} for training job usage", "QuotaCode": "L-1", "Value": value}]}


def healthy() -> dict[str, Any]:
    """Everything a launch needs."""
    return {
        "GetCallerIdentity": {"Arn": "arn:aws:sts::111122223333:assumed-role/people/one", "Account": "111122223333"},
        "GetRole": {"Role": {"AssumeRolePolicyDocument": TRUST}},
        "HeadBucket": {},
        "GetBucketLocation": {"LocationConstraint": jobs.REGION},
        "SimulatePrincipalPolicy": allowed,
        "ListObjectsV2": {"KeyCount": 1},
        "ListServiceQuotas": quota("ml.p4d.24xlarge", 8.0),
        "DescribeImages": IMAGE,
        "DescribeSubnets": {"Subnets": [{"SubnetId": "subnet-1", "VpcId": "vpc-1"}]},
        "DescribeRouteTables": routes("local", "vpce-1"),
        "DescribeSecurityGroups": group(itself=True),
    }


class Refused(str):
    """An error answer of the service, by its code; ``EndpointConnectionError`` stands for no answer."""

    __slots__ = ()


class Account:
    """Answers by operation; ``asked`` are the operations that were called. ``ahead_s``: our clock before AWS's."""

    def __init__(self, answers: dict[str, Any], ahead_s: float = 0.0) -> None:
        self.answers = answers
        self.asked: list[str] = []
        self.ahead_s = ahead_s

    def session(self, **named: Any) -> RenewableSession:
        made = RenewableSession(**named)
        made._session.register_component("data_loader", LOADER)
        made.events.register("before-call", self._answer)
        return made

    def _answer(self, model: Any, params: Answer, **_: Any) -> tuple[Any, Answer]:
        self.asked.append(model.name)
        found = self.answers[model.name]
        moment = datetime.now(timezone.utc).timestamp() - self.ahead_s
        headers = {"date": format_datetime(datetime.fromtimestamp(moment, timezone.utc), usegmt=True)}
        if callable(found):
            found = found(_sent(params))
        if isinstance(found, Refused):
            if found == "EndpointConnectionError":
                raise EndpointConnectionError(endpoint_url="https://sts.amazonaws.com")
            error = {"Error": {"Code": str(found), "Message": "no"}, "ResponseMetadata": {"HTTPHeaders": headers}}
            return AWSResponse("", 400, headers, _Body()), error
        where = found.get("LocationConstraint", "")  # botocore reads this one from the body
        body = f"<LocationConstraint>{where}</LocationConstraint>".encode()
        return AWSResponse("", 200, headers, _Body(body)), {
            **copy.deepcopy(found),
            "ResponseMetadata": {"HTTPHeaders": headers},
        }


class _Body(BytesIO):
    def stream(self) -> Iterator[bytes]:
        yield self.getvalue()


def _sent(params: Answer) -> Answer:
    """IAM's query protocol, as the parameters that were given."""
    body = params["body"] if isinstance(params["body"], dict) else json.loads(params["body"])
    found: Answer = {}
    for name, value in body.items():
        head, _, rest = name.partition(".member.")
        found.setdefault(head, []).append(value) if rest and "." not in rest else found.setdefault(head, value)
    return found
