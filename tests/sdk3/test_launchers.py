"""A launcher of SDK v2, imported: the text for SDK v3 sends the very request. And SDK v3's own launchers are recorded."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest
from v3_wire import Wire, installed

import sm_trn as st
from sm_trn.bridge.launchers import read_text
from sm_trn.bridge.recorder import record
from sm_trn.core.render import training_job_v3

if not installed():
    pytest.skip("needs SageMaker SDK v3, in an environment of its own: .ci/sdk3", allow_module_level=True)
pytestmark = pytest.mark.filterwarnings("default")  # the SDK's own deprecations

HEAD = """
from sagemaker.pytorch import PyTorch
from sagemaker.huggingface import HuggingFace, TrainingCompilerConfig
from sagemaker.debugger import TensorBoardOutputConfig
from sagemaker.estimator import Estimator
role = "arn:aws:iam::123456789012:role/mine"
"""
LAUNCHERS = (
    """PyTorch("train.py", role=role, framework_version="2.1", py_version="py310", instance_type="ml.p4d.24xlarge", instance_count=2,
        distribution={"smdistributed": {"dataparallel": {"enabled": True}}}, hyperparameters={"rate": 1, "on": True, "name": "a b"},
        training_plan="arn:aws:sagemaker:us-west-2:123456789012:training-plan/p", enable_infra_check=True, enable_remote_debug=True,
        tensorboard_output_config=TensorBoardOutputConfig("s3://b/tb"), tags=[{"Key": "k", "Value": "v"}]).fit({"train": "s3://b/x"})""",
    """HuggingFace(entry_point="train.py", role=role, transformers_version="4.21.1", pytorch_version="1.11.0", py_version="py38",
        instance_type="ml.p3.2xlarge", instance_count=1, compiler_config=TrainingCompilerConfig(), environment={"A": "b"},
        use_spot_instances=True, max_run=60, max_wait=90, checkpoint_s3_uri="s3://b/c").fit()""",
    """Estimator("1.dkr.ecr.us-west-2.amazonaws.com/own:1", role, 1, "ml.m5.xlarge", subnets=["subnet-1"], security_group_ids=["sg-1"],
        metric_definitions=[{"Name": "loss", "Regex": "l=(.*)"}]).fit("s3://b/x")""",
)  # fmt: skip


@pytest.mark.skipif(
    find_spec("sagemaker.estimator") is None,
    reason="needs SDK v2 too, which says what it sends: tests/rewriting has both",
)
@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_an_imported_launcher_is_a_program_for_sdk_v3_that_sends_its_request(
    launcher: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sagemaker.core.resources import TrainingJob

    (launch,) = read_text(HEAD + launcher, "launch.py", given={"bucket": "a-bucket"}).launches
    (job,) = launch.jobs
    wire, create = Wire(), TrainingJob.create
    monkeypatch.setattr(TrainingJob, "create", lambda **given: create(**given, session=wire.session.boto_session))
    program = str(st.render(job.spec, "training-job-v3", at=job.at))
    exec(compile(program, "program", "exec"), {})  # noqa: S102 - our own text
    asked = {name: dict(value) if isinstance(value, dict) else value for name, value in job.request.items()}
    for path, _ in training_job_v3.lost(job.request):  # TARGET021: unsaid means the same
        part, field = path.split(".")
        held = asked[part]
        assert isinstance(held, dict)
        del held[field]
    assert wire.sent == asked


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
