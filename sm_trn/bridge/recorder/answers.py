"""Answers of the recorder: everything is there, everything has just ended well, and nothing was started.

Source of the shapes: botocore 1.44.5's service models; what launchers need of them was seen by running them.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import tarfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final
from xml.sax.saxutils import escape

from ...core.specs.json import Json

ACCOUNT: Final = "111122223333"
ROLE: Final = f"arn:aws:iam::{ACCOUNT}:role/service-role/YOUR-ROLE"


@dataclass(slots=True)
class Ledger:
    """Everything that was created in this run, by the name of its kind and its own."""

    created: dict[tuple[str, str], dict[str, Json]] = field(default_factory=dict)
    role: str = ROLE


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer over HTTP."""

    status: int
    body: bytes
    kind: str = "application/x-amz-json-1.1"
    headers: Mapping[str, str] = field(default_factory=dict)


def empty_archive() -> bytes:
    """The model, or the source, of a job that has just ended well: an archive with nothing in it. SDK v2 unpacks both to deploy."""
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as body, tarfile.open(fileobj=body, mode="w"):
        pass
    return packed.getvalue()


def sagemaker(ledger: Ledger, operation: str, request: Mapping[str, Json], region: str) -> Reply:
    """The answer of an operation of SageMaker."""
    if operation.startswith("Create"):
        return _created(ledger, operation, request, region)
    if operation.startswith("Describe"):
        return _described(ledger, operation, request, region)
    if operation.startswith("List") or operation == "Search":
        return _json(_LISTED.get(operation, {}))
    return _json({})


def _created(ledger: Ledger, operation: str, request: Mapping[str, Json], region: str) -> Reply:
    kind = operation.removeprefix("Create")
    name = str(
        request.get(f"{kind}Name") or request.get("HyperParameterTuningJobName") or request.get("PipelineName") or kind
    )
    ledger.created[kind, name] = dict(request)
    arn = _arn(kind, name, region)
    return _json({f"{kind}Arn": arn})


def _arn(kind: str, name: str, region: str) -> str:
    word = re.sub(r"(?<!^)(?=[A-Z])", "-", kind).lower()
    return f"arn:aws:sagemaker:{region}:{ACCOUNT}:{word}/{name.lower()}"


def _described(ledger: Ledger, operation: str, request: Mapping[str, Json], region: str) -> Reply:
    kind = operation.removeprefix("Describe")
    name = next((str(value) for key, value in request.items() if key.endswith("Name")), "")
    row = ledger.created.get((kind, name))
    extra = _ENDED.get(kind)
    body = {**(row or {}), **_named(kind, name), f"{kind}Arn": _arn(kind, name, region)}
    return _json({**body, **(extra(name, body) if extra is not None else {})})


def _named(kind: str, name: str) -> dict[str, str]:
    return {f"{kind}Name": name}


def _training_job(name: str, row: Mapping[str, Json]) -> dict[str, Json]:
    now = time.time()
    given = row.get("OutputDataConfig")
    output = given if isinstance(given, Mapping) else {"S3OutputPath": "s3://recorded/"}
    place = str(output.get("S3OutputPath", "")).rstrip("/")
    return {
        "TrainingJobStatus": "Completed",
        "SecondaryStatus": "Completed",
        "SecondaryStatusTransitions": [
            {"Status": "Completed", "StartTime": now, "EndTime": now, "StatusMessage": "recorded, not launched"}
        ],
        "CreationTime": now,
        "TrainingStartTime": now,
        "TrainingEndTime": now,
        "LastModifiedTime": now,
        "BillableTimeInSeconds": 1,
        "TrainingTimeInSeconds": 1,  # SDK v2 divides by it to tell what spot has saved
        "ModelArtifacts": {"S3ModelArtifacts": f"{place}/{name}/output/model.tar.gz"},
        "OutputDataConfig": {"KmsKeyId": "", **output},
        "FinalMetricDataList": [],
    }


def _tuning_job(name: str, row: Mapping[str, Json]) -> dict[str, Json]:
    given = row.get("TrainingJobDefinition")
    definition = given if isinstance(given, Mapping) else {}
    return {
        "HyperParameterTuningJobStatus": "Completed",
        "CreationTime": time.time(),
        "TrainingJobStatusCounters": {"Completed": 1, "InProgress": 0, "RetryableError": 0, "NonRetryableError": 0, "Stopped": 0},
        "ObjectiveStatusCounters": {"Succeeded": 1, "Pending": 0, "Failed": 0},
        "BestTrainingJob": {
            "TrainingJobName": f"{name}-001", "TrainingJobArn": _arn("TrainingJob", f"{name}-001", "us-west-2"),
            "CreationTime": time.time(), "TrainingJobStatus": "Completed", "TunedHyperParameters": {}, "ObjectiveStatus": "Succeeded",
            "TrainingJobDefinitionName": str(definition.get("DefinitionName", "")),
            "FinalHyperParameterTuningJobObjectiveMetric": {"MetricName": "recorded", "Value": 0.0},
        },
    }  # fmt: skip


def _status(word: str, value: str) -> Callable[[str, Mapping[str, Json]], dict[str, Json]]:
    def ended(name: str, row: Mapping[str, Json]) -> dict[str, Json]:
        del name, row
        return {**_now(), word: value}

    return ended


