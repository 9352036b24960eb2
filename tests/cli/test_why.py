"""sm-trn why, where no job is asked about: a text, the standard input, a file; and what is none of these."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from sm_trn.core.errors import SmTrnError
from sm_trn.diagnosis.commands.why import command

MESSAGE = "RuntimeError: CUDA error: out of memory"


@pytest.mark.parametrize("about", [MESSAGE, "-", "saved.log", "with a blank.log"])
def test_a_text_a_file_and_the_standard_input_are_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, about: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("saved.log").write_text(MESSAGE)
    Path("with a blank.log").write_text(MESSAGE)
    done = CliRunner().invoke(command, [about], input=f"step 1\n{MESSAGE}\n", standalone_mode=False)
    assert (1, True) == (done.return_value, "mem.cuda_oom" in done.output)


def test_a_log_of_a_healthy_job_ends_with_0() -> None:
    log = "2026-01-01 00:00:00,000 sagemaker-training-toolkit INFO     Reporting training SUCCESS\n"
    done = CliRunner().invoke(command, ["-"], input=log, standalone_mode=False)
    assert 0 == done.return_value, done.output


def test_what_is_unknown_and_no_job_is_not_looked_up_as_one() -> None:
    done = CliRunner().invoke(command, ["something odd happened"], standalone_mode=False)
    assert 1 == done.return_value
    assert "No cause known." in done.output
    assert "sm-trn logs" not in done.output


@pytest.mark.parametrize("about", ["/nowhere/train.log", "train.log", "describe.json", "logs/algo-1"])
def test_a_file_that_is_not_there_is_no_job(about: str) -> None:
    done = CliRunner().invoke(command, [about], standalone_mode=False)
    assert isinstance(done.exception, SmTrnError)
    assert f"got {about!r}, wanted a file that is there" in str(done.exception)
