"""Random launches of SDK v2's classes: what is read of one is what the SDK sends for it, field by field.

15 launches in the suite; SM_TRN_LAUNCHES asks for more. What the SDK refuses is no case, and what is read as a hole is none either.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import jobs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from sm_trn.bridge.launchers import read_text
from sm_trn.bridge.recorder.recording import RecordedCall
from sm_trn.bridge.recorder.verify import field_differences
from sm_trn.core import sdk

pytestmark = pytest.mark.sdk
HEAD = """
from sagemaker.debugger import DebuggerHookConfig, ProfilerConfig, Rule, TensorBoardOutputConfig, rule_configs
from sagemaker.estimator import Estimator
from sagemaker.huggingface import HuggingFace, TrainingCompilerConfig
from sagemaker.inputs import FileSystemInput, ShuffleConfig, TrainingInput
from sagemaker.instance_group import InstanceGroup
from sagemaker.pytorch import PyTorch
from sagemaker.sklearn import SKLearn
from sagemaker.tensorflow import TensorFlow
role = "arn:aws:iam::111122223333:role/r"
"""
KNOWN = {"bucket": jobs.BUCKET, "region": "us-west-2", "account": "111122223333"}
# One choice a line.
FRAMEWORK = {
    "PyTorch": """
framework_version="1.12.1", py_version="py38"
framework_version="1.13.1", py_version="py39"
framework_version="2.0", py_version="py310"
framework_version="2.1.0", py_version="py310"
framework_version="2.3.0", py_version="py311"
framework_version="2.1.0", py_version="py310", image_uri="1.dkr.ecr.us-west-2.amazonaws.com/own:1"
""",
    "HuggingFace": """
transformers_version="4.28.1", pytorch_version="2.0.0", py_version="py310"
transformers_version="4.36.0", pytorch_version="2.1.0", py_version="py310"
transformers_version="4.17", pytorch_version="1.10", py_version="py38"
transformers_version="4.21.1", pytorch_version="1.11.0", py_version="py38", compiler_config=TrainingCompilerConfig()
transformers_version="4.17.0", pytorch_version="1.10.2", py_version="py38", compiler_config=TrainingCompilerConfig(debug=True)
""",
    "Estimator": """
image_uri="1.dkr.ecr.us-west-2.amazonaws.com/own:1"
image_uri="1.dkr.ecr.us-west-2.amazonaws.com/own:1", container_entry_point=["python", "a.py"], container_arguments=["--a", "1"]
""",
    "SKLearn": """
framework_version="1.0-1", py_version="py3"
framework_version="1.2-1", py_version="py3"
""",
    "TensorFlow": """
framework_version="2.11", py_version="py39"
framework_version="2.9.2", py_version="py39", model_dir=False
framework_version="2.12", py_version="py310", model_dir="s3://md/x"
""",
}
DISTRIBUTION = """
distribution={"pytorchddp": {"enabled": True}}
distribution={"torch_distributed": {"enabled": True}}
distribution={"torch_distributed": {"enabled": False}}
distribution={"mpi": {"enabled": True, "processes_per_host": 4, "custom_mpi_options": "-x A=1"}}
distribution={"smdistributed": {"dataparallel": {"enabled": True, "custom_mpi_options": "-x B"}}}
distribution={"smdistributed": {"modelparallel": {"enabled": True, "parameters": {"partitions": 2, "ddp": True}}}, "mpi": {"enabled": True, "processes_per_host": 8}}
distribution={"pytorchxla": {"enabled": True}}
distribution={}
distribution=None
"""  # noqa: E501 - one a line
MACHINE = """
instance_type="ml.g5.xlarge", instance_count=1
instance_type="ml.p4d.24xlarge", instance_count=2
instance_type="ml.p3.16xlarge", instance_count=1
instance_type="ml.trn1.32xlarge", instance_count=4
instance_type="ml.c5.xlarge", instance_count=1
instance_groups=[InstanceGroup("g", "ml.g5.xlarge", 1), InstanceGroup("h", "ml.c5.xlarge", 2)]
"""
SCRIPT = """
entry_point="train.py"
entry_point="train.py", source_dir="src"
entry_point="train.py", source_dir="s3://b/s.tar.gz"
entry_point="run.sh", source_dir="src", dependencies=["train.py"]
"""
MORE = """
volume_size=100
max_run=432000
input_mode="FastFile"
output_path="s3://o/p/"
output_kms_key="k"
base_job_name="a-b"
subnets=["s-1"], security_group_ids=["g-1", "g-2"]
model_uri="s3://m/x.tar.gz", model_channel_name="pre"
metric_definitions=[{"Name": "a", "Regex": "a=(.*)"}]
encrypt_inter_container_traffic=True
use_spot_instances=True, max_wait=900000, checkpoint_s3_uri="s3://c/k/", checkpoint_local_path="/opt/ml/cc"
use_spot_instances=True, max_wait=900000
enable_network_isolation=True
environment={"A": "1", "B": ""}
max_retry_attempts=3
disable_profiler=True
profiler_config=ProfilerConfig(s3_output_path="s3://p/q", system_monitor_interval_millis=1000)
debugger_hook_config=False
debugger_hook_config=DebuggerHookConfig("s3://h/k")
tensorboard_output_config=TensorBoardOutputConfig("s3://t/b", container_local_output_path="/opt/tb")
tags=[{"Key": "a", "Value": "b"}]
tags={"a": "b", "c": "1"}
volume_kms_key="v"
keep_alive_period_in_seconds=600
container_log_level=10
code_location="s3://code/loc/"
enable_sagemaker_metrics=False
enable_infra_check=True
enable_remote_debug=True
rules=[Rule.sagemaker(rule_configs.overfit())]
hyperparameters={"a": 1, "b": "x", "c": [1, 2], "d": None, "e": True, "f": 1e-5, "g": {"h": 1}, "i": "", "j": 'é"'}
training_plan="arn:aws:sagemaker:us-west-2:111122223333:training-plan/p"
"""
BETWEEN = """

