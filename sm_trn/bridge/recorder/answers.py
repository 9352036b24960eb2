"""What the recorder answers: everything is there, everything has just ended well, and nothing was started.

Source of the shapes: botocore 1.44.5's service models; what launchers need of them was found by running them.
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
STOPPED: Final = "RecordedNotLaunched"


@dataclass(slots=True)
class Ledger:
    """What was created in this run, by the name of its kind and its own."""

    made: dict[tuple[str, str], dict[str, Json]] = field(default_factory=dict)
    stop_at_submit: bool = False


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


def sagemaker(ledger: Ledger, operation: str, asked: Mapping[str, Json], region: str) -> Reply:
    """The answer of an operation of SageMaker."""
    if operation.startswith("Create"):
        return _created(ledger, operation, asked, region)
    if operation.startswith("Describe"):
        return _described(ledger, operation, asked, region)
    if operation.startswith("List") or operation == "Search":
        return _json(_LISTED.get(operation, {}))
    return _json({})


def _created(ledger: Ledger, operation: str, asked: Mapping[str, Json], region: str) -> Reply:
    if ledger.stop_at_submit and operation in {
        "CreateTrainingJob",
        "CreateHyperParameterTuningJob",
        "CreateTransformJob",
    }:
        return error(STOPPED, "recorded, not launched: stopped at the first job, as asked")
    kind = operation.removeprefix("Create")
    name = str(
        asked.get(f"{kind}Name") or asked.get("HyperParameterTuningJobName") or asked.get("PipelineName") or kind
    )
    ledger.made[kind, name] = dict(asked)
    arn = _arn(kind, name, region)
    return _json({f"{kind}Arn": arn})


def _arn(kind: str, name: str, region: str) -> str:
    word = re.sub(r"(?<!^)(?=[A-Z])", "-", kind).lower()
    return f"arn:aws:sagemaker:{region}:{ACCOUNT}:{word}/{name.lower()}"


def _described(ledger: Ledger, operation: str, asked: Mapping[str, Json], region: str) -> Reply:
    kind = operation.removeprefix("Describe")
    name = next((str(value) for key, value in asked.items() if key.endswith("Name")), "")
    made = ledger.made.get((kind, name))
    extra = _ENDED.get(kind)
    body = {**(made or {}), **_named(kind, name), f"{kind}Arn": _arn(kind, name, region)}
    return _json({**body, **(extra(name, body) if extra is not None else {})})


def _named(kind: str, name: str) -> dict[str, str]:
    return {f"{kind}Name": name}


def _training_job(name: str, made: Mapping[str, Json]) -> dict[str, Json]:
    now = time.time()
    given = made.get("OutputDataConfig")
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
        **{key: made.get(key, value) for key, value in _ATTACHED.items()},
    }


# A job that nobody created here and a launcher attaches to.
_ATTACHED: Final[Mapping[str, Json]] = MappingProxyType(
    {
        "AlgorithmSpecification": {
            "TrainingImage": "763104351884.dkr.ecr.us-west-2.amazonaws.com/pytorch-training:1.13.1-gpu-py39",
            "TrainingInputMode": "File",
        },
        "RoleArn": ROLE,
        "ResourceConfig": {"InstanceCount": 1, "InstanceType": "ml.m5.xlarge", "VolumeSizeInGB": 30},
        "StoppingCondition": {"MaxRuntimeInSeconds": 86400},
        "HyperParameters": {
            "sagemaker_program": '"train.py"', "sagemaker_submit_directory": '"s3://recorded/source/sourcedir.tar.gz"',
            "sagemaker_container_log_level": "20", "sagemaker_job_name": '"recorded"', "sagemaker_region": '"us-west-2"',
        },
    }
)  # fmt: skip


def _tuning_job(name: str, made: Mapping[str, Json]) -> dict[str, Json]:
    given = made.get("TrainingJobDefinition")
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
    def ended(name: str, made: Mapping[str, Json]) -> dict[str, Json]:
        del name, made
        return {**_now(), word: value}

    return ended


def _endpoint(name: str, made: Mapping[str, Json]) -> dict[str, Json]:
    config = made.get("EndpointConfigName", name)
    return {**_now(), "EndpointStatus": "InService", "EndpointConfigName": config, "ProductionVariants": []}


def _endpoint_config(name: str, made: Mapping[str, Json]) -> dict[str, Json]:
    variants = made.get("ProductionVariants", [{"VariantName": "AllTraffic", "ModelName": name}])
    return {"ProductionVariants": variants, "CreationTime": time.time()}


def _model(name: str, made: Mapping[str, Json]) -> dict[str, Json]:
    del name
    return {"PrimaryContainer": made.get("PrimaryContainer", {}), "ExecutionRoleArn": ROLE, "CreationTime": time.time()}


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


def query(service: str, action: str, form: Mapping[str, str]) -> Reply:
    """STS and IAM: XML of the query protocol."""
    inner = _QUERY.get((service, action), _fixed(""))(form)
    result = f"<{action}Result>{inner}</{action}Result><ResponseMetadata><RequestId>r</RequestId></ResponseMetadata>"
    body = f"<{action}Response>{result}</{action}Response>"
    return Reply(200, body.encode(), "text/xml")


def _identity(form: Mapping[str, str]) -> str:
    del form
    return f"<Arn>arn:aws:sts::{ACCOUNT}:assumed-role/YOUR-ROLE/recorded</Arn><UserId>R:recorded</UserId><Account>{ACCOUNT}</Account>"


def _role(form: Mapping[str, str]) -> str:
    name = escape(form.get("RoleName", "YOUR-ROLE"))
    path = "/service-role/" if name == "YOUR-ROLE" else "/"
    return (
        f"<Role><Path>{path}</Path><RoleName>{name}</RoleName><RoleId>AROARECORDED</RoleId>"
        f"<Arn>arn:aws:iam::{ACCOUNT}:role{path}{name}</Arn><CreateDate>2022-01-01T00:00:00Z</CreateDate></Role>"
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
        ("iam", "ListAttachedRolePolicies"): _fixed("<AttachedPolicies/><IsTruncated>false</IsTruncated>"),
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
        ("ecr", "DescribeRepositories"): {"repositories": []},
        ("ecr", "GetAuthorizationToken"): {"authorizationData": []},
    }
)


def plain(service: str, operation: str) -> Reply:
    """Other JSON services: an empty answer, with the few lists that callers go through."""
    return _json(_LISTS.get((service, operation), {}))
