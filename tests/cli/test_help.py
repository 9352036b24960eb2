"""The first screen shows twelve commands, groups show the rest, and old names lead to the new ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import sm_trn

from sm_trn.cli.__main__ import COMMANDS, GROUPS, MODES, RENAMED, load


def test_the_first_screen_describes_twelve_commands_and_names_the_others() -> None:
    text = sm_trn("--help").stdout
    assert 12 == len(GROUPS["start"])
    for name, (_, summary) in GROUPS["start"].items():
        assert f"  {name} " in text
        assert summary.split()[0] in text
    for group, names in GROUPS.items():
        if group != "start":
            assert f"  {group}" in text
            assert set(names) <= set(text.replace(",", " ").split())


def test_every_command_is_in_one_group() -> None:
    assert len(COMMANDS) == sum(len(names) for names in GROUPS.values())


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_shows_its_commands_and_no_others(group: str) -> None:
    done = sm_trn("help", group)
    shown = {line.split()[0] for line in done.stdout.splitlines() if line.startswith("  ") and line[2] != " "}
    assert (0, "", set(GROUPS[group])) == (done.returncode, done.stderr, shown)


def test_all_groups_together() -> None:
    text = sm_trn("help", "all").stdout
    assert sm_trn("help").stdout == text
    assert [] == [name for name in COMMANDS if f"  {name} " not in text]


def test_help_of_a_command_is_its_own() -> None:
    assert sm_trn("help", "stop").stdout.split("\n\n", 1)[1] == sm_trn("stop", "--help").stdout.split("\n\n", 1)[1]


def test_an_unknown_topic_is_answered_with_the_nearest() -> None:
    done = sm_trn("help", "job")
    assert 2 == done.returncode
    assert "did you mean 'jobs'?" in done.stderr


@pytest.mark.parametrize(("old", "new"), RENAMED.items())
def test_an_old_name_works_and_says_the_new_one_once(old: str, new: str) -> None:
    first, second = sm_trn(old, "--help"), sm_trn(*new.split(), "--help")
    assert (0, first.stdout) == (first.returncode, second.stdout)
    assert f"Usage: sm-trn {new} " in second.stdout
    assert ("", f"sm-trn {old} is now sm-trn {new}; the old name goes with the next release.\n") == (
        second.stderr,
        first.stderr,
    )


@pytest.mark.parametrize("name", MODES)
def test_the_option_that_makes_another_command_is_in_the_help_of_the_first(name: str) -> None:
    command, option = name.split()
    assert option in {word for parameter in load(command).params for word in parameter.opts}


def test_what_follows_two_dashes_is_the_programs_own(tmp_path: Path) -> None:
    program = ("python", "-c", "import sys; print(sys.argv)", "--run")
    done = sm_trn("import", "--run", "--timeout", "100", "--", *program, cwd=tmp_path)
    assert "'--run'" in done.stdout


def test_completion_offers_all_commands_and_no_old_name() -> None:
    done = sm_trn(environment={"_SM_TRN_COMPLETE": "bash_complete", "COMP_WORDS": "sm-trn re", "COMP_CWORD": "1"})
    assert {"plain,rehearse", "plain,render", "plain,resubmit"} == set(done.stdout.split())
