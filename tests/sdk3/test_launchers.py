"""Launchers of SDK v3 are recorded. What is written for SDK v3 is compared in tests/rewriting, which has both SDKs."""

from __future__ import annotations

from pathlib import Path

import pytest
from v3_wire import installed

from sm_trn.bridge.recorder import record

if not installed():
    pytest.skip("needs SageMaker SDK v3, in an environment of its own: .ci/sdk3", allow_module_level=True)
pytestmark = pytest.mark.filterwarnings("default")  # the SDK's own deprecations

TRAINER = """
from sagemaker.train import ModelTrainer
from sagemaker.train.configs import Compute, InputData, SourceCode
trainer = ModelTrainer(
    training_image="1.dkr.ecr.us-west-2.amazonaws.com/own:1", role="arn:aws:iam::123456789012:role/mine", base_job_name="by-v3",
    source_code=SourceCode(source_dir="src", entry_script="train.py"), hyperparameters={"rate": 1},
    compute=Compute(instance_type="ml.g5.xlarge", instance_count=1),
)
trainer.train(input_data_config=[InputData(channel_name="train", data_source="s3://b/x")], wait=True, logs=False)
print("TO THE END")
"""


def test_a_launcher_of_sdk_v3_is_recorded_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "train.py").write_text("print('here')\n")
    (tmp_path / "launch.py").write_text(TRAINER)
    recorded = record(["python", "launch.py"], folder=tmp_path, timeout_s=120)
    assert 0 == recorded.exit_code, recorded.output
    assert "TO THE END" in recorded.output
    (job,) = recorded.jobs
    resources = job.request["ResourceConfig"]
    assert isinstance(resources, dict)
    assert ("ml.g5.xlarge", 1) == (resources["InstanceType"], resources["InstanceCount"])
    assert [9] == [place.line for place in job.places]
    assert any(uri.endswith("/train.py") for uri in recorded.uploads), sorted(recorded.uploads)
    print(f"\n{recorded.seconds:.1f} s")
