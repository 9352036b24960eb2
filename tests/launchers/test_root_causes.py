"""One unknown thing is one hole, with a name that fills it; what only looks unknown is none."""

from __future__ import annotations

import inspect
import json
import posixpath
from pathlib import Path
from typing import Any

import pytest

from sm_trn.bridge.launchers import Ending, Launch, Launchers, Reason, read_text
from sm_trn.bridge.launchers.language.estimators import STEPS
from sm_trn.rules import check

HEAD = """
import os, time, boto3, sagemaker
from datetime import datetime
from pathlib import Path
from sagemaker.pytorch import PyTorch
role = sagemaker.get_execution_role()
region = boto3.Session().region_name
"""
LAUNCH = 'PyTorch(entry_point="train.py", role=role, framework_version="2.1", py_version="py310", instance_type="ml.g5.xlarge", instance_count=1, hyperparameters={"found": found}).fit()'  # noqa: E501 - a launcher on one line


def only(body: str, *, modules: dict[str, str] | None = None, **given: Any) -> Launch:
    (launch,) = read_text(f"{HEAD}{body}\n{LAUNCH}", "launch.py", modules=modules or {}, given=given).launches
    return launch


def value(launch: Launch) -> object:
    assert () == launch.holes, [str(hole) for hole in launch.holes]
    parameters = launch.jobs[0].request["HyperParameters"]
    assert isinstance(parameters, dict)
    return json.loads(str(parameters["found"]))


IN_ITS_FOLDER = [
    ("Path(__file__).parent / 'src'", "src"),
    ("Path(__file__).resolve().parent.parent / 'src'", "../src"),
    ("Path(__file__).resolve().parents[2] / 'src'", "../../src"),
    ("os.path.join(os.path.dirname(os.path.abspath(__file__)), 'src')", "src"),
]
STARTED_THERE = [
    ("os.path.join(os.getcwd(), 'src')", "src"),
    ("Path.cwd() / 'src'", "src"),
    ("Path.cwd().parent / 'src'", "../src"),
    ("Path('src').resolve()", "src"),
    ("os.path.abspath('../src')", "../src"),
]


def sourced(written: str, body: str, folders: tuple[Path, ...]) -> Launch:
    fit = LAUNCH.replace('hyperparameters={"found": found}', f"source_dir=str({written})")
    (launch,) = read_text(f"{HEAD}{body}\n{fit}", "launch.py", folders=folders).launches
    return launch


@pytest.mark.parametrize(("written", "expected"), [*IN_ITS_FOLDER, *STARTED_THERE])
def test_a_path_of_the_launcher_is_meant_from_its_folder(written: str, expected: str, tmp_path: Path) -> None:
    launch = sourced(written, "", (tmp_path,))
    assert () == launch.holes
    assert launch.jobs[0].spec.script is not None
    assert expected == posixpath.normpath(str(launch.jobs[0].spec.script.source_dir))


@pytest.mark.parametrize(("written", "_"), STARTED_THERE)
def test_where_it_is_started_elsewhere_or_moves_nobody_knows_its_folder(written: str, _: str, tmp_path: Path) -> None:
    assert sourced(written, "", (tmp_path / "here", tmp_path)).holes
    assert sourced(written, "os.chdir('..')", (tmp_path,)).holes
    assert sourced(written, "from os import chdir as go\ngo('..')", (tmp_path,)).holes


@pytest.mark.parametrize(("written", "_"), [*IN_ITS_FOLDER, *STARTED_THERE])
def test_the_folder_itself_is_no_value(written: str, _: str, tmp_path: Path) -> None:
    """It was '.', where SDK v2 sends the place on the machine that runs the launcher."""
    text = f"{HEAD}found = str({written})\n{LAUNCH}"
    (launch,) = read_text(text, "launch.py", folders=(tmp_path,)).launches
    assert "names the folder where the launcher lies" in str(launch.holes)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("from package import config\nfound = config.RATE", 3),
        ("if os.path.exists('x'):\n    found = 1\nelse:\n    raise_an_error()", 1),
        ("try:\n    import x\n    found = 1\nexcept ImportError:\n    print('none')", 1),
        (
            "import json\nfound = json.dumps({'at': ['s3://é' + region], 'n': 1}, indent=None)",
            '{"at": ["s3://\\u00e9us-west-2"], "n": 1}',
        ),
        (
            "import json\nfound = {str(k): json.dumps(v) for k, v in {'role': role}.items()}['role']",
            '"arn:aws:iam::111122223333:role/service-role/YOUR-ROLE"',
        ),
        ("found = [f'{n}{c}' for n, c in enumerate('ab', 1)] + list(enumerate('c', start=5))", ["1a", "2b", [5, "c"]]),
        (
            "import argparse\np = argparse.ArgumentParser()\np.add_argument('--kind', default='a')\nfound = p.parse_args().kind",
            "a",
        ),
        (
            """
import argparse
p = argparse.ArgumentParser()
p.add_argument("--region", default=os.environ.get("AWS_REGION", "eu-west-1"))
p.add_argument("--token", default=os.environ.get("TOKEN"))
p.add_argument("--rate", type=int, default=3)
found = p.parse_args().rate
""",
            3,
        ),
        ("found = str(datetime.now().timestamp()).split('.')[0]", "YOUR-TIME"),
    ],
)
def test_it_is_known(body: str, expected: object) -> None:
    modules = {"package": "", "package.config": "RATE = 3\n"}
    assert expected == value(only(body, modules=modules))


