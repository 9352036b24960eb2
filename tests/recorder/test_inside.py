"""A recording inside a running process: clients of before are held too, nothing leaves, and afterwards all is as it was."""

from __future__ import annotations

import io
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import botocore.httpsession
import pytest

import sm_trn as st

REQUEST: dict[str, Any] = {
    "TrainingJobName": "by-hand",
    "RoleArn": "arn:aws:iam::111122223333:role/mine",
    "AlgorithmSpecification": {"TrainingImage": "1.dkr.ecr.eu-west-1.amazonaws.com/own:1", "TrainingInputMode": "File"},
    "OutputDataConfig": {"S3OutputPath": "s3://mine/out"},
    "StoppingCondition": {"MaxRuntimeInSeconds": 60},
    "ResourceConfig": {"InstanceCount": 1, "InstanceType": "ml.m5.xlarge", "VolumeSizeInGB": 1},
    "Environment": {"HF_TOKEN": "hf_abcdefghijklmnopqrstuvwxyz0123"},
}


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """No keys, no region, and no way out of this machine."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")

    left: list[object] = []

    def connect(_: object, address: object) -> None:
        left.append(address)
        raise OSError("no way out")

    monkeypatch.setattr(socket.socket, "connect", connect)
    yield
    assert left == []


def test_a_client_of_before_and_one_of_now_are_held() -> None:
    keys = {"aws_access_key_id": "AKIAREAL", "aws_secret_access_key": "real", "region_name": "eu-west-1"}
    before = boto3.client("sagemaker", **keys)
    storage = boto3.client("s3", **keys)
    with st.recording() as found:
        before.create_training_job(**REQUEST)
        storage.upload_fileobj(io.BytesIO(b"data"), "mine", "a/b")
        assert boto3.client("sts").get_caller_identity()["Account"] == "111122223333"
        assert before.describe_training_job(TrainingJobName="by-hand")["TrainingJobStatus"] == "Completed"
        assert storage.get_object(Bucket="mine", Key="a/b")["Body"].read() == b"data"
    (job,) = found.jobs
    assert job.request == {**REQUEST, "Environment": {"HF_TOKEN": "REMOVED-BY-THE-RECORDER"}}
    assert job.secrets == ("Environment.HF_TOKEN",)
    assert found.recorded.uploads == {"s3://mine/a/b": b"data"}
    assert st.parse_request(job.request).compute == st.Compute("ml.m5.xlarge", volume_gb=1)


def ends_badly() -> None:
    assert os.environ["AWS_DEFAULT_REGION"] == "us-west-2"
    raise KeyError("the launcher's own")


def test_afterwards_all_is_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_EC2_METADATA_DISABLED")  # a machine's own credentials are looked for, and not asked for
    send, variables = botocore.httpsession.URLLib3Session.send, dict(os.environ)
    with pytest.raises(KeyError, match="the launcher's own"), st.recording():
        ends_badly()
    assert botocore.httpsession.URLLib3Session.send is send
    assert dict(os.environ) == variables
    with st.recording(), pytest.raises(RuntimeError, match="one recording at a time"), st.recording():
        pass
    with st.recording(stop_at_submit=True) as found, pytest.raises(Exception, match="recorded, not launched"):
        boto3.client("sagemaker").create_training_job(**REQUEST)
    assert len(found.jobs) == 1


@pytest.mark.skipif(os.environ.get("SM_TRN_CLIENTS") != "all", reason="SM_TRN_CLIENTS=all runs every client")
@pytest.mark.sdk
@pytest.mark.filterwarnings("ignore")  # the SDK's own deprecations
def test_an_estimator_of_sdk_v2_is_recorded(tmp_path: Path) -> None:
    pytest.importorskip("sagemaker.pytorch", reason="needs SageMaker SDK v2: pip install 'sm_trn[sdk]'")
    from sagemaker.pytorch import PyTorch

    (tmp_path / "train.py").write_text("print('checkpoint')\n")
    with st.recording() as found:
        estimator = PyTorch(
            entry_point="train.py", source_dir=str(tmp_path), role="arn:aws:iam::111122223333:role/mine", instance_type="ml.g5.xlarge",
            instance_count=1, framework_version="2.3", py_version="py311", hyperparameters={"epochs": 3},
        )  # fmt: skip
        estimator.fit({"train": "s3://data/train"}, wait=False)
    (job,) = found.jobs
    spec = st.parse_request(job.request)
    assert (spec.hyperparameters, spec.inputs) == ({"epochs": 3}, {"train": "s3://data/train"})
    assert spec.framework == st.PyTorch("2.3", python="py311")
    assert [uri for uri in found.recorded.uploads if uri.endswith("sourcedir.tar.gz")]
