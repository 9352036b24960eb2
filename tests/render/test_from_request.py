"""Reading a request loses nothing: rendered again it is the same, whatever it says, and what has a word is typed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from requests_of_the_model import requests
from strategies_of_values import specs

import sm_trn as st
from sm_trn.core.errors import SmTrnError
from sm_trn.core.jobfile import FORMATS, dump_job, load_jobs
from sm_trn.core.render import as_request, destination_of, parse_request
from sm_trn.core.specs import Destination, json_text

EXAMPLES = int(os.environ.get("SM_TRN_EXAMPLES", "150"))
SHARED = Path(__file__).resolve().parents[3] / "shared"
REQUESTS = sorted(Path(os.environ.get("SM_TRN_REQUESTS", SHARED / "requests")).glob("*.json"))
AT = Destination(
    role="arn:aws:iam::123456789012:role/r",
    region="us-east-1",
    bucket="b",
    job_name="j-1",
    source_uri="s3://b/s.tar.gz",
)


def again(job: st.JobSpec, request: dict[str, Any]) -> str:
    return json_text(st.render(job, at=destination_of(request)))


COUNTED_TWICE = {
    "TrainingJobName": "a",
    "RoleArn": "",
    "OutputDataConfig": {"S3OutputPath": "s3://b/"},
    "InputDataConfig": [],
    "ResourceConfig": {
        "InstanceCount": 2,
        "InstancePreferences": [{"InstanceType": "ml.m4.xlarge", "InstanceCount": 1}],
    },
}


@settings(max_examples=EXAMPLES)
@given(request=requests())
@example(request=COUNTED_TWICE)
def test_any_request_is_rendered_again_as_it_was(request: dict[str, Any]) -> None:
    job = parse_request(request)
    assert json_text(request) == again(job, request)
    st.check(job)  # and every rule can look at it
    for form in FORMATS:
        assert (job,) == load_jobs(dump_job(job, form), form)


@settings(max_examples=EXAMPLES)
@given(job=specs("s3://b/src"))
def test_the_request_of_any_spec_needs_nothing_kept(job: st.JobSpec) -> None:
    try:
        request = st.render(job, at=AT)
    except st.errors.UnknownName:
        return
    parsed = parse_request(request)
    assert () == tuple(part for part in parsed.kept if not part.at.startswith(("/DebugHookConfig", "/ProfilerConfig")))
    compiled = job.compiled and job.script is not None  # without a script it has no way to say it: SCRIPT010
    assert (job.compute, dict(job.tags), job.metrics, job.max_run_s, job.retries, job.checkpoints, compiled) == (
        parsed.compute, dict(parsed.tags), parsed.metrics, parsed.max_run_s, parsed.retries, parsed.checkpoints, parsed.compiled
    )  # fmt: skip


@pytest.mark.skipif(not REQUESTS, reason="the captured requests are not beside the checkout (SM_TRN_REQUESTS)")
@pytest.mark.parametrize("path", REQUESTS, ids=lambda path: path.stem)
def test_a_captured_request_of_either_sdk_is_rendered_again_as_it_was(path: Path) -> None:
    request = json.loads(path.read_text("utf-8"))
    job = parse_request(request)
    assert json_text(request) == again(job, request)
    third = "ContainerEntrypoint" in request["AlgorithmSpecification"]
    assert third == (job.script is None)
    own = {name for name in request["HyperParameters"] if third or not name.startswith(("sagemaker_", "mp_"))}
    assert own == set(job.hyperparameters)
    asked = [
        name
        for name in request["HyperParameters"]
        if name.endswith("_enabled") and request["HyperParameters"][name] == "true"
    ]
    assert bool(asked) == (job.distribution is not None or job.compiled)


@pytest.mark.parametrize(
    "broken", [{}, {"TrainingJobName": ""}, {"TrainingJobName": "a", "Tags": 3}, {"TrainingJobName": "a", "Tags": [{}]}]
)
def test_what_is_no_request_is_refused_in_words(broken: dict[str, Any]) -> None:
    with pytest.raises(SmTrnError, match="wanted a CreateTrainingJob request or a DescribeTrainingJob answer"):
        parse_request(broken)


DESCRIBED: dict[str, Any] = {
    "TrainingJobName": "j",
    "TrainingJobArn": "arn:aws:sagemaker:eu-west-1:123456789012:training-job/j",
    "TrainingJobStatus": "Completed",
    "SecondaryStatusTransitions": [],
    "RoleArn": "arn:aws:iam::123456789012:role/r",
    "AlgorithmSpecification": {"TrainingImage": "i", "TrainingInputMode": "File", "EnableSageMakerMetricsTimeSeries": False},
    "InputDataConfig": [
        {"ChannelName": "a", "CompressionType": "None", "RecordWrapperType": "None", "EnableFFM": False,
         "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://b/a"}}}
    ],
    "OutputDataConfig": {"KmsKeyId": "", "CompressionType": "GZIP", "S3OutputPath": "s3://b/"},
    "ResourceConfig": {"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 10},
    "StoppingCondition": {"MaxRuntimeInSeconds": 60},
    "EnableNetworkIsolation": False,
    "EnableManagedSpotTraining": False,
    "EnableInterContainerTrafficEncryption": False,
    "BillableTimeInSeconds": 7,
    "ProfilingStatus": "Disabled",
    "WarmPoolStatus": {"Status": "Terminated"},
}  # fmt: skip


def test_what_the_service_adds_to_a_describe_is_no_part_of_the_request() -> None:
    tags = {"team": "red", "sm_trn:git": "x@1", "aws:cloudformation": "y"}
    assert {
        "TrainingJobName": "j",
        "RoleArn": "arn:aws:iam::123456789012:role/r",
        "AlgorithmSpecification": {"TrainingImage": "i", "TrainingInputMode": "File"},
        "InputDataConfig": [
            {"ChannelName": "a", "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://b/a"}}}
        ],
        "OutputDataConfig": {"S3OutputPath": "s3://b/"},
        "ResourceConfig": {"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 10},
        "StoppingCondition": {"MaxRuntimeInSeconds": 60},
        "Tags": [{"Key": "team", "Value": "red"}],
    } == as_request(DESCRIBED, tags)


def test_a_describe_is_read_like_the_request_behind_it() -> None:
    at = destination_of(DESCRIBED)
    assert ("eu-west-1", "b") == (at.region, at.bucket)
    assert parse_request(as_request(DESCRIBED), at=at) == parse_request(DESCRIBED)


@pytest.mark.parametrize(
    ("image", "framework", "selected"),
    [
        ("763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:1.11-gpu-py38", st.PyTorch("1.11", python="py38"), True),
        ("763104351884.dkr.ecr.us-west-2.amazonaws.com/pytorch-training:1.11-gpu-py38", st.PyTorch("1.11", python="py38"), False),
        ("763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:1.11.0-cpu-py38", st.PyTorch("1.11.0", python="py38"), False),
        ("123456789012.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:1.11-gpu-py38", st.Container(), False),
        ("763104351884.dkr.ecr.us-east-1.amazonaws.com/tensorflow-training:2.11-gpu-py39", st.Container(), False),
        ("658645717510.dkr.ecr.us-east-1.amazonaws.com/smdistributed-modelparallel:2.4.1-gpu-py311-cu121",
         st.PyTorch("2.4.1", python="py311"), False),
    ],
)  # fmt: skip
def test_a_framework_is_read_from_its_image(image: str, framework: object, selected: bool) -> None:
    request = st.render(
        st.JobSpec(name="j", framework=st.Container(), image_uri=image, compute=st.Compute("ml.p4d.24xlarge")), at=AT
    )
    job = parse_request(request, at=AT)
    assert (framework, None if selected else image) == (job.framework, job.image_uri)
