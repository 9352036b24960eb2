"""``sm-trn import``: where a source lies, what is written, and what the exit code says."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from textwrap import indent

import pytest
from click.testing import CliRunner, Result
from command import sm_trn

from sm_trn.bridge.commands import porting
from sm_trn.bridge.commands.asking import answers
from sm_trn.bridge.commands.import_code import command
from sm_trn.bridge.launchers import read_text
from sm_trn.bridge.launchers.values import Place
from sm_trn.bridge.rewriting.port import Port
from sm_trn.bridge.rewriting.results import Refusal
from sm_trn.core.errors import SmTrnError

LAUNCH = """
from sagemaker.pytorch import PyTorch
estimator = PyTorch("train.py", source_dir="src", role="arn:aws:iam::111122223333:role/r", framework_version="2.1",
                    py_version="py310", instance_type="ml.g5.xlarge", instance_count=1, output_path="s3://b/out")
estimator.fit(wait=False)
"""

OF_A_STEP = "from sagemaker.workflow.steps import ProcessingStep\n" + LAUNCH.replace(
    '"s3://b/out"', "ProcessingStep(name='x').properties.Place"
)


def run(*words: str) -> Result:
    return CliRunner().invoke(command, list(words), standalone_mode=False)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A launcher in a folder below the one that it is imported from."""
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "launch.py").write_text(LAUNCH)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def source(folder: Path) -> None:
    (folder / "src").mkdir()
    (folder / "src" / "train.py").write_text("print('checkpoint')\n")


@pytest.mark.parametrize(("there", "seen"), [("jobs", "../jobs/src"), (".", "../src")])
def test_a_source_is_found_beside_the_launcher_or_where_it_is_started(repository: Path, there: str, seen: str) -> None:
    source(repository / there)
    done = run("jobs/launch.py", "--to", "job.toml", "--output", "written")
    assert done.exception is None
    (path,) = (repository / "written").glob("*.toml")
    assert f'source_dir = "{seen}"' in path.read_text()
    shown = run("jobs/launch.py").stdout
    assert "SCRIPT001" not in shown
    assert (there == "jobs") == ("SDK v2 looks for it in the folder where the launcher is started" in shown)


def test_a_notebook_is_started_in_its_own_folder(repository: Path) -> None:
    source(repository / "jobs")
    source(repository)
    cell = {"cell_type": "code", "source": LAUNCH, "outputs": [], "metadata": {}}
    (repository / "jobs" / "launch.ipynb").write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4}))
    assert "source_dir 'src' is taken from" not in run("jobs/launch.ipynb").stdout
    assert 'source_dir = "jobs/src"' in run("jobs/launch.ipynb", "--to", "job.toml").stdout


@pytest.mark.parametrize(
    ("text", "code"),
    [(LAUNCH, 0), ("def broken(:\n", 1), (LAUNCH.replace('"src"', "ask()"), 1), ("print('no launch')\n", 0)],
)
def test_the_exit_code_says_whether_all_was_read(repository: Path, text: str, code: int) -> None:
    (repository / "jobs" / "launch.py").write_text(text)
    assert code == run("jobs/launch.py").return_value


IN_A_FUNCTION = "def start():\n" + indent(LAUNCH, "    ")
IN_A_CLASS = "class Jobs:\n" + indent(IN_A_FUNCTION, "    ")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (LAUNCH, "launch.py --to job.toml --output jobs"),
        (LAUNCH.replace('"src"', "folder").replace("count=1", "count=n"), "launch.py --set folder=… --set n=…"),
        (OF_A_STEP.replace('"src"', "folder"), "--run -- python launch.py"),
        (IN_A_FUNCTION, "--run --call start -- python launch.py"),
        (IN_A_CLASS, "--run --call Jobs.start -- python launch.py"),
    ],
)
def test_one_command_is_said_that_completes_what_is_open(repository: Path, text: str, words: str) -> None:
    (repository / "launch.py").write_text(text)
    assert f"Next: sm-trn import {words}" == run("launch.py").stdout.splitlines()[-1]


def test_no_command_is_said_for_what_the_sdk_refuses(repository: Path) -> None:
    (repository / "jobs" / "launch.py").write_text(LAUNCH.replace('"2.1"', '"9.9"'))
    assert "Next:" not in run("jobs/launch.py").stdout


HOLES = LAUNCH.replace('"src"', "folder").replace("instance_count=1", "instance_count=machines")


