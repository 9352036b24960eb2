"""A program is written anew where it uses SDK v2, and every other byte of its file is as it was."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from fakes.sdks import Everything, Installed
from hypothesis import given
from hypothesis import strategies as some

from sm_trn.bridge.launchers.values import Place
from sm_trn.bridge.rewriting.names import moved
from sm_trn.bridge.rewriting.program import parse_program
from sm_trn.bridge.rewriting.results import Rewritten, Started
from sm_trn.bridge.rewriting.rewrite import rewritten
from sm_trn.core.errors import SmTrnError
from sm_trn.core.specs.json import Json

CALLSITES = Path(os.environ.get("SM_TRN_CALLSITES", "/nowhere"))
V2 = Installed()
LINES = ["%%time", "x = 1  # é, ﬁ", "", "!ls", "text = '''a", "b'''", "if x:", "    y = 2", "%env A=b"]
WHAT = 'framework_version="2.1", py_version="py310", instance_type="ml.g5.xlarge", instance_count=1'
MADE = f'from sagemaker.pytorch import PyTorch\ne = PyTorch("t.py", source_dir="src", role=role, {WHAT})\n'
FIT = 'e.fit("s3://mine/data")\n'


def new(text: str, started: Sequence[Started] = (), name: str = "launch.py") -> Rewritten:
    return rewritten(text, name, V2, Everything(), started)


def reasons(text: str) -> list[str]:
    return [each.why for each in new(text).refused]


def notebook(sources: list[str]) -> dict[str, Any]:
    cells = [
        {"cell_type": "code", "source": source.splitlines(keepends=True), "outputs": [], "metadata": {}}
        for source in sources
    ]
    return {
        "cells": [{"cell_type": "markdown", "source": ["é"], "metadata": {}}, *cells],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 4,
    }


LAUNCH = """# before
import os, sagemaker  # both
from sagemaker.pytorch import PyTorch

# who pays
role = sagemaker.get_execution_role()
if True:
    print("é"  ,  os.name)   # kept as it is
    estimator = PyTorch(
        entry_point="train.py", role=role,  # mine
        # which versions
        framework_version="2.1", py_version="py310", source_dir="src",
        instance_type=machine(), instance_count=1 + 1,
        hyperparameters={"a": [1,
           2]},
    )
    estimator.fit("s3://mine/data", wait=False)  # go
# after"""
WRITTEN = """# before
from sagemaker.core import image_uris
from sagemaker.core.helper.session_helper import Session, get_execution_role
from sagemaker.core.training.configs import (
    Compute,
    InputData,
    OutputDataConfig,
    SourceCode,
    StoppingCondition,
)
from sagemaker.train import ModelTrainer
import os  # both

# who pays
role = get_execution_role()
if True:
    print("é"  ,  os.name)   # kept as it is
    estimator = ModelTrainer(
        training_image=image_uris.retrieve(
            framework="pytorch",
            region=Session().boto_region_name,
            # which versions
            version="2.1",
            py_version="py310",
            instance_type=machine(),
            image_scope="training",
        ),
        source_code=SourceCode(
            source_dir="src",
            entry_script="train.py",
        ),
        role=role,  # mine
        compute=Compute(
            instance_type=machine(),
            instance_count=1 + 1,
        ),
        hyperparameters={"a": [1,
           2]},
        stopping_condition=StoppingCondition(max_runtime_in_seconds=86400),
        output_data_config=OutputDataConfig(s3_output_path=f"s3://{Session().default_bucket()}/"),
    )
    estimator.train(
        input_data_config=[InputData(channel_name="training", data_source="s3://mine/data")],
        wait=False,
    )  # go
# after"""


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_script_keeps_expressions_comments_line_ends_and_what_is_not_changed(end: str, mark: str) -> None:
    done = new(mark + LAUNCH.replace("\n", end))
    assert () == done.refused
    assert (mark + WRITTEN.replace("\n", end)).split(end) == done.text.split(end)


def test_a_program_without_the_sdk_is_left_alone() -> None:
    text = "from sklearn.linear_model import LinearRegression\ne = LinearRegression()\ne.fit(x, y)\n"
    done = new(text)
    assert (text, ()) == (done.text, done.launches)


def test_names_of_the_program_are_not_taken() -> None:
    text = f"class Compute: ...\nfrom boto3 import Session\nrole = Session()\n{MADE}{FIT}"
    done = new(text)
    assert "Compute as sagemaker_Compute" in done.text
    assert "import Session as sagemaker_Session" in done.text
    assert "compute=sagemaker_Compute(" in done.text


def test_imports_stay_in_the_only_function_that_has_them_and_comments_stay() -> None:
    body = "".join(f"    {line}\n" for line in (MADE + FIT).splitlines())
    text = f"def main():\n    import sagemaker\n    # the estimator\n{body}\ndef other():\n    pass\n"
    done = new(text)
    assert () == done.refused
    assert done.text.startswith("def main():\n    from sagemaker.core import image_uris\n")
    assert "    # the estimator\n    e = ModelTrainer(" in done.text


