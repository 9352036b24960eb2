"""The first screen shows every command in two groups; global options stand before a command's name or after it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import sm_trn

from sm_trn.cli.__main__ import COMMANDS, MORE, START, load


def test_the_first_screen_describes_every_command() -> None:
    text = sm_trn("--help").stdout
    assert len(COMMANDS) == len(START) + len(MORE)
    assert len(START) == 12
    for name, (_, summary) in COMMANDS.items():
        assert f"  {name} " in text
        assert summary.split()[0] in text


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_shows_its_own_options_and_accepts_the_global_ones(name: str) -> None:
    text = sm_trn(name, "--help").stdout
    assert "Options of every command: sm-trn --help" in text
    assert "--backend" not in text
    accepted = {flag for parameter in load(name).params for flag in parameter.opts}
    assert {"--backend", "--region", "--profile", "--state", "--json", "--debug"} <= accepted


def test_a_global_option_counts_before_the_command_and_after_it() -> None:
    line = ("catalog", "instances", "ml.p4d.*")
    before = sm_trn("--region", "eu-west-1", "--json", *line).stdout
    assert before == sm_trn(*line, "--region", "eu-west-1", "--json").stdout
    assert json.loads(before) != json.loads(sm_trn(*line, "--json", "--region", "us-west-2").stdout)


def test_an_option_after_the_command_wins() -> None:
    text = sm_trn("--region", "eu-west-1", "catalog", "instances", "ml.p4d.*", "--region", "us-west-2").stdout
    assert "Prices of us-west-2" in text


def test_what_follows_two_dashes_is_the_programs_own(tmp_path: Path) -> None:
    (tmp_path / "launch.py").write_text("import sys; print(sys.argv); sys.exit(1)")
    done = sm_trn("import", "--timeout", "100", "launch.py", "--", "--timeout", "x", cwd=tmp_path)
    assert "['launch.py', '--timeout', 'x']" in done.stdout


def test_the_shell_completes_commands() -> None:
    done = sm_trn(environment={"_SM_TRN_COMPLETE": "bash_complete", "COMP_WORDS": "sm-trn re", "COMP_CWORD": "1"})
    assert {"plain,rehearse", "plain,render", "plain,resubmit"} == set(done.stdout.split())