def test_each_open_name_is_asked_for_once_and_may_be_left_open() -> None:
    asked: list[str] = []
    replies = {"folder": "", "machines": "2"}

    def ask(question: str) -> str:
        asked.append(question)
        return replies[question.split(" ", maxsplit=1)[0]]

    found = [read_text(HOLES + HOLES, "launch.py")]
    assert {"machines": 2} == answers(found, (), ask)
    assert ["folder (launch.py, line 3: folder)", "machines (launch.py, line 4: machines)"] == asked
    assert {} == answers(found, ("folder", "machines"), ask)


ARGUMENT = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--own', required=True)\n" + LAUNCH.replace(
    "instance_count=1", "instance_count=1, hyperparameters={'own': p.parse_args().own}"
)


def test_what_is_set_for_an_argument_is_the_text_that_was_typed(repository: Path) -> None:
    (repository / "jobs" / "launch.py").write_text(ARGUMENT)
    assert 'own = "1e-4"' in run("jobs/launch.py", "--set", "own=1e-4", "--to", "job.toml").stdout


@pytest.mark.sdk
def test_a_launcher_is_compared_under_its_own_command_line(repository: Path) -> None:
    source(repository / "jobs")
    (repository / "jobs" / "launch.py").write_text(ARGUMENT)
    done = sm_trn(
        "import", "jobs/launch.py", "--verify", "--set", "own=1e-4", "--arguments", "--own 1e-4", cwd=repository
    )
    assert "equal to what SDK v2 sends" in done.stdout


def test_one_is_asked_for_what_only_the_user_knows_but_for_no_secret() -> None:
    texts = '{"team": os.environ["TEAM"], "token": os.environ["HF_TOKEN"]}'
    found = [
        read_text(
            "import os\n" + LAUNCH.replace("instance_count=1", f"instance_count=1, environment={texts}"), "launch.py"
        )
    ]
    assert ("HF_TOKEN", "TEAM") == found[0].launches[0].placeholders[:2]
    assert {"TEAM": "mine"} == answers(found, (), lambda question: {"TEAM": "mine"}[question.partition(" ")[0]])


def test_on_a_terminal_one_is_asked_and_elsewhere_not(repository: Path) -> None:
    (repository / "jobs" / "launch.py").write_text(HOLES)
    assert 1 == run("jobs/launch.py").return_value
    ours, theirs = pty.openpty()
    program = (
        "import sys; from sm_trn.bridge.commands.import_code import command; sys.exit(command(standalone_mode=False))"
    )
    with os.fdopen(ours, "r+b", buffering=0) as terminal:
        child = subprocess.Popen(
            [sys.executable, "-c", program, "jobs/launch.py"],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=repository,
        )
        os.close(theirs)
        terminal.write(b"src\n2\n")
        shown = b""
        while b"Nothing was written" not in shown:
            shown += terminal.read(1_000)
        assert b"machines (launch.py, line 4" in shown
        assert b"2 \xc3\x97 ml.g5.xlarge" in shown
        assert 0 == child.wait()


