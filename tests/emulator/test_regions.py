"""Regions are kept apart: what is made in one of them is not there in another, not even after a restart."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from emulator.bench import GROUP, Bench, bench_of, packed, spot
from moto import mock_aws
from test_authenticator import send

from sm_trn import emulator as embedded
from sm_trn.core.errors import EmulatorError
from sm_trn.emulator import Options
from sm_trn.emulator.state.store import Store
from sm_trn.emulator.training import engine
from sm_trn.emulator.training.job import Job, dump

HERE, THERE = "us-west-2", "eu-central-1"
OPTIONS = Options(start_delay_s=0.0, stop_grace_s=1.0)
SCRIPT = """
import os, boto3
print(f'region {os.environ["AWS_REGION"]} {boto3.client("sagemaker").meta.region_name}', flush=True)
print("loss=0.5", flush=True)
"""


@pytest.mark.parametrize("region", ["", "us-west", "1e309", "us west 2", "../us-west-2", "US-WEST-2"])
def test_what_cannot_be_a_region_starts_no_emulator(tmp_path: Path, region: str) -> None:
    with pytest.raises(EmulatorError, match="wanted the name of an AWS region"):
        embedded.up(tmp_path / "state", region=region)
    assert not (tmp_path / "state").exists()


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


def test_a_state_of_before_keeps_its_jobs_in_the_region_of_their_arns(tmp_path: Path) -> None:
    store = Store(tmp_path / "emulator.db")
    request: Any = {"ResourceConfig": {"InstanceType": "ml.m5.large", "InstanceCount": 1}, "OutputDataConfig": {}}
    ended = engine.advance(engine.begin(1.7e9), engine.Event.FAIL, 1.7e9 + 1, reason="x")
    arn = f"arn:aws:sagemaker:{HERE}:000000000000:training-job/old"
    store.save_job("old", dump(Job(name="old", arn=arn, request=request, state=ended, tags={})))
    store.close()
    try:
        endpoint = embedded.up(tmp_path, region=THERE, options=OPTIONS)
        found = {
            region: [row["TrainingJobArn"] for row in bench.sagemaker.list_training_jobs()["TrainingJobSummaries"]]
            for region in (HERE, THERE)
            for bench in (bench_of(replace(endpoint, region=region)),)
        }
        assert {HERE: [arn], THERE: []} == found
        embedded.reset(tmp_path)
        assert [] == [path.name for path in tmp_path.iterdir() if path.is_dir()]
    finally:
        embedded.down(tmp_path)


def test_clients_under_motos_mock_are_kept_apart_too() -> None:
    with mock_aws(), embedded.mocked(region=HERE):
        groups = {
            region: boto3.client("sagemaker", region_name=region, aws_access_key_id="a", aws_secret_access_key="b")
            for region in (HERE, THERE)
        }
        made = groups[THERE].create_model(
            ModelName="m", ExecutionRoleArn="arn:aws:iam::111122223333:role/r", PrimaryContainer={"Image": "i"}
        )
        assert f":{THERE}:" in made["ModelArn"]
        assert ([], ["m"]) == tuple(
            [row["ModelName"] for row in each.list_models()["Models"]] for each in groups.values()
        )


def test_many_that_ask_for_a_new_region_at_once_get_the_same_one(benches: dict[str, Bench]) -> None:
    bench = bench_of(replace(benches[HERE].endpoint, region="ap-southeast-1"))
    failed: list[Exception] = []

    def make(number: int) -> None:
        try:
            bench.sagemaker.create_model(
                ModelName=f"m{number}", ExecutionRoleArn=bench.endpoint.role_arn, PrimaryContainer={"Image": "i"}
            )
        except ClientError as error:
            failed.append(error)

    threads = [threading.Thread(target=make, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ([], 8) == (failed, len(bench.sagemaker.list_models()["Models"]))
