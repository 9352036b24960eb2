"""Programs of every common form: run under SDK v2, written for SDK v3, run there, and their jobs are the same but for what is named.

SM_TRN_SDK3_PYTHON names a Python with SDK v3: .ci/sdk3 --build makes one in .ci/cache/sdk3.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from fakes.sdks import Installed

from sm_trn.bridge.rewriting import compare
from sm_trn.bridge.rewriting.port import Port, port
from sm_trn.bridge.rewriting.sdk import VARIABLE, Sdk, sdk_v3

if not os.environ.get(VARIABLE):
    pytest.skip(f"needs SageMaker SDK v3: {VARIABLE} names the Python that has it", allow_module_level=True)

HEAD = """import sagemaker
from sagemaker.pytorch import PyTorch

sess = sagemaker.Session()
role = sagemaker.get_execution_role()
"""
WHAT = 'framework_version="2.1.0", py_version="py310", instance_type="ml.g5.xlarge", instance_count=1'
PROGRAMS = {
    "script": f"""{HEAD}
epochs = 3
estimator = PyTorch(
    entry_point="train.py",  # the script
    source_dir="src",
    role=role,
    {WHAT},
    hyperparameters={{"epochs": epochs, "model": "bert", "fp16": True}},
    output_path=f"s3://{{sess.default_bucket()}}/out",
)
estimator.fit("s3://data/train")
""",
    "function with arguments, and a parser": f"""{HEAD}
import argparse

def launch(rate, *, script="train.py"):
    estimator = PyTorch(script, source_dir="src", role=role, {WHAT}, hyperparameters={{"rate": rate}}, sagemaker_session=sess)
    estimator.fit({{"train": "s3://data/train", "test": "s3://data/test"}}, wait=False)
    return estimator

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=float, default=0.5)
    launch(parser.parse_args().rate)
""",
    "class": f"""{HEAD}
class Launcher:
    def __init__(self):
        self.estimator = PyTorch(entry_point="train.py", source_dir="src", role=role, {WHAT}, base_job_name="by-class")

    def run(self, data):
        self.estimator.set_hyperparameters(epochs=2)
        self.estimator.fit(data, logs=False)
        return self.estimator.model_data

print(Launcher().run({{"train": sess.upload_data("data", key_prefix="d")}}))
""",
    "loop, and several estimators": f"""{HEAD}
from sagemaker.huggingface import HuggingFace
for rate in (0.1, 0.2):
    e = PyTorch(entry_point="train.py", source_dir="src", role=role, {WHAT}, hyperparameters={{"rate": rate}})
    e.fit(wait=False)
other = HuggingFace(
    entry_point="train.py", source_dir="src", role=role, transformers_version="4.36.0", pytorch_version="2.1.0", py_version="py310",
    instance_type="ml.p3.2xlarge", instance_count=1, environment={{"HF_HOME": "/tmp"}},
)
other.fit({{"train": "s3://data/train"}})
print(other.latest_training_job.name)
""",
    "spot, checkpoints, network, tags, metrics": f"""{HEAD}
tags = [{{"Key": "team", "Value": "nlp"}}]
subnets = ["subnet-1"]
estimator = PyTorch(
    entry_point="train.py", source_dir="src", role=role, {WHAT},
    use_spot_instances=True, max_run=3600, max_wait=7200, checkpoint_s3_uri="s3://data/checkpoints",
    subnets=subnets, security_group_ids=["sg-1"], encrypt_inter_container_traffic=True, enable_network_isolation=False,
    tags=tags, metric_definitions=[{{"Name": "loss", "Regex": "loss=(.*)"}}], volume_size=100, keep_alive_period_in_seconds=60,
    debugger_hook_config=False, disable_profiler=True, output_kms_key="key", max_retry_attempts=2,
)
estimator.fit("s3://data/train")
""",
    "torchrun by a name": f"""{HEAD}
distribution = {{"torch_distributed": {{"enabled": True}}}}
estimator = PyTorch(
    entry_point="train.py", source_dir="src", role=role, framework_version="2.1.0", py_version="py310",
    instance_type="ml.p4d.24xlarge", instance_count=2, distribution=distribution,
)
estimator.fit({{"train": "s3://data/train"}})
""",
    "channels with more to say": f"""{HEAD}
from sagemaker.inputs import FileSystemInput, TrainingInput
train = TrainingInput("s3://data/train", content_type="text/csv", input_mode="FastFile")
inputs = {{"train": train, "test": TrainingInput(s3_data="s3://data/test", distribution="ShardedByS3Key")}}
estimator = PyTorch(
    entry_point="train.py", source_dir="src", role=role, {WHAT}, subnets=["subnet-1"], security_group_ids=["sg-1"],
)
estimator.fit(inputs={{"train": train, "test": "s3://data/test", "files": FileSystemInput("fs-0123456789", "EFS", "/data")}})
""",
    "wait=False, and attached to later": f"""{HEAD}
estimator = PyTorch(entry_point="train.py", source_dir="src", role=role, {WHAT})
estimator.fit("s3://data/train", wait=False)
name = estimator.latest_training_job.name
attached = PyTorch.attach(name)
print(attached.model_data)
""",
    "an image of one's own, and names inside of a function": """
