"""The command line puts jobs into a queue, lists and ends them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import sm_trn as st
from sm_trn import emulator as embedded
from sm_trn.cli.__main__ import cli

pytestmark = pytest.mark.local
TEXT = """
name = "queued"
script = {entry = "train.py", source_dir = "src"}
framework = {kind = "pytorch", version = "2.8.0", python = "py312"}
compute = {instance = "ml.c5.xlarge"}
max_run_s = 600
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, emulator: embedded.Endpoint) -> Path:
    """A folder with a job file and its script; the emulator has a closed queue, in which jobs wait."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SM_TRN_BACKEND", "emulator")
    monkeypatch.setenv("SM_TRN_STATE", str(emulator.state))
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "train.py").write_text("print('hello')\n")
    (tmp_path / "job.toml").write_text(TEXT)
    session = st.connect("emulator", state=emulator.state)
    assert session.boto_session is not None
    batch = session.boto_session.client("batch")
    if not batch.describe_service_environments(serviceEnvironments=["closed"])["serviceEnvironments"]:
        kind = {"serviceEnvironmentType": "SAGEMAKER_TRAINING", "state": "DISABLED"}
        limits = [{"maxCapacity": 1, "capacityUnit": "NUM_INSTANCES"}]
        batch.create_service_environment(serviceEnvironmentName="closed", capacityLimits=limits, **kind)
        order = [{"order": 1, "serviceEnvironment": "closed"}]
        batch.create_job_queue(jobQueueName="closed", priority=1, serviceEnvironmentOrder=order)
    return tmp_path


def sm_trn(*arguments: str, code: int = 0) -> Result:
    result = CliRunner().invoke(cli, arguments)
    assert code == result.exit_code, (result.output, result.exception)
    return result


def test_a_launch_into_a_queue_is_listed_explained_and_ended(folder: Path) -> None:
    (name,) = sm_trn("launch", "job.toml", "--queue", "closed", "--priority", "3").stdout.split()
    assert name in sm_trn("queue", "closed").stdout
    assert "RUNNABLE" in sm_trn("queue", "closed", "--status", "RUNNABLE").stdout
    assert "waits in the queue (RUNNABLE)" in sm_trn("queue", "closed", name).stdout
    (told,) = json.loads(sm_trn("queue", "closed", name, "--json").stdout)
    assert (name, 3, "") == (told["name"], told["priority"], told["training_job"])
    assert "asked to end" in sm_trn("queue", "closed", told["id"], "--stop").stdout
    (told,) = json.loads(sm_trn("queue", "closed", name, "--json").stdout)
    assert ("FAILED", True) == (told["status"], told["terminated"])
    assert "sm-trn queue closed lists them" in str(sm_trn("queue", "closed", "no-such-job", code=1).exception)


def test_a_job_files_own_queue_is_where_its_job_goes(folder: Path) -> None:
    (folder / "own.toml").write_text(f'{TEXT}\n[queue]\nname = "closed"\npriority = 7\ntimeout_s = 60\n')
    checked = CliRunner().invoke(cli, ["check", "own.toml"])
    assert "LIMIT031" in checked.output
    arguments = ("launch", "own.toml", "--journal", "journal.jsonl", "--json")
    (first,) = json.loads(sm_trn(*arguments).stdout)
    (again,) = json.loads(sm_trn(*arguments).stdout)
    assert (first["name"], first["id"]) == (again["name"], again["id"])
    (told,) = json.loads(sm_trn("queue", "closed", first["name"], "--json").stdout)
    assert 7 == told["priority"]
    sm_trn("queue", "closed", first["name"], "--stop")


def test_places_that_contradict_each_other_are_refused(folder: Path) -> None:
    (folder / "own.toml").write_text(f'{TEXT}\n[queue]\nname = "closed"\n')
    assert "several queues" in sm_trn("launch", "own.toml", "job.toml", code=2).output
    assert "add --queue" in sm_trn("launch", "job.toml", "--priority", "3", code=2).output
    assert "--journal is for jobs in a queue" in sm_trn("launch", "job.toml", "--journal", "j.jsonl", code=2).output
    assert "--stop and --priority are for jobs that are named" in sm_trn("queue", "closed", "--stop", code=2).output