e.set_hyperparameters(late=3, text="x")
e.max_run = 77
e.tags = [{"Key": "q", "Value": "w"}]
e.environment = {"Q": "1"}
"""
INPUTS = """
"s3://b/d"
{"train": "s3://b/d", "test": "s3://b/t"}, job_name="given-name"
{"train": TrainingInput("s3://b/d", distribution="ShardedByS3Key", content_type="csv", shuffle_config=ShuffleConfig(4))}
TrainingInput("s3://b/d", input_mode="Pipe", compression="Gzip", record_wrapping="RecordIO")
{"f": FileSystemInput("fs-0123456789a", "EFS", "/d", file_system_access_mode="rw", content_type="x")}
None, experiment_config={"TrialName": "t"}
"""


def lines(choices: str) -> list[str]:
    return choices.split("\n")[1:-1]


def launch(draw: random.Random) -> str:
    """A program that makes an estimator and starts it."""
    cls = draw.choice(["PyTorch", "PyTorch", "HuggingFace", "HuggingFace", "Estimator", "SKLearn", "TensorFlow"])
    asked = [draw.choice(lines(FRAMEWORK[cls])), draw.choice(lines(MACHINE))]
    asked += [draw.choice(lines(SCRIPT))] if cls != "Estimator" else []
    asked += [draw.choice(lines(DISTRIBUTION))] if draw.random() < 0.4 and cls != "Estimator" else []
    for more in draw.sample(lines(MORE), draw.randint(0, 7)):
        names = set(re.findall(r"(?:^|, )(\w+)=", more))
        if not names & set(re.findall(r"(?:^|, )(\w+)=", ", ".join(asked))):
            asked.append(more)
    draw.shuffle(asked)
    between = draw.choice(lines(BETWEEN)) if draw.random() < 0.4 else ""
    return (
        f"{HEAD}e = {cls}(role=role, {', '.join(asked)})\n{between}\ne.fit({draw.choice(lines(INPUTS))}, wait=False)\n"
    )


class Answered:
    status_code = 200
    headers: dict[str, str] = {}  # noqa: RUF012 - botocore reads it, nobody writes it


@pytest.fixture
def sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, Any]]]:
    """The requests that SDK v2 sends, answered in this process."""
    pytest.importorskip("sagemaker.pytorch", reason="needs SageMaker SDK v2: pip install 'sm_trn[sdk]'")
    requests: list[dict[str, Any]] = []
    session = boto3.Session(aws_access_key_id="x", aws_secret_access_key="x", region_name="us-west-2")
    session.events.register(
        "provide-client-params.sagemaker.CreateTrainingJob", lambda params, **_: requests.append(dict(params))
    )
    answer = {"TrainingJobArn": "x", "Buckets": [], "ETag": "x", "ResponseMetadata": {"HTTPStatusCode": 200}}
    session.events.register("before-call", lambda **_: (Answered(), answer))
    own = sdk.sdk_session(boto_session=session, bucket=jobs.BUCKET)
    for module in ("sagemaker.session", "sagemaker.estimator"):
        monkeypatch.setattr(f"{module}.Session", lambda **_: own)
    (tmp_path / "src").mkdir()
    for name in ("train.py", "src/train.py", "src/run.sh"):
        (tmp_path / name).write_text("print('here')\n")
    monkeypatch.chdir(tmp_path)
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    yield requests
    logging.disable(before)


@settings(max_examples=int(os.environ.get("SM_TRN_LAUNCHES", "15")), derandomize="SM_TRN_LAUNCHES" not in os.environ)
@given(some.integers(0, 10**9))
def test_what_is_read_is_what_sdk_v2_sends(sent: list[dict[str, Any]], seed: int) -> None:
    text = launch(random.Random(seed))
    sent.clear()
    quiet = io.StringIO()
    with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet), sdk.contained():
        try:
            exec(compile(text, "launch", "exec"), {})  # noqa: S102 - the lines above
        except Exception:  # noqa: BLE001 - what the SDK refuses is no case
            return
    (found,) = read_text(text, "launch.py", given=KNOWN).launches
    if found.complete:
        (job,), (request,) = found.jobs, sent
        call = RecordedCall(service="sagemaker", operation="CreateTrainingJob", request=request)
        assert () == field_differences(job.request, call)[1], text
