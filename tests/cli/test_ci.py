"""CI: the action and the hook run as their runners run them, and say problems in the forms that GitHub and code scanning read."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from command import sm_trn

import sm_trn as st

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / ".github/actions/check/action.yml").read_text())
(HOOK,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
GOOD = """name = "good"
image_uri = "111122223333.dkr.ecr.us-west-2.amazonaws.com/mine:1"
[framework]
kind = "container"
[compute]
instance = "ml.g5.xlarge"
"""
BAD = GOOD.replace("ml.g5.xlarge", "ml.g5.xlarg")  # no such machine
NO_JOB = 'name = "a"\nbogus = 1\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "team" / "jobs").mkdir(parents=True)
    (tmp_path / "job.toml").write_text(GOOD)
    return tmp_path


def test_problems_are_annotations_with_file_and_line(folder: Path) -> None:
    (folder / "bad.toml").write_text(BAD)
    done = sm_trn("check", "bad.toml", "--format", "github", cwd=folder)
    assert 1 == done.returncode
    assert re.search(r"^::error file=bad\.toml,line=6,title=\w+::.*ml\.g5\.xlarg", done.stdout, re.MULTILINE)


def test_what_is_no_job_file_is_annotated_too(folder: Path) -> None:
    (folder / "bad.toml").write_text(NO_JOB)
    done = sm_trn("check", "bad.toml", "--format", "github", cwd=folder)
    assert 2 == done.returncode
    assert "::error file=bad.toml,line=2,title=job file::unknown key" in done.stdout
    assert 'missing key "compute"' in done.stdout


def shell(path: Path) -> dict[str, str]:
    """An environment in which ``sm-trn`` is this one."""
    (path / "bin").mkdir(exist_ok=True)
    script = path / "bin" / "sm-trn"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m sm_trn.cli "$@"\n')
    script.chmod(0o755)
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "SM_TRN_"))}
    python = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    return {**kept, "PATH": f"{path / 'bin'}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": python}


def action(folder: Path, path: Path, **inputs: str) -> tuple[int, str, str]:
    """Run the steps as a runner does: expressions replaced, ``bash --noprofile --norc -eo pipefail`` on a file, outputs in a file."""
    outputs, code, said = path / "outputs", 0, ""
    outputs.write_text("")
    values = {f"inputs.{name}": given["default"] for name, given in ACTION["inputs"].items()}
    values |= {f"inputs.{name}": value for name, value in inputs.items()}
    values["github.action_path"] = str(ROOT / ".github/actions/check")
    environment = {**shell(path), "GITHUB_OUTPUT": str(outputs), "RUNNER_TEMP": str(path)}
    for step in ACTION["runs"]["steps"]:
        if "run" not in step or code:
            continue
        assert "bash" == step["shell"]
        assert "${{" not in step["run"]  # what others wrote reaches the shell through variables alone
        given = {name: expanded(text, values) for name, text in step["env"].items()}
        script = path / "step.sh"
        script.write_text(step["run"])
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
        done = subprocess.run(
            command, cwd=folder, env={**environment, **given}, capture_output=True, text=True, check=False
        )
        code, said = done.returncode, said + done.stdout + done.stderr
    return code, said, outputs.read_text()


def expanded(text: str, values: dict[str, Any]) -> str:
    return re.sub(r"\$\{\{ *([\w.]+) *\}\}", lambda found: str(values[found[1]]), text)


def test_the_action_is_green_on_good_files_and_red_on_bad_ones(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("runner")
    assert 0 == action(folder, path)[0]
    (folder / "team" / "jobs" / "a b.toml").write_text(BAD)
    code, said, _ = action(folder, path)
    assert 1 == code
    assert "::error file=team/jobs/a b.toml,line=6" in said


def test_the_action_holds_files_against_a_policy(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("runner")
    (path / "policy.toml").write_text('tags = ["team"]\n')
    code, said, _ = action(folder, path, policy=str(path / "policy.toml"))
    assert (1, True) == (code, "POLICY004" in said)


def test_the_action_says_where_nothing_matches(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    code, said, _ = action(folder, tmp_path_factory.mktemp("runner"), files="nothing/*.toml")
    assert (2, True) == (code, "No job file matches" in said)


def test_names_of_files_are_no_commands(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("runner")
    action(folder, path, files="$(touch owned) `touch owned` ; touch owned")
    assert not (folder / "owned").exists()


@pytest.mark.parametrize(
    ("name", "taken"),
    [
        ("job.toml", True), ("jobs/bert.yaml", True), ("team/job-a.json", True), ("team/jobs/x.yml", True),
        ("pyproject.toml", False), ("job.py", False), ("myjob.toml", False), ("job.schema.json", False),
    ],
)  # fmt: skip
def test_the_hook_takes_job_files_alone(name: str, taken: bool) -> None:
    matched = re.search(HOOK["files"], name) and not re.search(HOOK["exclude"], name)
    assert taken == bool(matched)


def test_the_hook_is_red_on_a_bad_file(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    environment = shell(tmp_path_factory.mktemp("runner"))
    (folder / "job-bad.toml").write_text(BAD)

    def hook(*names: str) -> int:
        command = [*HOOK["entry"].split(), *names]
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False).returncode

    assert 0 == hook("job.toml")
    assert 1 == hook("job.toml", "job-bad.toml")


def test_the_files_of_these_tests_are_what_they_say() -> None:
    assert "good" == st.load_jobs(GOOD, "toml")[0].name
