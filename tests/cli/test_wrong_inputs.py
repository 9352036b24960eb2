"""Wrong inputs as strangers give them: each is refused in a sentence that says what was given and what is wanted."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from command import sm_trn
from documents import commands_of

from sm_trn.cli.__main__ import COMMANDS, load
from sm_trn.emulator import Endpoint

JOB = """\
name = "bert"
script = { entry = "train_glue.py" }
framework = { kind = "pytorch", version = "2.8.0", python = "py312" }
compute = { instance = "ml.p4d.24xlarge" }
max_run_s = 3600
hyperparameters = { model_name = "bert-base-uncased", max_length = 128, per_device_train_batch_size = 16, max_steps = 100 }
"""
NUMBERS = [
    (" ".join(path[1:]), option.opts[0])
    for name in COMMANDS
    for path, command in commands_of(["sm-trn", name], load(name))
    for option in command.params
    if isinstance(option, click.Option) and option.type.convert is not None and "float" in option.type.name
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "job.toml").write_text(JOB)
    return tmp_path


@pytest.mark.parametrize("value", ["nan", "inf", "-1"])
@pytest.mark.parametrize(("command", "option"), NUMBERS)
def test_a_number_that_is_none_or_below_what_counts_is_refused(command: str, option: str, value: str) -> None:
    done = sm_trn(*command.split(), option, value)
    assert 2 == done.returncode, done.stdout + done.stderr
    assert f"'{option}'" in done.stderr
    assert value.removesuffix("1") in done.stderr


@pytest.mark.parametrize("command", ["check job.toml", "launch job.toml --dry-run", "launch job.toml"])
def test_a_rule_to_ignore_that_does_not_exist_is_refused(command: str, folder: Path) -> None:
    done = sm_trn(*command.split(), "--ignore", "SPOT01", cwd=folder)
    assert (2, "") == (done.returncode, done.stdout)
    assert "'--ignore': got 'SPOT01', wanted the id of a rule (did you mean 'SPOT0" in done.stderr


@pytest.mark.parametrize("option", ["--data", "--log"])
def test_a_file_that_is_not_there_is_refused_though_nothing_needs_it(option: str, folder: Path) -> None:
    done = sm_trn("estimate", "job.toml", option, "nope", cwd=folder)
    assert (2, "") == (done.returncode, done.stdout)
    assert f"'{option}'" in done.stderr
    assert "'nope' does not exist" in done.stderr


@pytest.mark.parametrize("data", ["empty.csv", "folder"])
def test_data_without_an_example_is_said(data: str, folder: Path) -> None:
    (folder / "job.toml").write_text(JOB.replace("max_steps = 100", "num_train_epochs = 2"))
    (folder / "empty.csv").write_text("")
    (folder / "folder").mkdir()
    done = sm_trn("estimate", "job.toml", "--data", data, cwd=folder)
    assert (1, "") == (done.returncode, done.stdout)
    assert data in done.stderr


@pytest.mark.parametrize("line", ["guard --stall ²", "estimate job.toml --plan --deadline ²h"])
def test_a_digit_that_is_no_number_is_refused(line: str, folder: Path) -> None:
    done = sm_trn(*line.split(), cwd=folder)
    assert 2 == done.returncode
    assert "got '²" in done.stderr


def test_a_folder_with_the_name_of_a_job_file_is_called_a_folder(folder: Path) -> None:
    (folder / "jobs.toml").mkdir()
    done = sm_trn("check", "jobs.toml", cwd=folder)
    assert 2 == done.returncode
    assert "got 'jobs.toml', a folder, wanted a job file" in done.stderr


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("estimate job.toml --plan --only ml.p4d.* --take 1 --save none/x.toml", ["--save"]),
        ("why none/x.log", []),
    ],
)
def test_a_path_that_is_not_there_names_options_that_the_command_has(
    command: str, options: list[str], folder: Path
) -> None:
    done = sm_trn(*command.split(), cwd=folder)
    assert 1 == done.returncode
    said = {word.rstrip(",.;") for word in done.stderr.split() if word.startswith("--")}
    assert set(options) == said, done.stderr


@pytest.mark.parametrize("command", ["stop --yes", "stop", "watch", "cost"])
def test_an_empty_part_of_a_name_does_not_mean_every_job(command: str) -> None:
    """``--contains "$NAME"`` of a variable that is not set must stop nothing."""
    done = sm_trn(*command.split(), "--contains", "")
    assert (2, "") == (done.returncode, done.stdout)
    assert "'--contains': got '', wanted a name or a part of one" in done.stderr


def test_a_search_that_ends_before_it_begins_is_refused() -> None:
    done = sm_trn("cost", "--since", "2026-12-01", "--until", "2026-11-01")
    assert (2, "") == (done.returncode, done.stdout)
    assert "--since: got 2026-12-01, wanted a date that is not after --until 2026-11-01" in done.stderr


def test_a_sum_by_nothing_is_refused_before_anybody_is_asked() -> None:
    done = sm_trn("cost", "--all", "--by", "montn")
    assert (2, "") == (done.returncode, done.stdout)
    assert "by: got 'montn', wanted one of instance, status, month" in done.stderr
    assert "EMULATED" not in done.stderr


def test_a_record_that_is_no_text_is_no_record(folder: Path) -> None:
    (folder / "odd.json").write_bytes(b"\xff\xfe\x00")
    done = sm_trn("compare", "odd.json", cwd=folder)
    assert (1, "") == (done.returncode, done.stdout)
    assert "error: odd.json: not a job record" in done.stderr
    assert "fault of sm-trn" not in done.stderr


def test_an_answer_that_does_not_come_is_no_interrupt(folder: Path) -> None:
    done = sm_trn("local", "reset", "--state", "none", cwd=folder)
    assert "Nothing was done." == done.stderr.splitlines()[-1]


@pytest.mark.parametrize("command", ["render job.toml", "policy job.toml", "launch job.toml --dry-run"])
@pytest.mark.parametrize(
    ("option", "value", "wanted"),
    [
        ("--role", "my-role", "wanted the ARN of a role, such as arn:aws:iam::111122223333:role/training"),
        ("--role", "", "wanted the ARN of a role"),
        ("--bucket", "", "wanted the name of a bucket"),
        ("--bucket", "My_bucket", "wanted the name of a bucket"),
        ("--bucket", "s3://a-bucket", "wanted the name of a bucket"),
    ],
)
def test_what_is_no_role_and_no_bucket_is_in_no_request(
    command: str, option: str, value: str, wanted: str, folder: Path
) -> None:
    done = sm_trn(*command.split(), option, value, cwd=folder)
    assert (2, "") == (done.returncode, done.stdout)
    assert f"'{option}': got {value!r}, {wanted}" in done.stderr


@pytest.mark.local
def test_a_list_without_a_match_does_not_say_that_there_are_no_jobs(emulator: Endpoint) -> None:
    done = sm_trn("list", "--contains", "nobody", "--backend", "emulator", "--state", str(emulator.state))
    assert "No training job has 'nobody' in its name.\n" == done.stdout