@pytest.mark.parametrize(
    "use",
    ["Config.rate", "Config().rate", "Config().changed()", "[Config.rate][0]", "f'{Config().rate}'", "len(Config())"],
)
def test_a_class_of_the_launchers_own_is_one_hole(use: str) -> None:
    """What a class makes is Python's business: --run tells, and --set gives what is wanted of it."""
    body = f"class Config:\n    rate = 3\n    def changed(self):\n        return 4\nfound = {use}"
    launch = only(body)
    assert () == launch.jobs
    (hole,) = launch.holes
    assert "a class of the launcher's own is not followed" == hole.detail


@pytest.mark.parametrize(
    "use",
    [
        "Config()",
        "str(Config())",
        "Config() == 3",
        "[*Config()]",
        "Config().name",
        "print(f'{Config()}')",
        "bool(Config())",
    ],
)
def test_what_a_class_may_change_is_unknown_wherever_it_is_mentioned(use: str) -> None:
    body = (
        "class Config:\n    name = property(lambda self: found.update(b=2))\n"
        "    def __init__(self):\n        found['b'] = 2\n    __len__ = __eq__ = __iter__ = __str__ = __init__\n"
        f"found = {{'a': 1}}\n{use}\n"
    )
    assert () == only(body).jobs


@pytest.mark.parametrize(
    ("body", "reason", "give"),
    [
        ("import glob\nfound = len(glob.glob('*.jpg'))", Reason.CALL, "found"),
        ("import pandas\nwords = pandas.read_csv('x')\nfound = len(words)", Reason.CALL, "words"),
        ("import json\nwords = json.load(open('x'))\nfound = {}\nfor k, v in words.items():\n    found[k] = v", Reason.CALL, "words"),
        ("import hub\nfound = {'token': hub.token()}", Reason.CALL, "token"),
        ("import json\nfound = len(json.load(open(os.environ['PATHS'])))", Reason.CALL, "PATHS"),
        ("import json\nwith open(f\"{os.environ['PATHS']}/c.json\") as file:\n    found = json.load(file)['a']", Reason.CALL, "PATHS"),
        ("import config\nfound = int(config.RATE) + config.MORE * 2", Reason.MODULE, "MORE"),
        ("import config\nfound = sagemaker.image_uris.retrieve(config.NAME, region)", Reason.MODULE, "NAME"),
        ("found = {}\nfor k in settings.items():\n    found[k] = 1", Reason.UNDEFINED, "settings"),
    ],
)  # fmt: skip
def test_it_is_one_hole_that_can_be_filled(body: str, reason: Reason, give: str) -> None:
    (hole,) = only(body, y=1, z=2).holes
    assert (reason, give) == (hole.reason, hole.give)


def test_an_item_of_a_mapping_is_given_by_its_key() -> None:
    assert {"token": "t"} == value(only("import hub\nfound = {'token': hub.token()}", token="t"))


def test_an_argument_is_given_by_its_name() -> None:
    body = "import hub\nfound = 1\nrole = hub.role()\n"
    (launch,) = read_text(
        f"{HEAD}{body}{LAUNCH.replace('instance_count=1', 'instance_count=hub.count()')}", "launch.py",
        given={"instance_count": 2, "role": "arn:aws:iam::111122223333:role/r"},
    ).launches  # fmt: skip
    assert ((), 2) == (launch.holes, launch.jobs[0].spec.compute.count)


def test_a_function_that_returns_one_of_several_values_gives_several_jobs() -> None:
    body = "def chosen():\n    if os.path.exists('x'):\n        return 1\n    return 2\nfound = chosen()"
    launch = only(body)
    assert {1: True, 2: False} == {job.spec.hyperparameters["found"]: job.branch[0][1] for job in launch.jobs}
    assert launch.complete


def test_a_handler_that_returns_is_a_way_of_its_own() -> None:
    body = "def chosen():\n    try:\n        os.stat('x')\n        return 1\n    except OSError:\n        return 2\nfound = chosen()"
    launch = only(body)
    assert {1: False, 2: True} == {job.spec.hyperparameters["found"]: job.branch[0][1] for job in launch.jobs}
    assert launch.complete


