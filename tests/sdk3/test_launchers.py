"""Launchers of SDK v3 are recorded."""

from __future__ import annotations

from pathlib import Path

import pytest
from v3_wire import installed

import sm_trn as st
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
    recorded = record(["launch.py"], folder=tmp_path, timeout_s=120)
    assert 0 == recorded.exit_code, recorded.output
    assert "TO THE END" in recorded.output
    (job,) = recorded.jobs
    resources = job.request["ResourceConfig"]
    assert isinstance(resources, dict)
    assert ("ml.g5.xlarge", 1) == (resources["InstanceType"], resources["InstanceCount"])
    assert [9] == [place.line for place in job.places]
    assert any(uri.endswith("/train.py") for uri in recorded.uploads), sorted(recorded.uploads)
    print(f"\n{recorded.seconds:.1f} s")


COMMAND = """
from sagemaker.train import ModelTrainer
from sagemaker.train.configs import Compute, SourceCode
ModelTrainer(
    training_image="763104351884.dkr.ecr.us-west-2.amazonaws.com/pytorch-training:2.5.1-gpu-py311-cu124-ubuntu22.04-sagemaker",
    source_code=SourceCode(source_dir="src", command="python train.py --lr 0.2"),
    compute=Compute(instance_type="ml.g5.xlarge", instance_count=1),
    hyperparameters={"epochs": 25}, role="arn:aws:iam::000000000000:role/SageMakerExecutionRole", base_job_name="x",
).train()
"""


def test_the_script_behind_a_command_becomes_the_jobs_script(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "train.py").write_text("print('here')\n")
    (tmp_path / "program.py").write_text(COMMAND)
    (launch,) = st.import_launcher(tmp_path / "program.py").launches
    assert launch.site is not None
    assert ("ModelTrainer", 4) == (launch.site.cls, launch.site.place.line)
    assert ("command= drops hyperparameters: the script does not get epochs",) == launch.notes
    assert isinstance(launch.job, st.JobSpec)
    assert launch.job.script == st.Script("train.py", source_dir="source")
    assert {"lr": 0.2} == dict(launch.job.hyperparameters)
    assert {} == dict(launch.job.inputs), "no channel of the drivers is left"
    assert launch.source is not None
    launch.source(tmp_path / "source")
    assert "print('here')\n" == (tmp_path / "source" / "train.py").read_text()


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("bash run.sh", "wanted python SCRIPT.py --name value"),
        ("python train.py x", "wanted --name value"),
        ("python gone.py", "which is not in the source"),
    ],
)
def test_a_command_that_is_no_script_is_named(tmp_path: Path, command: str, said: str) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "train.py").write_text("print('here')\n")
    (tmp_path / "program.py").write_text(COMMAND.replace("python train.py --lr 0.2", command))
    (launch,) = st.import_launcher(tmp_path / "program.py").launches
    assert launch.job is None
    assert said in launch.refusal


def test_workers_of_torchrun_are_the_jobs_distribution(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "train.py").write_text("print('here')\n")
    text = COMMAND.replace('command="python train.py --lr 0.2"', 'entry_script="train.py"').replace(
        ").train()", "distributed=Torchrun(),\n).train()"
    )
    (tmp_path / "program.py").write_text("from sagemaker.train.distributed import Torchrun\n" + text)
    (launch,) = st.import_launcher(tmp_path / "program.py").launches
    assert isinstance(launch.job, st.JobSpec)
    assert (st.TorchDistributed(), {"epochs": 25}) == (launch.job.distribution, dict(launch.job.hyperparameters))