def test_without_sdk_v3_nothing_is_written_and_the_answer_says_what_is_needed(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SM_TRN_SDK3_PYTHON", raising=False)
    text = (repository / "jobs" / "launch.py").read_text()
    for how in ("--in-place", "--diff"):
        done = run("jobs/launch.py", how)
        assert "name a Python that has it, with --python PATH or SM_TRN_SDK3_PYTHON" in str(done.exception)
        done = run("jobs/launch.py", how, "--python", sys.executable)
        assert "wanted version 3" in str(done.exception)
    assert text == (repository / "jobs" / "launch.py").read_text()


def test_what_runs_is_written_and_what_does_not_is_left_with_its_reasons(tmp_path: Path) -> None:
    path, page = tmp_path / "launch.py", tmp_path / "launch.ipynb"
    for each in (path, page):
        each.write_text("old\n")
    place = Place("launch.py", None, 3)
    good = Port(old="old\n", text="new\r\n", launches=(place,), named=("the time stamp",), jobs=1)
    bad = Port(old="old\n", text="new\n", launches=(place,), refused=(Refusal(place, "SDK v3 has no X"),))
    assert 1 == porting.write_in_place([(path, bad)])
    assert "old\n" == path.read_text()
    assert 0 == porting.write_in_place([(path, good)])
    assert (b"new\r\n", "old\n") == (path.read_bytes(), (tmp_path / "launch.py.bak").read_text())
    assert 0 == porting.write_notebooks([(page, good)], tmp_path / "new")
    assert (b"new\r\n", "old\n") == ((tmp_path / "new" / "launch.ipynb").read_bytes(), page.read_text())
    with pytest.raises(SmTrnError, match=r"wanted a \.ipynb file"):
        porting.write_notebooks([(path, good)], tmp_path / "new")
    with pytest.raises(SmTrnError, match="wanted another one, or --in-place"):
        porting.write_notebooks([(page, good)], tmp_path)


def test_a_job_that_model_trainer_refuses_is_written_for_the_level_below_and_keeps_no_other(repository: Path) -> None:
    path = repository / "jobs" / "launch.py"
    path.write_text(LAUNCH.replace("instance_count=1", "instance_count=1, container_entry_point=['sh']") + LAUNCH)
    done = run("jobs/launch.py", "--set", "bucket=b", "--to", "model-trainer-v3")
    assert (None, 0) == (done.exception, done.return_value)
    assert "TrainingJob.create(" in done.stdout
    assert "ModelTrainer(" in done.stdout
    assert "written as training-job-v3, for ModelTrainer cannot say it" in done.stderr


def test_a_program_with_a_placeholder_does_not_run(repository: Path) -> None:
    path = repository / "jobs" / "launch.py"
    path.write_text(
        "import sagemaker\n" + LAUNCH.replace('"arn:aws:iam::111122223333:role/r"', "sagemaker.get_execution_role()")
    )
    for form in ("model-trainer-v3", "training-job-v3", "estimator-v2"):
        text = run("jobs/launch.py", "--to", form).stdout
        with pytest.raises(SystemExit, match=r"fill in .*YOUR-ROLE.*, then delete this line"):
            exec(compile(text, "job.py", "exec"), {})  # noqa: S102 - our own text
    given = run(
        "jobs/launch.py", "--to", "estimator-v2", "--set", "role=arn:aws:iam::1:role/r", "--set", "bucket=b"
    ).stdout
    assert "SystemExit" not in given


def test_a_value_is_read_from_a_file_and_its_keys_can_be_changed(repository: Path) -> None:
    path = repository / "jobs" / "launch.py"
    path.write_text(LAUNCH.replace("instance_count=1", "instance_count=cfg['machines'], max_run=cfg['limits']['run']"))
    (repository / "cfg.json").write_text('{"machines": 2, "limits": {"run": 60}}')
    done = run("jobs/launch.py", "--set", "cfg=@cfg.json", "--set", "cfg.limits.run=120", "--to", "job.toml")
    assert (None, 0) == (done.exception, done.return_value)
    assert "count = 2" in done.stdout
    assert "max_run_s = 120" in done.stdout


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("cfg.key=1",), "a key of cfg, which no --set before it gives as a mapping"),
        (("cfg=1", "cfg.key=1"), "a key of cfg, which no --set before it gives as a mapping"),
        (("cfg=@none.json",), "cannot be read (No such file or directory)"),
        (("cfg=@bad.json",), "which is no JSON"),
    ],
)
def test_a_value_that_cannot_be_given_is_refused_with_a_sentence(
    repository: Path, given: tuple[str, ...], said: str
) -> None:
    (repository / "bad.json").write_text("{")
    done = run("jobs/launch.py", *[word for pair in given for word in ("--set", pair)])
    assert said in str(done.exception)


def test_a_placeholder_is_told_in_the_file_and_refused_by_check(repository: Path) -> None:
    source(repository / "jobs")
    spot = "use_spot_instances=True, max_run=60, max_wait=120, checkpoint_s3_uri=f's3://b/{time.time()}')"
    (repository / "jobs" / "launch.py").write_text(
        "import time" + LAUNCH.replace('"s3://b/out")', f'"s3://b/out", {spot}')
    )
    run("jobs/launch.py", "--to", "job.toml", "--output", "new")
    (path,) = (repository / "new").glob("*.toml")
    assert path.read_text().startswith("# YOUR-TIME: fill it in; sm-trn check refuses the job until then.\n")
    done = sm_trn("check", str(path))
    assert 1 == done.returncode
    assert "error[DATA006]: YOUR-TIME is a placeholder" in done.stdout


def test_a_job_that_the_form_refuses_is_named_and_the_others_are_written(repository: Path) -> None:
    source(repository / "jobs")
    first = LAUNCH.replace("estimator", "one").replace("instance_count=1", "instance_count=1, base_job_name='one'")
    second = LAUNCH.replace("estimator", "two").replace(
        "instance_count=1",
        "instance_count=1, base_job_name='../../two', tags=[{'Key': 'a', 'Value': ''}]",
    )
    (repository / "jobs" / "launch.py").write_text(second + first)
    done = run("jobs/launch.py", "--to", "model-trainer-v3", "--output", "new", "--set", "region=us-east-1")
    assert 1 == done.return_value
    assert ["one.py"] == [path.name for path in (repository / "new").iterdir()]
    assert "two, launch.py, line 3: not written." in done.stderr
