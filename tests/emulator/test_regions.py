"""Regions are kept apart: what is made in one of them is not there in another, not even after a restart."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from emulator.bench import GROUP, Bench, bench_of, packed, spot
from test_authenticator import send

from sm_trn import emulator as embedded
from sm_trn.emulator import Options

HERE, THERE = "us-west-2", "eu-central-1"
OPTIONS = Options(start_delay_s=0.0, stop_grace_s=1.0)
SCRIPT = """
import os, boto3
print(f'region {os.environ["AWS_REGION"]} {boto3.client("sagemaker").meta.region_name}', flush=True)
print("loss=0.5", flush=True)
"""


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("regions")
    try:
        yield folder
    finally:
        embedded.down(folder)


@pytest.fixture(scope="module")
def benches(state: Path) -> dict[str, Bench]:
    """One emulator, asked from two regions; a job and a model of the same names in both."""
    return restarted(state)


def restarted(state: Path) -> dict[str, Bench]:
    endpoint = embedded.up(state, region=HERE, options=OPTIONS)
    return {region: bench_of(replace(endpoint, region=region)) for region in (HERE, THERE)}


@pytest.fixture(scope="module")
def described(benches: dict[str, Bench]) -> dict[str, dict[str, Any]]:
    here = benches[HERE]
    request = here.request(
        SCRIPT,
        TrainingJobName="same",
        AlgorithmSpecification={
            "TrainingImage": "i",
            "TrainingInputMode": "File",
            "MetricDefinitions": [{"Name": "loss", "Regex": "loss=([0-9.]+)"}],
        },
    )
    for region, bench in benches.items():
        bench.sagemaker.create_training_job(**request, Tags=[{"Key": "where", "Value": region}])
    return {region: bench.finished("same") for region, bench in benches.items()}


def test_a_job_of_each_region_has_its_own_name_arn_log_tags_and_environment(
    benches: dict[str, Bench], described: dict[str, dict[str, Any]]
) -> None:
    for region, bench in benches.items():
        answer = described[region]
        assert ("Completed", f"arn:aws:sagemaker:{region}:000000000000:training-job/same") == (
            answer["TrainingJobStatus"],
            answer["TrainingJobArn"],
        )
        assert [line for line in bench.lines("same") if line.startswith("region")] == [f"region {region} {region}"]
        assert 1 == len(bench.streams("same"))
        tags = bench.sagemaker.list_tags(ResourceArn=answer["TrainingJobArn"])["Tags"]
        assert {"Key": "where", "Value": region} in tags
        groups = bench.logs.describe_log_groups(logGroupNamePrefix=GROUP)["logGroups"]
        assert [GROUP] == [group["logGroupName"] for group in groups]
        points = bench.client("cloudwatch").list_metrics(Namespace="/aws/sagemaker/TrainingJobs")["Metrics"]
        assert ["same"] == [row["Value"] for point in points for row in point["Dimensions"]]


def test_what_one_region_has_another_has_not(benches: dict[str, Bench], described: dict[str, dict[str, Any]]) -> None:
    here, there = benches[HERE], benches[THERE]
    assert described
    name = there.submit("import time; print('on', flush=True); time.sleep(60)", **spot(60, 60))
    there.said(name, "on")
    assert name not in {row["TrainingJobName"] for row in here.sagemaker.list_training_jobs()["TrainingJobSummaries"]}
    assert [] == here.streams(name)
    for call in (
        lambda: here.describe(name),
        lambda: here.sagemaker.stop_training_job(TrainingJobName=name),
        lambda: here.sagemaker.list_tags(ResourceArn=there.describe(name)["TrainingJobArn"]),
    ):
        with pytest.raises(ClientError, match="ValidationException"):
            call()
    counted = embedded.status(here.endpoint.state).jobs
    assert counted["InProgress"] >= 1
    embedded.interrupt(name, here.endpoint.state)  # by its name, wherever it is
    there.until(
        name, lambda answer: 2 == [row["Status"] for row in answer["SecondaryStatusTransitions"]].count("Starting")
    )
    there.sagemaker.stop_training_job(TrainingJobName=name)
    there.finished(name)


def test_models_and_endpoints_are_of_their_region(benches: dict[str, Bench]) -> None:
    here, there = benches[HERE], benches[THERE]
    model = packed({"code/inference.py": "def model_fn(_): return 1\ndef predict_fn(_data, model): return model\n"})
    name = there.deploy(model)
    asked = {"EndpointName": name, "Body": b"[1]", "ContentType": "application/json"}
    assert 1 == json.loads(there.client("sagemaker-runtime").invoke_endpoint(**asked)["Body"].read())
    with pytest.raises(ClientError, match="not found"):
        here.client("sagemaker-runtime").invoke_endpoint(**asked)
    for list_them, key in (
        ("list_models", "Models"),
        ("list_endpoint_configs", "EndpointConfigs"),
        ("list_endpoints", "Endpoints"),
    ):
        assert (0, 1) == tuple(len(getattr(each.sagemaker, list_them)()[key]) for each in (here, there))
    with pytest.raises(ClientError, match="Could not find model"):
        here.config(there.sagemaker.list_models()["Models"][0]["ModelName"])
    there.sagemaker.delete_endpoint(EndpointName=name)


def test_buckets_are_everybodys(benches: dict[str, Bench]) -> None:
    benches[HERE].s3.put_object(Bucket=benches[HERE].endpoint.bucket, Key="shared", Body=b"1")
    assert b"1" == benches[THERE].s3.get_object(Bucket=benches[HERE].endpoint.bucket, Key="shared")["Body"].read()


@pytest.mark.parametrize("name", ["../../etc", "nowhere", "US-WEST-2", "us-west-2%2f..", "."])
def test_a_name_that_no_region_has_is_refused(benches: dict[str, Bench], name: str) -> None:
    endpoint = benches[HERE].endpoint
    assert 403 == send(replace(endpoint, region=name))[0]
    assert {"eu-central-1"} >= {path.name for path in (endpoint.state / "regions").iterdir()} - {"ap-southeast-1"}


def test_each_region_has_its_own_after_a_restart(state: Path, described: dict[str, dict[str, Any]]) -> None:
    assert embedded.down(state)
    again = restarted(state)
    for region, bench in again.items():
        assert described[region] | {"ResponseMetadata": 0} == bench.describe("same") | {"ResponseMetadata": 0}
        assert f"region {region} {region}" in bench.lines("same")
