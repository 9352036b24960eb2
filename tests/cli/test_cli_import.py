"""``sm-trn import``: where a source lies, what is written, and what the exit code says."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from command import sm_trn

from sm_trn.bridge.commands.asking import answers
from sm_trn.bridge.commands.import_code import command
from sm_trn.bridge.launchers import read_text

LAUNCH = """
from sagemaker.pytorch import PyTorch
estimator = PyTorch("train.py", source_dir="src", role="arn:aws:iam::111122223333:role/r", framework_version="2.1",
                    py_version="py310", instance_type="ml.g5.xlarge", instance_count=1, output_path="s3://b/out")
estimator.fit(wait=False)
"""


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


def test_a_notebook_is_written_beside_and_a_script_is_not_one(repository: Path) -> None:
    cells = [
        {"cell_type": "code", "source": text.splitlines(keepends=True), "outputs": [], "metadata": {}}
        for text in ("%ls", LAUNCH)
    ]
    old = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}, indent=1)
    (repository / "launch.ipynb").write_text(old)
    done = run("launch.ipynb", "--to", "notebook", "--output", "new", "--set", "region=us-east-1")
    assert (None, 0) == (done.exception, done.return_value)
    assert old == (repository / "launch.ipynb").read_text()
    first, second = json.loads((repository / "new" / "launch.ipynb").read_text())["cells"]
    assert cells[0] == first
    assert "ModelTrainer(" in "".join(second["source"])
    with pytest.raises(Exception, match=r"wanted a \.ipynb file"):
        CliRunner().invoke(
            command, ["jobs/launch.py", "--to", "notebook"], standalone_mode=False, catch_exceptions=False
        )


def test_a_program_that_would_run_under_neither_sdk_is_not_written(repository: Path) -> None:
    text = "import sagemaker\nsession = sagemaker.Session()\n" + LAUNCH
    path = repository / "jobs" / "launch.py"
    path.write_text(text)
    done = run("jobs/launch.py", "--in-place", "--set", "region=us-east-1")
    assert (1, text) == (done.return_value, path.read_text())
    assert (
        "launch.py, line 2: SDK v3 has no sagemaker.Session; use sagemaker.core.helper.session_helper.Session"
        in done.stderr
    )
    assert "the result would run under neither SDK, so it is not written" in done.stderr


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