def _endpoint(name: str, row: Mapping[str, Json]) -> dict[str, Json]:
    config = row.get("EndpointConfigName", name)
    return {**_now(), "EndpointStatus": "InService", "EndpointConfigName": config, "ProductionVariants": []}


def _endpoint_config(name: str, row: Mapping[str, Json]) -> dict[str, Json]:
    variants = row.get("ProductionVariants", [{"VariantName": "AllTraffic", "ModelName": name}])
    return {"ProductionVariants": variants, "CreationTime": time.time()}


def _model(name: str, row: Mapping[str, Json]) -> dict[str, Json]:
    del name
    return {"PrimaryContainer": row.get("PrimaryContainer", {}), "ExecutionRoleArn": ROLE, "CreationTime": time.time()}


def _now() -> dict[str, float]:
    return {"CreationTime": time.time(), "LastModifiedTime": time.time()}


def _fixed(xml: str) -> Callable[[Mapping[str, str]], str]:
    def answer(form: Mapping[str, str]) -> str:
        del form
        return xml

    return answer


_ENDED: Final[Mapping[str, Callable[[str, Mapping[str, Json]], dict[str, Json]]]] = MappingProxyType(
    {
        "TrainingJob": _training_job,
        "HyperParameterTuningJob": _tuning_job,
        "Endpoint": _endpoint,
        "EndpointConfig": _endpoint_config,
        "Model": _model,
        "TransformJob": _status("TransformJobStatus", "Completed"),
        "ProcessingJob": _status("ProcessingJobStatus", "Completed"),
        "Pipeline": _status("PipelineStatus", "Active"),
        "PipelineExecution": _status("PipelineExecutionStatus", "Succeeded"),
    }
)
_LISTED: Final[Mapping[str, Mapping[str, Json]]] = MappingProxyType(
    {
        "ListTrainingJobsForHyperParameterTuningJob": {"TrainingJobSummaries": []},
        "ListTags": {"Tags": []},
        "ListTrainingJobs": {"TrainingJobSummaries": []},
        "Search": {"Results": []},
    }
)


def query(ledger: Ledger, service: str, action: str, form: Mapping[str, str]) -> Reply:
    """STS and IAM: XML of the query protocol."""
    inner = _QUERY.get((service, action), _fixed(""))({"OwnRole": ledger.role, **form})
    result = f"<{action}Result>{inner}</{action}Result><ResponseMetadata><RequestId>r</RequestId></ResponseMetadata>"
    body = f"<{action}Response>{result}</{action}Response>"
    return Reply(200, body.encode(), "text/xml")


def _identity(form: Mapping[str, str]) -> str:
    account, name = form["OwnRole"].split(":")[4], form["OwnRole"].rpartition("/")[2]
    arn = f"arn:aws:sts::{account}:assumed-role/{name}/recorded"
    return f"<Arn>{arn}</Arn><UserId>R:recorded</UserId><Account>{account}</Account>"


def _role(form: Mapping[str, str]) -> str:
    own, account = form["OwnRole"], form["OwnRole"].split(":")[4]
    name = form.get("RoleName", own.rpartition("/")[2])
    arn = own if name == own.rpartition("/")[2] else f"arn:aws:iam::{account}:role/{name}"
    path = arn.partition(":role")[2].removesuffix(name)
    return (
        f"<Role><Path>{escape(path)}</Path><RoleName>{escape(name)}</RoleName><RoleId>AROARECORDED</RoleId>"
        f"<Arn>{escape(arn)}</Arn><CreateDate>2022-01-01T00:00:00Z</CreateDate></Role>"
    )


def _allowed(form: Mapping[str, str]) -> str:
    members = "".join(
        f"<member><EvalActionName>{re.sub('[^A-Za-z0-9:*]', '', value)}</EvalActionName><EvalDecision>allowed</EvalDecision></member>"
        for key, value in form.items()
        if key.startswith("ActionNames")
    )
    return f"<EvaluationResults>{members}</EvaluationResults><IsTruncated>false</IsTruncated>"


_QUERY: Final[Mapping[tuple[str, str], Callable[[Mapping[str, str]], str]]] = MappingProxyType(
    {
        ("sts", "GetCallerIdentity"): _identity,
        ("sts", "AssumeRole"): _fixed(
            "<Credentials><AccessKeyId>ASIARECORDEDNOTLAUNC</AccessKeyId><SecretAccessKey>recorded</SecretAccessKey>"
            "<SessionToken>recorded</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration></Credentials>"
        ),
        ("iam", "GetRole"): _role,
        ("iam", "CreateRole"): _role,
        ("iam", "SimulatePrincipalPolicy"): _allowed,
    }
)


def _json(body: Mapping[str, Json]) -> Reply:
    return Reply(200, json.dumps(body, default=str).encode())


def error(code: str, message: str, status: int = 400) -> Reply:
    """An error of a JSON service."""
    return Reply(status, json.dumps({"__type": code, "message": message}).encode(), headers={"x-amzn-errortype": code})


_LISTS: Final[Mapping[tuple[str, str], Mapping[str, Json]]] = MappingProxyType(
    {
        ("logs", "DescribeLogStreams"): {"logStreams": []},
        ("logs", "GetLogEvents"): {"events": [], "nextForwardToken": "f/1", "nextBackwardToken": "b/1"},
    }
)


def plain(service: str, operation: str) -> Reply:
    """Other JSON services: an empty answer, with the few lists that callers go through."""
    return _json(_LISTS.get((service, operation), {}))