def main():
    import sagemaker
    from sagemaker.estimator import Estimator

    session = sagemaker.Session()
    Estimator(
        "111122223333.dkr.ecr.us-west-2.amazonaws.com/own:1", sagemaker.get_execution_role(sagemaker_session=session), 1,
        "ml.m5.xlarge", hyperparameters={"rate": 1}, sagemaker_session=session,
    ).fit("s3://data/train")

main()
""",
    "what ModelTrainer cannot say": f"""{HEAD}
name = "mine"
estimator = PyTorch(
    entry_point="train.py", source_dir="src", dependencies=["lib"], role=role, framework_version="2.0.1", py_version="py310",
    instance_type="ml.p4d.24xlarge", instance_count=2, hyperparameters={{"epochs": 3, "name": "a"}},
    distribution={{"smdistributed": {{"dataparallel": {{"enabled": True}}}}}}, tags=[{{"Key": "team", "Value": "nlp"}}],
)
estimator.set_hyperparameters(rate=0.1)
estimator.fit({{"train": "s3://data/train"}}, job_name=name)
print(estimator.model_data, estimator.latest_training_job.name)
""",
    "texts that ModelTrainer sends otherwise": """
import sagemaker
from sagemaker.estimator import Estimator
role = sagemaker.get_execution_role()
image = "111122223333.dkr.ecr.us-west-2.amazonaws.com/own:1"
estimator = Estimator(image, role, 1, "ml.m5.xlarge", hyperparameters={"subwords": False}, max_run=60)
estimator.fit("s3://data/train")
""",
    "a script alone, in the folder of the launcher": f"""{HEAD}
PyTorch(entry_point="src/train.py", role=role, {WHAT}).fit()
""",
}  # fmt: skip


@pytest.fixture(scope="module")
def v3() -> Sdk:
    return sdk_v3()


@pytest.fixture(scope="module")
def v2() -> Sdk:
    return Installed()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "train.py").write_text("print('training')\n")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "helper.py").write_text("x = 1\n")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.txt").write_text("a\n")
    return tmp_path


def ported(text: str, folder: Path, v2: Sdk, v3: Sdk, name: str = "launch.py") -> Port:
    path = folder / name
    path.write_text(text, "utf-8")
    return port(path, v2, v3)


@pytest.mark.parametrize("form", PROGRAMS)
def test_a_program_runs_under_sdk_v3_and_sends_its_jobs(form: str, folder: Path, v2: Sdk, v3: Sdk) -> None:
    done = ported(PROGRAMS[form], folder, v2, v3)
    assert () == done.refused, done.text
    assert done.runs
    assert done.whole
    known = {each.means for each in compare.NAMED} | {compare.STAMPS, compare.FOLDER, compare.CACHES}
    assert [] == [means for means in done.named if means not in known and "SDK v3" not in means], done.named
    assert "fit(" not in done.text


def test_a_notebook_runs_with_its_magics(folder: Path, v2: Sdk, v3: Sdk) -> None:
    estimator = f'estimator = PyTorch(entry_point="train.py", source_dir="src", role=role, {WHAT})\n'
    sources = [
        "%pip install -q datasets",
        f"%%time\n{HEAD}",
        estimator,
        "!ls\nestimator.fit('s3://data/train')  # start\n%env A=b",
    ]
    cells = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "source": source.splitlines(keepends=True)}
        for source in sources
    ]
    text = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}, indent=1) + "\n"
    done = ported(text, folder, v2, v3, "launch.ipynb")
    assert () == done.refused
    written = ["".join(cell["source"]) for cell in json.loads(done.text)["cells"]]
    assert sources[0] == written[0]
    assert written[1].startswith("%%time\n")
    assert "sess = Session()" in written[1]
    assert written[3].startswith("!ls\nestimator.train(")
    assert written[3].endswith("  # start\n%env A=b")


REFUSED = {
    f'{HEAD}PyTorch(entry_point="train.py", source_dir="src", role=role, {WHAT}).fit("s3://data/x", job_name="mine")\n':
        "ModelTrainer.train takes no job_name",
    f'{HEAD}role = open("none").read()\nPyTorch(entry_point="train.py", role=role, {WHAT}).fit()\n':
        "did not come here, so nothing is proven; ",
    f'{HEAD}e = PyTorch(entry_point="train.py", source_dir="src", role=role, {WHAT}, hyperparameters={{"a b": 1}})\ne.fit()\n'
    'e.fit(experiment_config={"TrialName": "t"})\n':
        "experiment_config",
    f'{HEAD}e = PyTorch(entry_point="train.py", source_dir="src", role=role, {WHAT})\ne.fit()\ne.deploy(1, "ml.m5.xlarge")\n':
        "ModelBuilder",
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_a_program_that_would_be_another_is_refused_with_its_line(text: str, folder: Path, v2: Sdk, v3: Sdk) -> None:
    done = ported(text, folder, v2, v3)
    assert not done.runs
    assert any(REFUSED[text] in str(each) for each in done.refused), done.refused
    assert text == (folder / "launch.py").read_text()
