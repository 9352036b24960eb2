"""The command line as a stranger meets it: help, errors, exit codes, JSON and nothing else on stdout."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from command import sm_trn
from jobs import job_of
from waiting import within

from sm_trn.cli.__main__ import COMMANDS, cli
from sm_trn.core.catalog import instances

VARIABLES = (
    "AWS_ENDPOINT_URL",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_DEFAULT_REGION",
    "SM_TRN_STATE",
    "SM_TRN_PID",
)
PAIR = ("published/bert-p4d", "published/bert-trn1")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_and_a_summary(command: str) -> None:
    done = CliRunner().invoke(cli, [command, "--help"])
    assert 0 == done.exit_code, done.output
    assert "Usage:" in done.output
    assert all(COMMANDS[command])


def test_comparing_the_published_pair_needs_no_account(tmp_path: Path) -> None:
    done = sm_trn(
        "compare",
        *PAIR,
        "--baseline",
        "bert-p4d",
        "--at",
        "2022-12-31",
        "--output",
        str(tmp_path),
    )
    assert 0 == done.returncode, done.stderr
    assert "41.43" in done.stdout
    assert "68.61" in done.stdout
    assert "39.6" in done.stdout.replace("\u00a0", " ")
    assert {"report.html", "compare.csv", "compare.json"} <= {path.name for path in tmp_path.iterdir()}


def test_cost_of_the_published_pair() -> None:
    body = json.loads(sm_trn("cost", "published/bert-trn1", "published/bert-p4d", "--json").stdout)
    assert [41.43, 45.96] == [round(float(row["cost_usd"]), 2) for row in body["jobs"]]
    assert [True, True] == [row["price_inferred"] for row in body["jobs"]]


def test_an_unknown_baseline_is_a_usage_error_without_traceback() -> None:
    done = sm_trn("compare", "published/bert-p4d", "--baseline", "bert-trn9")
    assert (2, "") == (done.returncode, done.stdout)
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr


def test_a_file_that_is_not_there_is_named_and_starts_nothing() -> None:
    done = sm_trn("compare", "no/such.json")
    assert (2, "") == (done.returncode, done.stdout)
    assert "got 'no/such.json'" in done.stderr
    assert "EMULATED" not in done.stderr


def test_a_folder_that_cannot_be_written_is_no_fault_of_ours() -> None:
    done = sm_trn("compare", *PAIR, "--output", "/proc/nope")
    assert 1 == done.returncode
    assert "/proc/nope" in done.stderr
    assert "fault of sm-trn" not in done.stderr


def test_the_status_of_an_emulator_that_is_down_says_what_to_type(tmp_path: Path) -> None:
    done = sm_trn("local", "status", "--state", str(tmp_path))
    assert done.returncode == 1
    assert "sm-trn local up" in done.stdout


def test_catalog_prints_tables_and_json() -> None:
    for table in ("instances", "images"):
        assert json.loads(sm_trn("catalog", table, "--json").stdout)
    listed = sm_trn("catalog", "instances").stdout.splitlines()
    assert list(instances()) == [line.split()[0] for line in listed[1 : listed.index("")]]
    (few,) = json.loads(sm_trn("catalog", "instances", "ml.p4d.*", "--region", "us-west-2", "--json").stdout)
    assert ("ml.p4d.24xlarge", 320) == (few["name"], few["accelerator_memory_gib"])
    assert float(few["usd_per_hour"]) > 20


def test_a_copied_script_is_complete(tmp_path: Path) -> None:
    assert 0 == sm_trn("init", "--script", "train_text_classification.py", "--output", str(tmp_path)).returncode
    assert {"kit", "sample", "sm_spot.py", "tiny_random", "train_text_classification.py"} == {
        path.name for path in tmp_path.iterdir()
    }
    assert {"__init__.py", "common.py", "data.py"} == {path.name for path in (tmp_path / "kit").iterdir()}
    assert 0 == sm_trn("init", "--script", "sm_spot.py", "--output", str(tmp_path / "alone")).returncode
    assert ["sm_spot.py"] == [path.name for path in (tmp_path / "alone").iterdir()]
    assert 2 == sm_trn("init", "--script", "nope.py", "--output", str(tmp_path)).returncode


@pytest.mark.local
@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")
@pytest.mark.parametrize("command", ["watch", "guard"])
def test_a_job_that_was_deleted_ends_a_wait_like_one_that_failed(
    command: str, emulator: Any, session: Any, tmp_path: Path
) -> None:
    spec = job_of(tmp_path, "import time\nwhile True: time.sleep(0.05)\n", name="to-be-deleted")
    job = session.submit(spec)
    # An interpreter of its own: a stop of the fork server's would not stop the command.
    process = subprocess.Popen(
        [sys.executable, "-m", "sm_trn.cli", command, job.name, "--backend", "emulator", "--state", str(emulator.state)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        shown = process.stdout.readline()  # it has seen the job
        process.send_signal(signal.SIGSTOP)
        job.stop(wait=True)
        session.boto_session.client("sagemaker").delete_training_job(TrainingJobName=job.name)
        process.send_signal(signal.SIGCONT)
        out, said = process.communicate(timeout=60)
    finally:
        process.kill()
    assert 1 == process.returncode, said
    assert f"{job.name} was deleted; it was last seen" in shown + out + said


@pytest.mark.local
def test_a_job_through_the_whole_command_line(emulator: Any, session: Any, tmp_path: Path) -> None:
    spec = job_of(tmp_path, "print({'loss': 0.5, 'epoch': 1.0, 'step': 1}, '\\x1b[31m')\n", name="by-cli")
    name = session.submit(spec).name
    where = ("--backend", "emulator", "--state", str(emulator.state))
    watched = sm_trn("watch", name, *where)
    assert 0 == watched.returncode, watched.stderr
    assert "completed" in watched.stdout
    assert "EMULATED" in watched.stderr
    log = sm_trn("logs", name, *where).stdout
    assert "{'loss': 0.5" in log
    assert "\x1b" not in log
    assert name in sm_trn("list", *where).stdout
    assert "phases" in sm_trn("list", name, *where).stdout
    assert "Completed" == json.loads(sm_trn("list", name, "--json", *where).stdout)["status"]
    saved = tmp_path / "by-cli.json"
    assert 0 == sm_trn("list", name, "--record", str(saved), *where).returncode
    assert "0.500" in sm_trn("compare", str(saved)).stdout
    assert "emulated" in sm_trn("cost", name, *where).stdout
    assert "Completed" in sm_trn("stop", name, *where).stdout
    missing = sm_trn("list", "no-such-job", *where)
    assert 1 == missing.returncode
    assert "no-such-job" in missing.stderr


@pytest.mark.local
def test_the_emulator_comes_and_goes(tmp_path: Path) -> None:
    pytest.importorskip("moto.server", reason="needs sm_trn[local]")
    state = ("--state", str(tmp_path / "state"))
    up = sm_trn("local", "up", *state)
    try:
        assert 0 == up.returncode, up.stderr
        variables = dict(line.split("=", 1) for line in up.stdout.splitlines())
        assert set(VARIABLES) <= set(variables)
        assert up.stdout == sm_trn("local", "up", *state).stdout  # the same one
        status = json.loads(sm_trn("local", "status", "--json", *state).stdout)
        assert status["alive"]
    finally:
        down = sm_trn("local", "down", *state)
    assert "stopped" in down.stdout
    assert within(lambda: not Path(f"/proc/{variables['SM_TRN_PID']}").exists(), 10)


@pytest.mark.parametrize("baseline", ["bert-trn1", "published/bert-trn1"])
def test_a_baseline_is_named_as_the_job_was(baseline: str) -> None:
    told = sm_trn("compare", "published/bert-p4d", "published/bert-trn1", "--baseline", baseline)
    assert 0 == told.returncode, told.stderr
    assert "bert-trn1, baseline" in told.stdout
