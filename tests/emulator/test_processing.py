"""Processing jobs: a script with data of S3 and what it leaves there, what ends one, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest
from emulator.bench import TERMINAL, Bench
from emulator.contract import World
from waiting import within

from sm_trn.emulator.errors import AwsError

pytest.importorskip("boto3")
ROLE = "arn:aws:iam::000000000000:role/SageMakerExecutionRole"
CLUSTER = {"ClusterConfig": {"InstanceCount": 1, "InstanceType": "ml.m5.large", "VolumeSizeInGB": 1}}
FOLDER = "/opt/ml/processing"


def request(name: str, *command: str, **members: Any) -> dict[str, Any]:
    application = {
        "ImageUri": "image",
        "ContainerEntrypoint": list(command[:1]),
        "ContainerArguments": list(command[1:]),
    }
    if not command[1:]:
        del application["ContainerArguments"]
    base = {"ProcessingJobName": name, "RoleArn": ROLE, "ProcessingResources": CLUSTER, "AppSpecification": application}
    return {**base, **members}


def source(name: str, uri: str, path: str, **more: str) -> dict[str, Any]:
    asked = {"S3Uri": uri, "LocalPath": path, "S3DataType": "S3Prefix", "S3InputMode": "File", **more}
    return {"InputName": name, "S3Input": asked}


def output(name: str, uri: str, path: str, mode: str = "EndOfJob") -> dict[str, Any]:
    return {"OutputName": name, "S3Output": {"S3Uri": uri, "LocalPath": path, "S3UploadMode": mode}}


def ended(bench: Bench, name: str, seconds: float = 60) -> Mapping[str, Any]:
    look = partial(bench.sagemaker.describe_processing_job, ProcessingJobName=name)
    assert within(lambda: look()["ProcessingJobStatus"] in TERMINAL, seconds), look()
    return dict(look())


def lines(bench: Bench, name: str) -> list[str]:
    found = bench.logs.filter_log_events(logGroupName="/aws/sagemaker/ProcessingJobs", logStreamNamePrefix=f"{name}/")
    return [event["message"] for event in found["events"]]


def stored(bench: Bench, prefix: str) -> dict[str, bytes]:
    found = bench.s3.list_objects_v2(Bucket=bench.endpoint.bucket, Prefix=prefix).get("Contents", [])
    keys = [each["Key"] for each in found]
    return {
        key.removeprefix(prefix): bench.s3.get_object(Bucket=bench.endpoint.bucket, Key=key)["Body"].read()
        for key in keys
    }


@pytest.mark.local
def test_a_script_reads_its_inputs_and_leaves_its_outputs(bench: Bench) -> None:
    base = f"s3://{bench.endpoint.bucket}/processing"
    script = (
        "import json, os, pathlib, sys\nroot = pathlib.Path(os.environ.get('SAGEMAKER_BASE_DIR', '/opt/ml'))\n"
        "data = root / 'processing'\nprint('argument', sys.argv[1], os.environ['LEVEL'])\n"
        "(data / 'out' / 'deep').mkdir()\n"
        "(data / 'out' / 'deep' / 'a.txt').write_text((data / 'in' / 'sub' / 'a.txt').read_text().upper())\n"
        "job = json.loads((root / 'config' / 'processingjobconfig.json').read_text())\n"
        "(data / 'out' / 'job').write_text(job['ProcessingJobArn'])\n"
        "print(json.loads((root / 'config' / 'resourceconfig.json').read_text()))\n"
        "(root / 'output' / 'message').write_text('done with it')\n"
    )
    bench.s3.put_object(Bucket=bench.endpoint.bucket, Key="processing/code/main.py", Body=script.encode())
    bench.s3.put_object(Bucket=bench.endpoint.bucket, Key="processing/in/sub/a.txt", Body=b"text")
    bench.sagemaker.create_processing_job(
        **request(
            "reads-and-writes", "python3", f"{FOLDER}/input/code/main.py", "--fast",
            Environment={"LEVEL": "7"},
            ProcessingInputs=[source("code", f"{base}/code/main.py", f"{FOLDER}/input/code"),
                              source("in", f"{base}/in", f"{FOLDER}/in")],
            ProcessingOutputConfig={"Outputs": [output("out", f"{base}/out", f"{FOLDER}/out")]},
            Tags=[{"Key": "k", "Value": "v"}],
        )
    )  # fmt: skip
    found = ended(bench, "reads-and-writes")
    said = lines(bench, "reads-and-writes")
    assert "Completed" == found["ProcessingJobStatus"], said
    assert "done with it" == found["ExitMessage"]
    assert found["CreationTime"] <= found["ProcessingStartTime"] <= found["ProcessingEndTime"]
    assert {"deep/a.txt": b"TEXT", "job": found["ProcessingJobArn"].encode()} == stored(bench, "processing/out/")
    assert "argument --fast 7" in said
    assert {"Key": "k", "Value": "v"} in bench.sagemaker.list_tags(ResourceArn=found["ProcessingJobArn"])["Tags"]


@pytest.mark.local
def test_one_that_fails_says_its_exit_code_and_leaves_only_what_is_uploaded_as_it_goes(bench: Bench) -> None:
    base = f"s3://{bench.endpoint.bucket}/failing"
    script = 'd="${SAGEMAKER_BASE_DIR:-/opt/ml}/processing"; for f in end now; do echo x > "$d/$f/x"; done; exit 3'
    outputs = [
        output("end", f"{base}/end", f"{FOLDER}/end"),
        output("now", f"{base}/now", f"{FOLDER}/now", "Continuous"),
    ]
    members = {"ProcessingOutputConfig": {"Outputs": outputs}}
    bench.sagemaker.create_processing_job(**request("failing", "/bin/sh", "-c", script, **members))
    found = ended(bench, "failing")
    assert "Failed" == found["ProcessingJobStatus"]
    assert found["FailureReason"].startswith("AlgorithmError:")
    assert found["FailureReason"].endswith("exit code: 3")
    assert {"now/x": b"x\n"} == stored(bench, "failing/")


@pytest.mark.local
def test_every_host_gets_its_shard_and_their_outputs_are_one(bench: Bench) -> None:
    base = f"s3://{bench.endpoint.bucket}/shards"
    for name in "abcd":
        bench.s3.put_object(Bucket=bench.endpoint.bucket, Key=f"shards/in/{name}", Body=name.encode())
    bench.sagemaker.create_processing_job(
        **request(
            "shards", "/bin/sh", "-c", 'd="${SAGEMAKER_BASE_DIR:-/opt/ml}/processing"; cp "$d"/in/* "$d/out/"; ls "$d/in"',
            ProcessingResources={"ClusterConfig": {**CLUSTER["ClusterConfig"], "InstanceCount": 2}},
            ProcessingInputs=[source("in", f"{base}/in", f"{FOLDER}/in", S3DataDistributionType="ShardedByS3Key")],
            ProcessingOutputConfig={"Outputs": [output("out", f"{base}/out", f"{FOLDER}/out")]},
        )
    )  # fmt: skip
    assert "Completed" == ended(bench, "shards")["ProcessingJobStatus"], lines(bench, "shards")
    assert {name: name.encode() for name in "abcd"} == stored(bench, "shards/out/")
    assert sorted("abcd") == sorted(line for line in lines(bench, "shards") if len(line) == 1)


@pytest.mark.local
@pytest.mark.parametrize("how", ["stop", "time"])
def test_one_that_does_not_end_is_ended(bench: Bench, how: str) -> None:
    limits = {"StoppingCondition": {"MaxRuntimeInSeconds": 1}} if how == "time" else {}
    name = f"endless-{how}"
    bench.sagemaker.create_processing_job(**request(name, "/bin/sh", "-c", "echo up; exec sleep 600", **limits))
    if how == "stop":
        bench.sagemaker.stop_processing_job(ProcessingJobName=name)
    assert "Stopped" == ended(bench, name)["ProcessingJobStatus"]
    with pytest.raises(Exception, match="is in status Stopped"):
        bench.sagemaker.stop_processing_job(ProcessingJobName=name)
    bench.sagemaker.delete_processing_job(ProcessingJobName=name)
    with pytest.raises(Exception, match="Could not find processing job"):
        bench.sagemaker.describe_processing_job(ProcessingJobName=name)


@pytest.mark.local
def test_an_image_alone_cannot_be_run(bench: Bench) -> None:
    body = request("image-alone", "x")
    del body["AppSpecification"]["ContainerEntrypoint"]
    bench.sagemaker.create_processing_job(**body)
    assert "has no images" in ended(bench, "image-alone")["FailureReason"]


def refusal(body: dict[str, Any]) -> str:
    with pytest.raises(AwsError) as caught:
        World().table.answer("CreateProcessingJob", json.loads(json.dumps(body)))
    return f"{caught.value.code}: {caught.value.message}"


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"ProcessingInputs": [source("a", "s3://b/missing", f"{FOLDER}/a")]}, "No S3 objects found"),
        ({"ProcessingInputs": [source("a", "s3://b/k", "/etc")]}, "wanted a path below"),
        ({"ProcessingInputs": [source("a", "s3://b/k", f"{FOLDER}/../../etc")]}, "wanted a path below"),
        ({"ProcessingInputs": [source("a", "s3://b/k", f"{FOLDER}/a", S3InputMode="Pipe")]}, "no Pipe"),
        ({"ProcessingInputs": [{"InputName": "a", "DatasetDefinition": {}}]}, "data of S3 only, got a"),
        (
            {
                "ProcessingOutputConfig": {
                    "Outputs": [{"OutputName": "o", "FeatureStoreOutput": {"FeatureGroupName": "g"}}]
                }
            },
            "data of S3 only, got o",
        ),
        ({"ProcessingOutputConfig": {"Outputs": [output("o", "s3://b/k", f"{FOLDER}s")]}}, "wanted a path below"),
        (
            {"ProcessingResources": {"ClusterConfig": {**CLUSTER["ClusterConfig"], "InstanceCount": 17}}},
            "ResourceLimitExceeded",
        ),
        ({"ProcessingResources": {"ClusterConfig": {"VolumeSizeInGB": 1}}}, "wanted InstanceCount"),
    ],
)
def test_what_is_not_processed_here_is_refused_with_the_reason(members: dict[str, Any], said: str) -> None:
    assert said in refusal({**request("a", "true"), **members})


def test_jobs_are_listed_by_status_and_name() -> None:
    world = World()
    for name in ("one", "two"):
        world.ask("CreateProcessingJob", request(name, "true"))
    world.resources.change("processing-job", "one", status="Completed")
    found = world.ask("ListProcessingJobs", {"StatusEquals": "Completed", "NameContains": "o"}) or {}
    assert ["one"] == [row["ProcessingJobName"] for row in found["ProcessingJobSummaries"]]
    with pytest.raises(AwsError, match="ResourceInUse"):
        world.table.answer("CreateProcessingJob", request("one", "true"))