def test_a_handler_that_returns_is_a_way_beside_what_goes_on() -> None:
    launch = only(
        "def chosen():\n    try:\n        os.stat('x')\n    except OSError:\n        return 2\n    return 1\nfound = chosen()"
    )
    assert {1: False, 2: True} == {job.spec.hyperparameters["found"]: job.branch[0][1] for job in launch.jobs}


def cells(*sources: str) -> str:
    return json.dumps({"cells": [{"cell_type": "code", "source": source} for source in (HEAD, *sources, LAUNCH)]})


def test_a_name_of_the_store_is_given() -> None:
    text = cells("found = 1", "%store -r found")
    (launch,) = read_text(text, "launch.ipynb").launches
    assert {"found"} == {hole.give for hole in launch.holes}
    (launch,) = read_text(text, "launch.ipynb", given={"found": 4}).launches
    assert 4 == value(launch)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("found = !aws sts get-caller-identity --query Account --output text", "111122223333"),
        ("found = !(aws sts get-caller-identity --query 'Account' --output text)", "111122223333"),
        ("found = !aws configure get region", "us-west-2"),
    ],
)
def test_the_account_and_the_region_that_the_shell_tells(line: str, expected: str) -> None:
    (launch,) = read_text(cells(line, "found = found[0]"), "launch.ipynb").launches
    assert expected == value(launch)


STEP = """
from sagemaker.workflow.pipeline_context import PipelineSession
from sagemaker.workflow.steps import ProcessingStep
from sagemaker.workflow.functions import Join
step = ProcessingStep(name="prepare")
"""


def test_values_of_a_pipeline_are_one_cause() -> None:
    outputs = "step.properties.ProcessingOutputConfig.Outputs"
    body = f"{STEP}found = Join(on='/', values=['a'])\nrole = {outputs}['a'].S3Output.S3Uri"
    (hole,) = only(body).holes
    assert Reason.PIPELINE is hole.reason


def test_a_session_of_a_pipeline_starts_nothing() -> None:
    launch = LAUNCH.replace("role=role", "role=role, sagemaker_session=PipelineSession()")
    (found,) = read_text(f"{HEAD}{STEP}found = 1\n{launch}", "launch.py").launches
    assert (Ending.HANDED, "PipelineSession") == (found.ending, found.within)


@pytest.mark.parametrize("tuned", [False, True])
@pytest.mark.parametrize("given", ["'s3://b/x'", "{'training': TrainingInput(s3_data='s3://b/x')}"])
def test_a_step_of_a_pipeline_starts_its_estimator_on_the_inputs_of_the_step(tuned: bool, given: str) -> None:
    (found,) = of_step(tuned, given).launches
    assert (Ending.HANDED, "TuningStep" if tuned else "TrainingStep") == (found.ending, found.within)
    assert {"training": "s3://b/x"} == dict(found.jobs[0].spec.inputs)
    assert tuned == (found.jobs[0].search is not None)


@pytest.mark.parametrize("tuned", [False, True])
def test_inputs_that_another_step_makes_are_not_known(tuned: bool) -> None:
    """A job that lacks them would be another job."""
    made = "step.properties.ProcessingOutputConfig.Outputs['train'].S3Output.S3Uri"
    (found,) = of_step(tuned, f"{{'train': TrainingInput(s3_data={made})}}").launches
    assert [Reason.PIPELINE] == [hole.reason for hole in found.holes]


def of_step(tuned: bool, inputs: str) -> Launchers:
    """A pipeline whose step starts an estimator, or a tuner of it, on these inputs."""
    started = "tuner=HyperparameterTuner(e, 'loss', {'lr': ContinuousParameter(0.1, 0.2)})" if tuned else "estimator=e"
    names = "from sagemaker.tuner import ContinuousParameter, HyperparameterTuner\nfrom sagemaker.inputs import TrainingInput"
    names += "\nfrom sagemaker.workflow.steps import TrainingStep, TuningStep"
    step = f"{'Tuning' if tuned else 'Training'}Step(name='s', {started}, inputs={inputs})"
    return read_text(f"{HEAD}{STEP}found = 1\n{names}\ne = {LAUNCH.removesuffix('.fit()')}\n{step}", "launch.py")


@pytest.mark.parametrize("last", ["TrainingStep", "TuningStep"])
def test_the_arguments_of_steps_are_those_of_the_sdk(last: str) -> None:
    steps = pytest.importorskip("sagemaker.workflow.steps")
    real = list(inspect.signature(getattr(steps, last).__init__).parameters)[1:]
    assert real[: len(STEPS[last])] == list(STEPS[last])


