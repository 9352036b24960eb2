"""Launchers are read without running: what each form of code makes known, and what becomes a hole."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

import sm_trn as st
from sm_trn.bridge.launchers import Ending, Launchers, Reason, read_launchers, read_text

HEAD = """
import os, boto3, sagemaker
from sagemaker.huggingface import HuggingFace
from sagemaker.pytorch import PyTorch
from sagemaker.estimator import Estimator
from sagemaker.inputs import TrainingInput
session = sagemaker.Session()
role = sagemaker.get_execution_role()
bucket = session.default_bucket()
"""
PYTORCH = 'entry_point="train.py", role=role, framework_version="2.1", py_version="py310", instance_type="ml.g5.xlarge", instance_count=1'


PLAN = "arn:aws:sagemaker:us-west-2:111122223333:training-plan/p"


def read(body: str, **given: Any) -> Launchers:
    return read_text(HEAD + body, "launch.py", given=given)


def only(body: str, **given: Any) -> Any:
    (launch,) = read(body, **given).launches
    return launch


def hyperparameters(body: str) -> dict[str, Any]:
    launch = only(f"{body}\nPyTorch({PYTORCH}, hyperparameters=found).fit()")
    assert () == launch.holes
    return dict(launch.jobs[0].spec.hyperparameters)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("found = {'a': 1}", {"a": 1}),
        ("base = {'a': 1}\nfound = {**base, 'b': 'x' * 3}", {"a": 1, "b": "xxx"}),
        ("found = {}\nfound['a'] = 2\nfound.update(b=3)\nfound.update({'c': 4})", {"a": 2, "b": 3, "c": 4}),
        ("n = 3\nfound = {'name': f'run-{n:03d}', 'other': 'a-{}'.format(n)}",
         {"name": "run-003", "other": "a-3"}),
        ("def made(rate=1e-3, **more):\n    return {'rate': rate, **more}\nfound = made(epochs=2)", {"rate": 1e-3, "epochs": 2}),
        ("found = {}\nfor i, k in enumerate(['a', 'b']):\n    found[k] = i", {"a": 0, "b": 1}),
        ("found = {k: v for k, v in zip('ab', [1, 2]) if v > 1}", {"b": 2}),
        ("flag = None\nfound = {'a': 1 if flag else 2}", {"a": 2}),
        ("found = {'a': os.path.join('/opt', 'ml', 'x')}", {"a": "/opt/ml/x"}),
    ],
)  # fmt: skip
def test_data_flow_is_followed(body: str, expected: dict[str, Any]) -> None:
    assert expected == hyperparameters(body)


def test_what_is_changed_after_construction_counts() -> None:
    body = "e = Estimator('1.dkr.ecr.us-west-2.amazonaws.com/own:1', role, 1, 'ml.m5.xlarge')\ne.set_hyperparameters(epochs=3)\ne.max_run = 60\ne.fit('s3://b/data')"
    spec = only(body).jobs[0].spec
    assert ({"epochs": "3"}, 60) == (dict(spec.hyperparameters), spec.max_run_s)
    assert ["training"] == list(spec.inputs)


def test_placeholders_survive_and_can_be_given() -> None:
    body = f"PyTorch({PYTORCH}, output_path=f's3://{{bucket}}/out').fit(f's3://{{bucket}}/data')"
    assert "s3://YOUR-BUCKET/out" == only(body).jobs[0].spec.output.s3_uri
    assert ("bucket", "region", "role") == only(body).placeholders
    assert "s3://mine/out" == only(body, bucket="mine").jobs[0].spec.output.s3_uri


def test_a_comparison_with_a_placeholder_is_read_both_ways() -> None:
    body = f"kind = 'ml.g5.xlarge'\nif session.boto_region_name == 'eu-west-1':\n    kind = 'ml.g4dn.xlarge'\nPyTorch({PYTORCH.replace(chr(34) + 'ml.g5.xlarge' + chr(34), 'kind')}).fit()"  # noqa: E501 - a launcher on one line
    launch = only(body)
    assert {"ml.g5.xlarge", "ml.g4dn.xlarge"} == {job.spec.compute.instance for job in launch.jobs}
    assert {True, False} == {taken for job in launch.jobs for _, taken in job.branch}
    assert launch.complete


def test_a_value_from_a_call_is_one_hole_that_can_be_given() -> None:
    body = f"import pandas\nn = pandas.read_csv('x').shape[0]\nPyTorch({PYTORCH}, hyperparameters={{'n': n, 'm': n}}, volume_size=n).fit()"
    (hole,) = only(body).holes
    assert (Reason.CALL, "n", 11) == (hole.reason, hole.give, hole.place.line)
    assert 500 == only(body, n=500).jobs[0].spec.compute.volume_gb


def test_local_mode_is_no_job() -> None:
    launch = only(f"PyTorch({PYTORCH.replace('ml.g5.xlarge', 'local_gpu')}).fit()")
    assert (Ending.LOCAL, ()) == (launch.ending, launch.jobs)


def test_names_of_version_1_are_what_sdk_v2_makes_of_them() -> None:
    body = "Estimator('1.dkr.ecr.us-west-2.amazonaws.com/own:1', role=role, train_instance_count=2, train_instance_type='ml.m5.xlarge').fit('s3://b/d')"
    launch = only(body)
    assert 2 == launch.jobs[0].spec.compute.count
    assert "train_instance_count" in launch.remarks[0]
    (hole,) = only(body.replace("'1.dkr", "image_name='1.dkr")).holes  # which SDK v2 knows nothing of
    assert (Reason.REFUSED, True) == (hole.reason, "image_uri" in hole.detail)


def test_file_systems_and_plans_are_fields_of_the_job() -> None:
    body = f"from sagemaker.inputs import FileSystemInput\nPyTorch({PYTORCH}, training_plan={PLAN!r}).fit({{'x': FileSystemInput('fs-0123456789a', 'EFS', '/d')}})"  # noqa: E501 - a launcher on one line
    job = only(body).jobs[0]
    assert PLAN == st.render(job.spec)["ResourceConfig"]["TrainingPlanArn"]
    assert {"x": st.FileSystem("fs-0123456789a", st.specs.FileSystemKind.EFS, directory="/d")} == dict(job.spec.inputs)
    assert () == job.spec.kept


def test_a_channel_is_shuffled() -> None:
    shuffled = "TrainingInput('s3://b/d', shuffle_config=ShuffleConfig(7), content_type='text/csv')"
    body = f"from sagemaker.inputs import ShuffleConfig, TrainingInput\nPyTorch({PYTORCH}).fit({{'x': {shuffled}}})"
    (channel,) = st.render(only(body).jobs[0].spec)["InputDataConfig"]
    assert {"Seed": 7} == channel["ShuffleConfig"]


def test_dependencies_are_packed_beside_the_script() -> None:
    body = "libs = ['../libs/shared', 'loose/']\n"
    spec = only(f"{body}PyTorch({PYTORCH}, source_dir='src', dependencies=libs).fit()").jobs[0].spec
    assert st.Script("train.py", source_dir="src", dependencies=("../libs/shared", "loose/")) == spec.script
    (hole,) = only(f"PyTorch({PYTORCH}, source_dir='src', dependencies=open('x').read()).fit()").holes
    assert "dependencies" == hole.give
    (hole,) = only(
        f"import elsewhere\nPyTorch({PYTORCH}, source_dir='src', dependencies=[elsewhere.here() / 'x']).fit()"
    ).holes
    assert ("elsewhere.here()", Reason.CALL) == (hole.expression, hole.reason)
    (hole,) = only(f"PyTorch({PYTORCH}, source_dir='src', dependencies=[3]).fit()").holes
    assert Reason.REFUSED is hole.reason


def test_an_empty_text_was_left_to_be_filled_in() -> None:
    (hole,) = only(f"PyTorch({PYTORCH}).fit('')").holes
    assert Reason.EMPTY is hole.reason


def notebook(*sources: str) -> str:
    cells = [
        {"cell_type": "code", "source": source.splitlines(keepends=True), "outputs": [], "metadata": {}}
        for source in sources
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4})


def test_a_notebook_is_read_cell_by_cell_without_its_magics() -> None:
    text = notebook(
        "%pip install sagemaker -q \\\n  --upgrade\n!ls", "%%writefile train.py\nnot python at all (", f"%%time\n{HEAD}", "broken (",
        f"where = !pwd\nif True:\n    !echo hi\nPyTorch({PYTORCH}).fit()",
    )  # fmt: skip
    found = read_text(text, "train.ipynb")
    assert [(5, 4)] == [(launch.place.cell, launch.place.line) for launch in found.launches]
    assert [4] == [place.cell for place, _ in found.unread]
    assert found.launches[0].complete


def test_a_script_that_the_notebook_writes_is_named_with_its_cell(tmp_path: Path) -> None:
    launch = HEAD + f"PyTorch({PYTORCH}, source_dir='code').fit()"
    (tmp_path / "launch.ipynb").write_text(notebook("%%writefile ./code/train.py\nimport torch\n", launch))
    told = "cell 1 writes code/train.py, which is not there yet: run that cell, and import again"
    assert (told,) == read_launchers(tmp_path / "launch.ipynb").launches[0].remarks  # the source lies nowhere
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "train.py").write_text("import torch\n")
    assert () == read_launchers(tmp_path / "launch.ipynb").launches[0].remarks


def test_siblings_are_read_and_the_rest_of_a_module_is_one_hole() -> None:
    modules = {"config": "RATE = 3\n"}
    body = f"from config import RATE\nimport elsewhere\nPyTorch({PYTORCH}, hyperparameters={{'r': RATE, 'a': elsewhere.A, 'b': elsewhere.B}}).fit()"  # noqa: E501 - a launcher on one line
    (launch,) = read_text(HEAD + body, "launch.py", modules=modules).launches
    assert [Reason.MODULE] == [hole.reason for hole in launch.holes]


def test_plans_checks_and_event_files_are_fields_of_the_job() -> None:
    body = f"from sagemaker.debugger import TensorBoardOutputConfig\nPyTorch({PYTORCH}, training_plan={PLAN!r}, enable_infra_check=True, enable_remote_debug=True, tensorboard_output_config=TensorBoardOutputConfig('s3://b/tb', '/opt/tb')).fit()"  # noqa: E501 - a launcher on one line
    spec = only(body).jobs[0].spec
    assert (PLAN, True, True) == (spec.compute.training_plan, spec.infra_check, spec.remote_debug)
    assert st.specs.TensorBoard(s3_uri="s3://b/tb", local_path="/opt/tb") == spec.tensorboard
    assert () == spec.kept


@pytest.mark.parametrize(
    "written",
    [
        "os.path.join('data', 'train')", "os.path.join('data/', 'train')", "os.path.join('', 'train')", "os.path.join('a', '/b')",
        "str(Path('data', 'train'))", "str(Path('s3://b/x'))", "str(Path('./data/'))", "str(Path('a') / Path('b'))", "str(Path('a', '/b'))",
        "str(Path('a//b/./c') / 'd')", "os.path.join('s3://b', 'x', '')",
    ],
)  # fmt: skip
def test_paths_are_joined_as_python_joins_them(written: str) -> None:
    asked = eval(written, {"os": os, "Path": PurePosixPath})  # noqa: S307 - texts of this file
    assert {"a": asked} == hyperparameters(f"from pathlib import Path\nfound = {{'a': {written}}}")


def test_a_path_that_begins_with_a_placeholder_has_no_slash_before_it() -> None:
    body = "from pathlib import Path\nfound = {'a': str(Path(bucket, './x//y/')), 'b': os.path.join(bucket, 'x')}"
    assert {"a": "YOUR-BUCKET/x/y", "b": "YOUR-BUCKET/x"} == hyperparameters(body)


def test_an_estimator_in_a_function_is_placed_in_the_functions_cell() -> None:
    function = f"def launch(rate):\n    PyTorch({PYTORCH}, hyperparameters=rate).fit()"
    sources = [HEAD, function, "launch({})\nlaunch(unknown)"]
    notebook = {"cells": [{"cell_type": "code", "source": source} for source in sources]}
    one, two = read_text(json.dumps(notebook), "launch.ipynb").launches
    assert [(2, 2), (2, 2)] == [(launch.place.cell, launch.place.line) for launch in (one, two)]
    assert [(3, 2)] == [(hole.place.cell, hole.place.line) for hole in two.holes]


def test_scikit_learns_class_does_nothing_with_a_distribution() -> None:
    plain = 'SKLearn("train.py", role=role, framework_version="1.2-1", py_version="py3", instance_type="ml.c5.xlarge", instance_count=1'
    body = f"from sagemaker.sklearn import SKLearn\n{plain}{{more}}).fit()"
    one, other = (
        only(body.format(more=more)).jobs[0].request for more in ("", ", distribution={'mpi': {'enabled': True}}")
    )
    assert one == other


def test_what_the_sdk_refuses_is_a_hole_with_its_words() -> None:
    placed = "instance_placement_config={'EnableMultipleJobs': True, 'Newer': 1}"
    body = f"e = Estimator('1.dkr.ecr.us-west-2.amazonaws.com/own:1', role, 1, 'ml.m5.xlarge', {placed})\ne.fit()"
    (hole,) = only(body).holes
    assert (Reason.REFUSED, True) == (hole.reason, 'InstancePlacementConfig: "Newer"' in hole.detail)


def test_an_answer_that_nobody_waited_for_is_given_to_nobody_else() -> None:
    def ring(*_: object) -> None:
        raise KeyboardInterrupt

    def ask() -> None:
        for rate in range(1, 10_000):
            hyperparameters(f"found = {{'rate': {rate}}}")

    assert {"rate": 0} == hyperparameters("found = {'rate': 0}")  # the process is there
    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(KeyboardInterrupt):
            ask()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    for rate in (-1, -2):
        assert {"rate": rate} == hyperparameters(f"found = {{'rate': {rate}}}")
