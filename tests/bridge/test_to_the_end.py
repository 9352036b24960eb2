"""Launchers of other kinds than fit are recorded to their last line, as they are."""

from __future__ import annotations

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
    found = record(command or ["launch.py"], folder=tmp_path, timeout_s=120)
    assert 0 == found.exit_code, found.output
    print(f"{found.seconds:.1f} s, {len(found.calls)} calls")
    return found


EVERY_WAY = """
import sagemaker
from sagemaker.estimator import Estimator
from sagemaker.pytorch import PyTorch
from sagemaker.tuner import ContinuousParameter, HyperparameterTuner
role = sagemaker.get_execution_role()
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
predictor = own.deploy(initial_instance_count=1, instance_type="ml.g5.xlarge")
predictor.delete_endpoint()
print("TO THE END")
"""


@pytest.mark.skipif(os.environ.get("SM_TRN_CLIENTS") != "all", reason="SM_TRN_CLIENTS=all runs every client")
def test_attach_tune_and_transform_with_sdk_v2(tmp_path: Path) -> None:
    found = recorded(tmp_path, EVERY_WAY)
    assert "TO THE END" in found.output
    (tuning,), (transform,), (job,) = (
        found.of(name) for name in ("CreateHyperParameterTuningJob", "CreateTransformJob", "CreateTrainingJob")
    )
    limits = tuning.request["HyperParameterTuningJobConfig"]
    assert isinstance(limits, dict)
    assert {"MaxNumberOfTrainingJobs": 4, "MaxParallelTrainingJobs": 2} == limits["ResourceLimits"]
    assert {"S3OutputPath": "s3://b/predicted"} == transform.request["TransformOutput"]
    (endpoint,) = found.of("CreateEndpoint")
    assert endpoint.places[0].line == 17
    assert (11, 14, 16) == tuple(call.places[0].line for call in (tuning, job, transform))