@pytest.mark.parametrize("name", ["demo/training", "torch-1.12.1", "a_b"])
def test_a_step_of_a_pipeline_has_a_legal_name_whatever_the_base_name_is(name: str) -> None:
    """A pipeline names its jobs itself, so that the SDK takes a base name there that no job may have."""
    launch = LAUNCH.replace("role=role", f"role=role, base_job_name={name!r}, sagemaker_session=PipelineSession()")
    (found,) = read_text(f"{HEAD}{STEP}found = 1\n{launch}", "launch.py", check=check).launches
    (job,) = found.jobs
    assert [] == [problem for problem in job.problems if problem.id == "LIMIT002"]
    (alone,) = read_text(
        f"{HEAD}{STEP}found = 1\n{launch.replace('PipelineSession()', 'None')}", "launch.py", check=check
    ).launches
    assert ["LIMIT002"] == [problem.id for problem in alone.jobs[0].problems if problem.id == "LIMIT002"]


def test_a_recipe_is_no_job_that_can_be_said() -> None:
    launch = LAUNCH.replace("role=role", "role=role, training_recipe='training/llama/x'")
    (found,) = read_text(f"{HEAD}found = 1\n{launch}", "launch.py").launches
    assert ["training_recipe"] == [hole.give for hole in found.holes]


@pytest.mark.parametrize("word", ["", "estimator="])
def test_a_tuner_starts_what_it_is_given_with_or_without_a_name(word: str) -> None:
    tuner = f"from sagemaker.tuner import HyperparameterTuner\ntuner = HyperparameterTuner({word}e, objective_metric_name='loss')\ntuner.fit('s3://b/x')"
    text = f"{HEAD}found = 1\ne = {LAUNCH.removesuffix('.fit()')}\n{tuner}"
    (found,) = read_text(text, "launch.py").launches
    assert (Ending.HANDED, ["training"]) == (found.ending, list(found.jobs[0].spec.inputs))
    assert found.started is not None


def test_each_start_of_a_tuner_is_a_job_with_the_parameters_of_that_moment() -> None:
    text = f"""{HEAD}
from sagemaker.tuner import HyperparameterTuner
found = 1
e = {LAUNCH.removesuffix(".fit()")}
HyperparameterTuner(e, 'loss').fit('s3://b/x')
e.set_hyperparameters(found=2)
tuner = HyperparameterTuner(e, 'loss')
tuner.fit('s3://b/y')
e.set_hyperparameters(found=3)
"""
    first, second = read_text(text, "launch.py").launches
    assert ("HyperparameterTuner", "HyperparameterTuner") == (first.within, second.within)
    # set_hyperparameters encodes what it is given, and the start encodes it again.
    sent = [dict(launch.jobs[0].request)["HyperParameters"] for launch in (first, second)]
    assert ["1", json.dumps("2")] == [each["found"] for each in sent if isinstance(each, dict)]
    assert ["s3://b/x", "s3://b/y"] == [
        next(iter(launch.jobs[0].spec.channels.values())).uri for launch in (first, second)
    ]


def test_a_branch_inside_a_line_is_named_by_its_condition_alone() -> None:
    launch = only('asked = input("epochs? ")\nfound = asked or 1')
    assert {"asked"} == {label for job in launch.jobs for label, _ in job.branch}


def test_a_mapping_of_which_a_key_is_not_certain_has_no_known_length() -> None:
    launch = only("d = {'a': 1}\nif id(d) > 0:\n    d['b'] = 2\nfound = len(d)")
    sent = [job.request["HyperParameters"] for job in launch.jobs]
    assert ["1", "2"] == sorted(str(each["found"]) for each in sent if isinstance(each, dict))


def test_a_moment_in_the_name_of_an_experiments_run_is_a_placeholder() -> None:
    """SDK v2 writes such a name in small letters."""
    body = """
from sagemaker.experiments.run import Run
with Run(experiment_name="own", run_name=f"run-{time.time()}"):
    """
    (launch,) = read_text(f"{HEAD}{body}{LAUNCH.replace('found}', '1}')}", "launch.py").launches
    assert launch.complete
    assert "run-YOUR-TIME" in str(launch.jobs[0].request["ExperimentConfig"])


def test_a_moment_that_the_sdk_cuts_from_a_name_is_whole_where_the_launcher_writes_it_whole() -> None:
    body = "name = f'huggingface-workshop-using-spot-{time.time()}'"
    own = "base_job_name=name, output_path=f's3://b/{name}/out', hyperparameters={}"
    fit = LAUNCH.replace('hyperparameters={"found": found}', own)
    (launch,) = read_text(f"{HEAD}{body}\n{fit}", "launch.py").launches
    assert "s3://b/huggingface-workshop-using-spot-YOUR-TIME/out" == launch.jobs[0].spec.output.s3_uri
