"""The skill that ships for coding agents: every command in it runs as it stands, and what it shows is what they say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command import sm_trn

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "sm_trn" / "docs" / "skill"
TEXT = (FOLDER / "SKILL.md").read_text("utf-8")
BLOCK = re.compile(r"^```(?P<language>\w+)(?: (?P<about>\S+))?\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = [match.groupdict() for match in BLOCK.finditer(TEXT)]
MOST_LINES = 140


def environment(folder: Path, emulator: Any) -> dict[str, str]:
    (folder / "bin").mkdir()
    script = folder / "bin" / "sm-trn"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m sm_trn.cli "$@"\n')
    script.chmod(0o755)
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "SM_TRN_"))}
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return {**kept, "PATH": path, "PYTHONPATH": str(ROOT), "SM_TRN_STATE": str(emulator.state)}


@pytest.mark.local
def test_every_command_runs_and_says_what_is_shown(
    emulator: Any, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    shell = environment(tmp_path_factory.mktemp("shell"), emulator)
    said, code, commands = "", 0, 0
    for block in BLOCKS:
        if block["language"] == "text":
            for line in block["body"].splitlines():
                assert line in said
        elif block["language"] == "sh":
            for line in block["body"].splitlines():
                done = subprocess.run(
                    ["bash", "-c", line],
                    cwd=tmp_path,
                    env=shell,
                    capture_output=True,
                    text=True,
                    check=False,
                    timeout=120,
                )
                said, code, commands = done.stdout + done.stderr, done.returncode, commands + 1
                assert code == (1 if block["about"] == "exit=1" else 0), f"{line}\n{said}"
                assert "Traceback" not in done.stderr
        elif block["about"]:
            (tmp_path / block["about"]).write_text(block["body"])
    assert commands >= 12


def test_it_is_short_and_begins_as_skills_do() -> None:
    assert TEXT.count("\n") <= MOST_LINES
    head = TEXT.split("---\n")[1]
    assert re.fullmatch(r"name: [a-z-]+\ndescription: .{40,1000}\n", head)


def test_it_is_printed_and_written(tmp_path: Path) -> None:
    assert TEXT.rstrip("\n") == sm_trn("skill").stdout.rstrip("\n")
    done = sm_trn("skill", "--output", ".claude/skills", cwd=tmp_path)
    assert 0 == done.returncode, done.stderr
    written = tmp_path / ".claude" / "skills" / "sm-trn"
    assert {"SKILL.md", "AGENTS.md", "llms.txt"} == {path.name for path in written.iterdir()}
    again = sm_trn("skill", "--output", ".claude/skills", cwd=tmp_path)
    assert (2, True) == (again.returncode, "delete it first" in again.stderr)


def test_the_index_names_pages_that_are_there() -> None:
    named = re.findall(r"\]\(([^)]+)\)", (FOLDER / "llms.txt").read_text("utf-8"))
    assert len(named) > 20
    assert [] == [name for name in named if not (FOLDER.parent / name).is_file()]
