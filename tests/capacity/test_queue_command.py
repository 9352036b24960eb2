"""The command line puts jobs into a queue, lists and ends them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from fakes.simulated_wire import World, everywhere

from sm_trn.cli.__main__ import cli

TEXT = """
name = "queued"
script = {entry = "train.py", source_dir = "src"}
framework = {kind = "pytorch", version = "2.8.0", python = "py312"}
compute = {instance = "ml.c5.xlarge"}
max_run_s = 600
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a job file and its script."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "train.py").write_text("print('hello')\n")
    (tmp_path / "job.toml").write_text(TEXT)
    return tmp_path


@pytest.fixture
def folder(here: World, project: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The project, and a simulated cloud in whose queue jobs wait."""
    with everywhere(here, monkeypatch):
        yield project


def sm_trn(*arguments: str, code: int = 0) -> Result:
    result = CliRunner().invoke(cli, arguments)
    assert code == result.exit_code, (result.output, result.exception)
    return result


def test_a_launch_into_a_queue_is_listed_explained_and_ended(folder: Path) -> None:
    (name,) = sm_trn("launch", "job.toml", "--queue", "closed").stdout.split()
    listed = sm_trn("list", "--queue", "closed").stdout
    assert name in listed
    assert "RUNNABLE" in listed
    assert "waits in the queue (RUNNABLE)" in sm_trn("list", name, "--queue", "closed").stdout
    job = json.loads(sm_trn("list", name, "--queue", "closed", "--json").stdout)
    assert (name, "") == (job["name"], job["training_job"])
    assert "asked to end" in sm_trn("stop", job["id"], "--queue", "closed").stdout
    job = json.loads(sm_trn("list", name, "--queue", "closed", "--json").stdout)
    assert ("FAILED", True) == (job["status"], job["terminated"])
    error = sm_trn("list", "no-such-job", "--queue", "closed", code=1).exception
    assert "sm-trn list --queue closed lists them" in str(error)


def test_a_job_files_own_queue_is_where_its_job_goes(folder: Path) -> None:
    (folder / "own.toml").write_text(f'{TEXT}\n[queue]\nname = "closed"\npriority = 7\ntimeout_s = 60\n')
    checked = CliRunner().invoke(cli, ["check", "own.toml"])
    assert "LIMIT031" in checked.output
    (entry,) = json.loads(sm_trn("launch", "own.toml", "--json").stdout)
    job = json.loads(sm_trn("list", entry["name"], "--queue", "closed", "--json").stdout)
    assert (entry["id"], 7) == (job["id"], job["priority"])
    sm_trn("stop", entry["name"], "--queue", "closed")


def test_places_that_contradict_each_other_are_refused(folder: Path) -> None:
    (folder / "own.toml").write_text(f'{TEXT}\n[queue]\nname = "closed"\n')
    assert "several queues" in sm_trn("launch", "own.toml", "job.toml", code=2).output
    assert "--queue is for jobs that you name" in sm_trn("stop", "--all", "--queue", "closed", code=2).output


@pytest.mark.local
@pytest.mark.usefixtures("project")
def test_a_queue_on_the_emulator_is_refused_with_what_to_do(emulator: Any) -> None:
    there = ("--backend", "emulator", "--state", str(emulator.state))
    for command in (("launch", "job.toml", "--queue", "training"), ("list", "--queue", "training")):
        told = str(sm_trn(*command, *there, code=1).exception)
        assert "UnknownOperationException" in told
        assert "launch without a queue, or use AWS (--backend aws)" in told
