"""Launchers of other kinds than fit are recorded to their last line, as they are."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

from sm_trn.bridge.recorder import Recorded, record

pytestmark = pytest.mark.sdk


def recorded(tmp_path: Path, text: str, *command: str) -> Recorded:
    pytest.importorskip("sagemaker.pytorch", reason="needs SageMaker SDK v2: pip install 'sm_trn[sdk]'")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "train.py").write_text("print('here')\n")
    (tmp_path / "launch.py").write_text(text)
    found = record(command or ["python", "launch.py"], folder=tmp_path, timeout_s=120)
    assert 0 == found.exit_code, found.output
    print(f"{found.seconds:.1f} s, {len(found.calls)} calls")
    return found


EVERY_WAY = """
import sagemaker
from sagemaker.estimator import Estimator
from sagemaker.pytorch import PyTorch
from sagemaker.tuner import ContinuousParameter, HyperparameterTuner
role = sagemaker.get_execution_role()
attached = PyTorch.attach("a-job-of-yesterday")
print("ATTACHED", attached.latest_training_job.name, attached.model_data)
estimator = PyTorch("train.py", source_dir="src", role=role, framework_version="2.1", py_version="py310",
                    instance_type="ml.g5.xlarge", instance_count=1)
tuner = HyperparameterTuner(estimator, "loss", {"rate": ContinuousParameter(0.1, 0.9)}, [{"Name": "loss", "Regex": "l=(.*)"}],
                            max_jobs=4, max_parallel_jobs=2)
tuner.fit({"train": "s3://b/x"})
print("BEST", tuner.best_training_job())
own = Estimator("1.dkr.ecr.us-west-2.amazonaws.com/own:1", role, 1, "ml.m5.xlarge", output_path="s3://b/out")
own.fit("s3://b/x")
transformer = own.transformer(1, "ml.m5.xlarge", output_path="s3://b/predicted")
transformer.transform("s3://b/x", content_type="text/csv", wait=True, logs=False)
predictor = estimator.__class__.attach("a-job-of-yesterday").deploy(initial_instance_count=1, instance_type="ml.g5.xlarge")
predictor.delete_endpoint()
print("TO THE END")
"""


@pytest.mark.skipif(os.environ.get("SM_TRN_CLIENTS") != "all", reason="SM_TRN_CLIENTS=all runs every client")
def test_attach_tune_and_transform_with_sdk_v2(tmp_path: Path) -> None:
    found = recorded(tmp_path, EVERY_WAY)
    assert "TO THE END" in found.output
    assert "ATTACHED a-job-of-yesterday" in found.output
    (tuning,), (transform,), (job,) = (
        found.of(name) for name in ("CreateHyperParameterTuningJob", "CreateTransformJob", "CreateTrainingJob")
    )
    limits = tuning.request["HyperParameterTuningJobConfig"]
    assert isinstance(limits, dict)
    assert {"MaxNumberOfTrainingJobs": 4, "MaxParallelTrainingJobs": 2} == limits["ResourceLimits"]
    assert {"S3OutputPath": "s3://b/predicted"} == transform.request["TransformOutput"]
    (endpoint,) = found.of("CreateEndpoint")
    assert endpoint.places[0].line == 19
    assert (13, 16, 18) == tuple(call.places[0].line for call in (tuning, job, transform))


CONFIGURATION = """
compute_environment: AMAZON_SAGEMAKER
debug: false
distributed_type: DATA_PARALLEL
base_job_name: by-accelerate
ec2_instance_type: ml.p4d.24xlarge
iam_role_name: YOUR-ROLE
image_uri: null
mixed_precision: 'no'
num_machines: 1
profile: default
py_version: py310
pytorch_version: 2.1.0
region: us-west-2
sagemaker_inputs_file: null
sagemaker_metrics_file: null
transformers_version: 4.36.0
use_cpu: false
"""


@pytest.mark.skipif(os.environ.get("SM_TRN_CLIENTS") != "all", reason="SM_TRN_CLIENTS=all runs every client")
@pytest.mark.skipif(importlib.util.find_spec("accelerate") is None, reason="accelerate is not installed")
def test_accelerates_own_launcher(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(CONFIGURATION)
    command = ["-m", "accelerate.commands.accelerate_cli", "launch", "--config_file", "config.yaml"]
    found = recorded(tmp_path, "", "python", *command, "src/train.py", "--epochs", "3")
    (job,) = found.jobs
    parameters = job.request["HyperParameters"]
    assert isinstance(parameters, dict)
    assert "3" == parameters["epochs"]