def test_an_import_that_goes_leaves_a_program() -> None:
    text = f"import sagemaker\nrole = 1\n{MADE}{FIT}if role:\n    from sagemaker.debugger import Rule\n"
    done = new(text)
    assert done.text.endswith("if role:\n    pass\n")
    compile(done.text, "launch.py", "exec")


USES = {
    "e.model_data": "e._latest_training_job.model_artifacts.s3_model_artifacts",
    "e.latest_training_job.name": "e._latest_training_job.training_job_name",
    "e.logs()": "e._latest_training_job.wait(logs=True)",
    "e.role": "e.role",
    "e.set_hyperparameters(rate=2, name='a')": "e.hyperparameters.update(rate=2, name='a')",
    "e.hyperparameters()": "e.hyperparameters",
}


@pytest.mark.parametrize("use", USES)
def test_later_uses_are_asked_of_what_sdk_v3_has(use: str) -> None:
    done = new(f"role = 1\n{MADE}{FIT}x = {use}\n")
    assert () == done.refused
    assert done.text.endswith(f"x = {USES[use]}\n")


REFUSED = {
    f"role = 1\n{MADE}{FIT}e.deploy(1)\n": "SDK v3 deploys by sagemaker.serve.ModelBuilder, whose arguments are others",
    f"role = 1\n{MADE}{FIT}e.latest_training_job.describe()\n":
        "SDK v3 answers with an object, not with the dictionary that the program goes on with",
    f"role = 1\n{MADE}{FIT}e.unheard\n": "what SDK v3 has for e.unheard is not known here",
    f"role = 1\n{MADE}e.fit('s3://b', job_name='x')\n": "ModelTrainer.train takes no job_name",
    f"role = 1\n{MADE.replace('role=role', 'role=role, compiler_config=1')}{FIT}": "ModelTrainer has no compiler_config",
    f"role = 1\n{MADE.replace('role=role', '**words, role=role')}{FIT}":
        "**words: which arguments it holds does not stand in the call",
    f"role = 1\n{MADE.replace('role=role', 'role=role, distribution=chosen()')}{FIT}":
        "distribution=chosen(): what it is does not stand in one place",
    "from sagemaker.pytorch import PyTorch\nclass Mine(PyTorch):\n    pass\n":
        "class Mine is made of an estimator of SDK v2",
    f"role = 1\n{MADE}from sagemaker.predictor import Predictor\nx = Predictor\n": "",
}  # fmt: skip


@pytest.mark.parametrize("text", [text for text, why in REFUSED.items() if why])
def test_what_sdk_v3_does_not_have_is_refused_with_its_reason(text: str) -> None:
    assert REFUSED[text] in reasons(text)


def test_a_name_that_sdk_v3_does_not_have_is_asked_of_it_and_refused_at_its_line() -> None:
    text = f"role = 1\n{MADE}from sagemaker.predictor import Predictor\nx = Predictor\n"
    done = rewritten(text, "launch.py", V2, Everything(lacking=["sagemaker.core.base_predictor.Predictor"]))
    assert [] == [each for each in done.refused if "Predictor" not in each.why]
    assert all("base_predictor" not in each.why for each in done.refused)
    gone = rewritten(
        text, "launch.py", V2, Everything(lacking=["sagemaker.core.base_predictor.Predictor", *homes("Predictor")])
    )
    assert ["launch.py, line 5: SDK v3 has no sagemaker.predictor.Predictor"] == [str(each) for each in gone.refused]


def test_a_tuner_is_refused_with_what_does_the_same() -> None:
    text = f"role = 1\n{MADE}from sagemaker.tuner import HyperparameterTuner\nx = HyperparameterTuner\n"
    lacking = [moved("sagemaker.tuner.HyperparameterTuner")]
    (refused,) = rewritten(text, "launch.py", V2, Everything(lacking=lacking)).refused
    assert "launch.py, line 5: SDK v3 has no sagemaker.tuner.HyperparameterTuner that takes the same arguments" in str(
        refused
    )
    assert "writes the search as a sweep file, and sm-trn tune starts that" in str(refused)


def homes(name: str) -> list[str]:
    return [f"sagemaker.core.{module}.{name}" for module in ("predictor", "base_predictor")]


def request(*channels: str) -> dict[str, Json]:
    return {
        "TrainingJobName": "pytorch-training-2026-11-20-16-15-23-990",
        "InputDataConfig": [{"ChannelName": channel} for channel in channels],
    }


