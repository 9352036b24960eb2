"""The README tells the truth: its Python runs, its commands exist."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sm_trn.cli.__main__ import COMMANDS

README = Path(__file__).parent.parent / "README.md"
pytestmark = pytest.mark.skipif(not README.exists(), reason="the README is not beside the tests")


def block(language: str, after: str = "") -> str:
    text = README.read_text("utf-8")
    found = re.search(rf"```{language}\n(.*?)```", text[text.index(after) :], re.DOTALL)
    assert found is not None
    return found[1]


@pytest.mark.local
def test_the_five_minutes_run_as_they_stand(emulator: Any, tmp_path: Path) -> None:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "SM_TRN_"))}
    where = {"SM_TRN_BACKEND": "emulator", "SM_TRN_STATE": str(emulator.state), "MPLBACKEND": "Agg"}
    done = subprocess.run(
        [sys.executable, "-c", block("python")],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**kept, **where},
        timeout=240,
        check=False,
    )
    assert 0 == done.returncode, done.stderr
    assert "DIST003" in done.stdout
    assert "pytorch-training-neuronx:2.9.0" in done.stdout
    assert "EMULATED on this machine" in done.stdout
    assert (tmp_path / "report" / "report.html").exists()


def test_both_marked_blocks_are_there() -> None:
    assert "sm-trn quickstart" in block("sh", "<!-- quickstart -->")
    assert "pytest" in block("sh", "<!-- test -->")


def test_every_command_that_is_named_exists() -> None:
    named = set(re.findall(r"sm-trn ([a-z]+)", README.read_text("utf-8")))
    assert named <= set(COMMANDS)
