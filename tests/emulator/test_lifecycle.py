"""Jobs from request to artifact, run by the real toolkit and driven through boto3."""

from __future__ import annotations

import importlib.util
import time
from typing import Any

import pytest
from botocore.exceptions import ClientError
from emulator.bench import GROUP, Bench, shell, unpacked

ALL_REDUCE = """
    import os, pathlib
    import torch
    import torch.distributed as dist
    dist.init_process_group("gloo")
    total = torch.tensor([dist.get_rank() + 1.0])
    dist.all_reduce(total)
    print(f"sum {total.item()} rank {dist.get_rank()} of {dist.get_world_size()} on {os.uname().nodename}")
    pathlib.Path(os.environ["SM_MODEL_DIR"], f"rank-{dist.get_rank()}.txt").write_text("here")
    dist.destroy_process_group()
"""
STEPS = ["Starting", "Downloading", "Training", "Uploading", "Completed"]


def resources(instance: str, count: int) -> dict[str, Any]:
    return {"InstanceType": instance, "InstanceCount": count, "VolumeSizeInGB": 10}


def steps(answer: dict[str, Any]) -> list[str]:
    return [row["Status"] for row in answer["SecondaryStatusTransitions"] if row["Status"] != "Pending"]


@pytest.fixture(scope="module")
def completed(bench: Bench) -> dict[str, Any]:
    """A finished job that has a bit of everything."""
    bench.s3.put_object(Bucket=bench.endpoint.bucket, Key="data/train/a.txt", Body=b"alpha")
    bench.s3.put_object(Bucket=bench.endpoint.bucket, Key="data/train/deep/b.txt", Body=b"beta")
    source = {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": f"s3://{bench.endpoint.bucket}/data/train"}}
    name = bench.submit(
        """
        import json, os, pathlib, sys
        data = pathlib.Path(os.environ["SM_CHANNEL_TRAIN"])
        print(f"data {sorted(str(path.relative_to(data)) for path in data.rglob('*.txt'))}")
        print(f"arguments {sys.argv[1:]}")
        print(f"asked {os.environ['ASKED']} {os.environ['TRAINING_JOB_NAME']}")
        config = pathlib.Path(os.environ["SM_INPUT_DIR"], "config")
        print(f"files {sorted(path.name for path in config.iterdir())}")
        print("first\\rsecond\\rthird")
        for step, loss in enumerate((0.5, 0.25, 0.125)):
            print({"loss": loss, "step": step})
        model = pathlib.Path(os.environ["SM_MODEL_DIR"])
        model.joinpath("weights").mkdir()
        model.joinpath("weights/w.bin").write_bytes(b"1234")
        model.joinpath("inside").symlink_to("weights/w.bin")
        model.joinpath("outside").symlink_to("/etc/passwd")
        os.mkfifo(model / "pipe")
        pathlib.Path(os.environ["SM_OUTPUT_DATA_DIR"], "report.txt").write_text("fine")
        """,
        {"epochs": 3, "name": "a b", "flag": True},
        AlgorithmSpecification={
            "TrainingImage": "example",
            "TrainingInputMode": "File",
            "MetricDefinitions": [
                {"Name": "loss", "Regex": "'loss': ([0-9.]+)"},
                {"Name": "broken", "Regex": "("},
                {"Name": "endless", "Regex": "(a+)+$"},
                {"Name": "never", "Regex": "accuracy ([0-9.]+)"},
            ],
        },
        InputDataConfig=[{"ChannelName": "train", "DataSource": source}],
        Environment={"ASKED": "yes"},
        Tags=[{"Key": "owner", "Value": "me"}],
    )
    return bench.finished(name)


def test_a_job_passes_through_the_services_statuses(completed: dict[str, Any]) -> None:
    assert ("Completed", STEPS) == (completed["TrainingJobStatus"], steps(completed))


def test_the_script_gets_data_arguments_and_configuration(bench: Bench, completed: dict[str, Any]) -> None:
    assert {
        "data ['a.txt', 'deep/b.txt']",
        "arguments ['--epochs', '3', '--flag', 'True', '--name', 'a b']",
        f"asked yes {completed['TrainingJobName']}",
        "files ['hyperparameters.json', 'inputdataconfig.json', 'resourceconfig.json']",
    } <= set(bench.lines(completed["TrainingJobName"]))


def test_metrics_are_read_from_the_log_whatever_the_other_expressions_do(
    bench: Bench, completed: dict[str, Any]
) -> None:
    assert [("loss", 0.125)] == [(m["MetricName"], m["Value"]) for m in completed["FinalMetricDataList"]]
    assert "metric 'broken' is off" in "\n".join(bench.lines(completed["TrainingJobName"]))


def test_metrics_reach_cloudwatch(bench: Bench, completed: dict[str, Any]) -> None:
    found = bench.client("cloudwatch").get_metric_statistics(
        Namespace=GROUP,
        MetricName="loss",
        Dimensions=[{"Name": "TrainingJobName", "Value": completed["TrainingJobName"]}],
        StartTime=completed["CreationTime"],
        EndTime=time.time() + 60,
        Period=60,
        Statistics=["Minimum", "Maximum", "SampleCount"],
    )["Datapoints"]
    assert 3 == sum(point["SampleCount"] for point in found)
    assert 0.5 == max(point["Maximum"] for point in found)


def test_the_model_archive_holds_plain_files_and_links_that_stay_inside(
    bench: Bench, completed: dict[str, Any]
) -> None:
    assert {"weights/w.bin": b"1234"} == bench.model(completed["TrainingJobName"])
    lines = "\n".join(bench.lines(completed["TrainingJobName"]))
    assert "'outside' is a link that leaves the folder" in lines
    assert "'pipe' is no plain file" in lines


def test_output_data_is_uploaded_beside_the_model(bench: Bench, completed: dict[str, Any]) -> None:
    key = f"out/{completed['TrainingJobName']}/output/output.tar.gz"
    body = bench.s3.get_object(Bucket=bench.endpoint.bucket, Key=key)["Body"].read()
    assert {"report.txt": b"fine"} == unpacked(body)


def test_every_job_is_tagged_as_emulated_for_good(bench: Bench, completed: dict[str, Any]) -> None:
    arn = completed["TrainingJobArn"]
    bench.sagemaker.delete_tags(ResourceArn=arn, TagKeys=["sm_trn:emulated", "owner"])
    bench.sagemaker.add_tags(ResourceArn=arn, Tags=[{"Key": "team", "Value": "x"}])
    tags = {tag["Key"]: tag["Value"] for tag in bench.sagemaker.list_tags(ResourceArn=arn)["Tags"]}
    assert {"sm_trn:emulated": "true", "team": "x"} == tags


def test_two_hosts_of_a_gpu_cluster_talk_over_gloo_in_place_of_smddp(bench: Bench) -> None:
    pytest.importorskip("torch")
    name = bench.submit(
        ALL_REDUCE,
        {"sagemaker_distributed_dataparallel_enabled": True, "sagemaker_instance_type": "ml.p4d.24xlarge"},
        ResourceConfig=resources("ml.p4d.24xlarge", 2),
    )
    answer = bench.finished(name, 90)
    lines = bench.lines(name)
    assert "Completed" == answer["TrainingJobStatus"], lines
    assert 2 == "\n".join(lines).count("sum 3.0 rank")
    assert 2 == len(bench.streams(name))
    assert 1 == sum("SUBSTITUTED torchrun + gloo for SMDDP" in line for line in lines)
    assert "SM_NUM_GPUS=0" in lines
    assert {"rank-0.txt", "rank-1.txt"} == set(bench.model(name))
    tags = bench.sagemaker.list_tags(ResourceArn=answer["TrainingJobArn"])["Tags"]
    assert {"Key": "sm_trn:substituted", "Value": "torchrun + gloo for SMDDP"} in tags


def test_a_failing_script_fails_its_job_with_the_toolkits_reason(bench: Bench) -> None:
    answer = bench.finished(bench.submit("raise ValueError('no such column')"))
    assert "Failed" == answer["TrainingJobStatus"]
    assert answer["FailureReason"].startswith("AlgorithmError: ExecuteUserScriptError:\nExitCode 1\nErrorMessage")
    assert "ValueError" in answer["FailureReason"]
    assert "no such column" in answer["FailureReason"]
    assert answer["FailureReason"].endswith(", exit code: 1")
    assert "ModelArtifacts" not in answer
    assert ["Training", "Uploading", "Failed"] == steps(answer)[-3:]


def test_stopping_lets_the_script_save_its_model(bench: Bench) -> None:
    name = bench.submit(
        """
        import os, pathlib, signal, sys, time
        def save(*_):
            pathlib.Path(os.environ["SM_MODEL_DIR"], "saved.txt").write_text("in time")
            sys.exit(0)
        signal.signal(signal.SIGTERM, save)
        print("ready to be stopped")
        time.sleep(120)
        """
    )
    bench.said(name, "ready to be stopped")
    bench.sagemaker.stop_training_job(TrainingJobName=name)
    assert "Stopping" == bench.describe(name)["TrainingJobStatus"]
    bench.sagemaker.stop_training_job(TrainingJobName=name)  # once more changes nothing
    answer = bench.finished(name)
    assert ("Stopped", "Stopped") == (answer["TrainingJobStatus"], answer["SecondaryStatus"])
    assert {"saved.txt": b"in time"} == bench.model(name)
    with pytest.raises(ClientError, match="The request was rejected because the training job is in status Stopped"):
        bench.sagemaker.stop_training_job(TrainingJobName=name)


def test_a_job_beyond_its_runtime_is_stopped_not_failed(bench: Bench) -> None:
    half = shell("printf half > ${SAGEMAKER_BASE_DIR:-/opt/ml}/model/partial.txt; exec sleep 120")
    name = bench.submit("", StoppingCondition={"MaxRuntimeInSeconds": 3}, AlgorithmSpecification=half)
    answer = bench.finished(name)
    assert ("Stopped", "MaxRuntimeExceeded") == (answer["TrainingJobStatus"], answer["SecondaryStatus"])
    assert {"partial.txt": b"half"} == bench.model(name)


def test_names_are_unique_until_the_job_is_deleted(bench: Bench) -> None:
    request = bench.request("print('once')")
    bench.sagemaker.create_training_job(**request)
    with pytest.raises(ClientError, match="Training job names must be unique") as caught:
        bench.sagemaker.create_training_job(**request)
    assert "ResourceInUse" == caught.value.response["Error"]["Code"]
    bench.finished(request["TrainingJobName"])
    bench.sagemaker.delete_training_job(TrainingJobName=request["TrainingJobName"])
    with pytest.raises(ClientError, match="Requested resource not found"):
        bench.describe(request["TrainingJobName"])


def test_what_a_job_installs_is_its_own(bench: Bench) -> None:
    """A source with a setup.py, and a script that calls pip: real installs, into an environment that goes with the job."""
    pytest.importorskip("setuptools")
    built = bench.submit(
        'import pathlib, sysconfig; print(f\'imported {next(pathlib.Path(sysconfig.get_path("purelib")).glob("mine.py"))}\')',
        files={
            "setup.py": "from setuptools import setup\nsetup(name='mine', version='1.0', py_modules=['mine', 'train'])\n",
            "mine.py": "",
        },
        Environment={"PIP_NO_BUILD_ISOLATION": "0", "PIP_NO_INDEX": "1"},
    )
    called = bench.submit(
        "import subprocess, sys\n"
        "subprocess.check_call([sys.executable, '-m', 'pip', 'install', '--no-build-isolation', '--no-index', '/opt/ml/code/more'])\n"
        "import more; print(f'called {more.__file__}')\n",
        files={
            "more/setup.py": "from setuptools import setup\nsetup(name='more', version='1.0', py_modules=['more'])\n",
            "more/more.py": "",
        },
    )
    for name, word in ((built, "imported"), (called, "called")):
        assert "Completed" == bench.finished(name)["TrainingJobStatus"], "\n".join(bench.lines(name))
        assert any(line.startswith(f"{word} /opt/sm_trn/env/") for line in bench.lines(name))
    for module in ("mine", "more"):
        assert importlib.util.find_spec(module) is None


def test_a_fast_file_channel_is_read_only(bench: Bench) -> None:
    bench.s3.put_object(Bucket=bench.endpoint.bucket, Key="fast/a", Body=b"a")
    data = {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": f"s3://{bench.endpoint.bucket}/fast/"}}
    name = bench.submit(
        "",
        AlgorithmSpecification=shell(
            "cat /opt/ml/input/data/train/a; touch /opt/ml/input/data/train/b || echo refused"
        ),
        InputDataConfig=[{"ChannelName": "train", "InputMode": "FastFile", "DataSource": data}],
    )
    assert "Completed" == bench.finished(name)["TrainingJobStatus"]
    assert "refused" in bench.lines(name)


def test_a_container_entrypoint_runs_as_it_is(bench: Bench) -> None:
    script = "echo from the shell; echo $TRAINING_JOB_NAME; exit $0"
    name = bench.submit("", AlgorithmSpecification={**shell(script), "ContainerArguments": ["3"]})
    answer = bench.finished(name)
    assert "AlgorithmError: , exit code: 3" == answer["FailureReason"]
    assert {"from the shell", name} <= set(bench.lines(name))


@pytest.mark.parametrize(
    ("service", "call", "arguments"),
    [
        ("sagemaker", "create_artifact", {"Source": {"SourceUri": "s3://b/k"}, "ArtifactType": "DataSet"}),
        ("sagemaker", "search", {"Resource": "TrainingJob"}),
        ("pricing", "get_products", {"ServiceCode": "AmazonSageMaker"}),
    ],
)
def test_what_the_emulator_lacks_is_refused_once_and_clearly(
    bench: Bench, service: str, call: str, arguments: dict[str, Any]
) -> None:
    with pytest.raises(ClientError, match="the emulator does not have") as caught:
        getattr(bench.client(service), call)(**arguments)
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] < 500


def test_a_role_that_does_not_exist_is_refused_and_one_of_another_account_is_taken(bench: Bench) -> None:
    request = bench.request("print('never')")
    absent = f"arn:aws:iam::{bench.endpoint.account_id}:role/NobodyMadeIt"
    said = f"ValidationException.*Could not assume role {absent}. Please ensure that the role exists"
    with pytest.raises(ClientError, match=said):
        bench.sagemaker.create_training_job(**{**request, "RoleArn": absent})
    with pytest.raises(ClientError, match=said):
        bench.sagemaker.create_model(ModelName="m", ExecutionRoleArn=absent, PrimaryContainer={"Image": "i"})
    iam = bench.client("iam")
    made = iam.create_role(RoleName="MadeHere", Path="/team/", AssumeRolePolicyDocument="{}")["Role"]["Arn"]
    bench.sagemaker.create_training_job(**{**request, "RoleArn": made})
    elsewhere = {"RoleArn": "arn:aws:iam::111122223333:role/Mine", "TrainingJobName": f"{request['TrainingJobName']}-2"}
    bench.sagemaker.create_training_job(**{**request, **elsewhere})
    for name in (request["TrainingJobName"], elsewhere["TrainingJobName"]):
        bench.sagemaker.stop_training_job(TrainingJobName=name)
        bench.finished(name)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (["a", "b", "a"], "keys must be unique per resource, got 'a' more than once"),
        (["aws:mine"], "aws: prefixed tag key names are not allowed for external use"),
        (["AWS:mine"], "aws: prefixed tag key names are not allowed for external use"),
    ],
)
def test_tags_that_no_resource_takes_are_refused(
    bench: Bench, completed: dict[str, Any], keys: list[str], said: str
) -> None:
    tags = [{"Key": key, "Value": "v"} for key in keys]
    model = {"ModelName": "tagged", "ExecutionRoleArn": bench.endpoint.role_arn, "PrimaryContainer": {"Image": "i"}}
    for call, request in (
        (bench.sagemaker.create_training_job, bench.request("print('never')")),
        (bench.sagemaker.create_model, model),
        (bench.sagemaker.add_tags, {"ResourceArn": completed["TrainingJobArn"]}),
    ):
        with pytest.raises(ClientError, match=f"ValidationException.*{said}"):
            call(**request, Tags=tags)