def test_what_a_run_has_shown_tells_channels_requirements_and_the_name() -> None:
    text = f"role = 1\n{MADE}def start(data):\n    e.fit(data)\n"
    sent = Started(Place("launch.py", None, 5), request("train", "test"), requirements=True)
    done = new(text, [sent])
    assert "[InputData(channel_name=channel, data_source=source) for channel, source in data.items()]" in done.text
    assert 'requirements="requirements.txt"' in done.text
    assert 'base_job_name="pytorch-training"' in done.text
    alone = new(text)
    assert '[InputData(channel_name="training", data_source=data)]' in alone.text


EXACT = f"""role = 1
{MADE.replace("role=role", "role=role, dependencies=beside(), hyperparameters={'a': x}")}e.set_hyperparameters(b=2)
e.fit("s3://mine/data", job_name=name())  # go
print(e.model_data)
"""
SENT: dict[str, Json] = {
    "TrainingJobName": "mine",
    "AlgorithmSpecification": {"TrainingImage": "1.dkr.ecr.us-west-2.amazonaws.com/a:1", "TrainingInputMode": "File"},
    "RoleArn": "arn:aws:iam::111122223333:role/r",
    "ResourceConfig": {"InstanceType": "ml.g5.xlarge", "InstanceCount": 1, "VolumeSizeInGB": 30},
    "OutputDataConfig": {"S3OutputPath": "s3://sagemaker-us-west-2-111122223333/"},
    "HyperParameters": {
        "a": "1",
        "sagemaker_program": '"t.py"',
        "sagemaker_job_name": '"mine"',
        "sagemaker_submit_directory": '"s3://sagemaker-us-west-2-111122223333/mine/source/sourcedir.tar.gz"',
    },
}


def test_what_model_trainer_cannot_say_is_the_request_that_was_sent_in_the_programs_own_expressions() -> None:
    done = new(EXACT, [Started(Place("launch.py", None, 5), SENT, requirements=False)])
    assert () == done.refused
    for line in (
        "e = dict(",
        "    role_arn=role,",
        '        s3_output_path=f"s3://{Session().default_bucket()}/"',
        "**{key: json.dumps(value) for key, value in {'a': x}.items()},",
        "dependencies=beside()",
        'e["hyper_parameters"].update(b=json.dumps(2))',
        "e_name = name()",
        'e["hyper_parameters"]["sagemaker_job_name"] = json.dumps(e_name)',
        "e_job.wait(logs=True)  # go",
        "print(e_job.model_artifacts.s3_model_artifacts)",
    ):
        assert line.strip() in done.text, line
    assert "111122223333" not in done.text
    assert "us-west-2" not in done.text


def test_what_has_left_no_trace_in_a_request_is_refused() -> None:
    text = EXACT.replace("role=role", "role=role, max_wait=limit")
    done = new(text, [Started(Place("launch.py", None, 5), SENT, requirements=False)])
    (refusal,) = done.refused
    assert "max_wait=limit: it has left no trace in the request" in str(refusal)


@given(
    some.lists(some.lists(some.sampled_from(LINES), max_size=5).map("\n".join), max_size=4),
    some.sampled_from([1, 2]), some.booleans(), some.sampled_from(["", "\n"]), some.booleans(), some.booleans(),
)  # fmt: skip
def test_a_notebook_keeps_its_style_and_its_magics(
    sources: list[str], indent: int, plain: bool, end: str, crlf: bool, mark: bool
) -> None:
    def written(tree: dict[str, Any]) -> str:
        body = json.dumps(tree, indent=indent, ensure_ascii=plain) + end
        return ("\ufeff" if mark else "") + (body.replace("\n", "\r\n") if crlf else body)

    before = written(notebook([*sources, "import sagemaker\nx = sagemaker.Session()"]))
    home = "sagemaker.core.helper.session_helper"
    after = written(notebook([*sources, f"from {home} import Session\nx = Session()"]))
    assert after == new(before, name="x.ipynb").text
    program = parse_program(before, "x.ipynb")
    assert before == program.written(program.module)


def test_a_strange_style_is_refused() -> None:
    with pytest.raises(SmTrnError, match="nothing was written"):
        new('{ "cells":[{"cell_type":"code","source":"import sagemaker"}] }', name="x.ipynb")


def test_a_file_that_is_no_python_is_refused_at_its_line() -> None:
    with pytest.raises(SmTrnError, match=r"launch\.py, line 2: no Python 3"):
        new("x = 1\nprint 'old'\n")


@pytest.mark.skipif(not CALLSITES.is_dir(), reason="SM_TRN_CALLSITES names no folder of public notebooks")
def test_public_notebooks_keep_every_other_byte() -> None:
    changed, refused = 0, list[str]()
    for path in sorted(CALLSITES.rglob("*.ipynb")):
        old = path.read_bytes().decode("utf-8")
        try:
            done = new(old, name=path.name)
            program = parse_program(old, path.name)
        except SmTrnError:  # a style that no writer of notebooks has: refused, and nothing is written
            refused.append(path.name)
            continue
        assert old == program.written(program.module), path
        changed += done.text != old
    assert changed > 10
    assert len(refused) <= changed // 20, refused
