"""The README and the guides tell the truth: their Python runs as it stands, their files are what they say, their commands exist."""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

import sm_trn
from sm_trn.cli.__main__ import cli

GUIDES = Path(sm_trn.__file__).parent / "docs" / "guides"
README = Path(__file__).parent.parent / "README.md"
PAGES = [*sorted(GUIDES.glob("*.md")), *([README] if README.exists() else [])]
BLOCK = re.compile(r"(?:<!-- file (?P<file>[\w/.]+) -->\n)?```(?P<language>\w+)\n(?P<body>.*?)```", re.DOTALL)


def marked(name: str) -> str:
    found = re.search(rf"<!-- {name} -->\n```sh\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


@pytest.mark.skipif(not README.exists(), reason="the README is not beside the tests")
def test_both_marked_blocks_of_the_readme_are_there() -> None:
    assert "sm-trn quickstart" in marked("quickstart")
    assert "pytest" in marked("test")


def blocks(page: Path) -> list[re.Match[str]]:
    return list(BLOCK.finditer(page.read_text("utf-8")))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What the reader of the first guide has: a script, a job file, and a CSV of two words that decide."""
    for block in [
        block for page in ("own-script", "testing", "bring-your-code") for block in blocks(GUIDES / f"{page}.md")
    ]:
        if block["file"]:
            (tmp_path / block["file"]).parent.mkdir(exist_ok=True)
            (tmp_path / block["file"]).write_text(block["body"], "utf-8")
    (tmp_path / "data").mkdir()
    with (tmp_path / "data" / "reviews.csv").open("w", newline="") as file:
        rows = [(f"a {word} one", label) for word, label in (("good", 1), ("bad", 0)) for _ in range(20)]
        csv.writer(file).writerows([("content", "label"), *rows])
    return tmp_path


@pytest.mark.local
@pytest.mark.parametrize(
    "page",
    [*(page for page in PAGES if page.stem != "sweeps"), GUIDES.parent / "importing.md"],
    ids=lambda page: page.stem,
)
def test_the_python_of_a_guide_runs_as_it_stands(page: Path, folder: Path, emulator: Any) -> None:
    """``sweeps`` has a test of its own, in test_documents.py, which looks at what it finds."""
    code = "\n".join(block["body"] for block in blocks(page) if block["language"] == "python" and not block["file"])
    if not code:
        assert page.stem in {
            "conformance",
            "first-launch",
            "new-project",
            "team",
            "testing",
        }  # about AWS; its Python is a test of the reader's own
        return
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "SM_TRN_"))}
    where = {"SM_TRN_BACKEND": "emulator", "SM_TRN_STATE": str(emulator.state), "MPLBACKEND": "Agg"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=folder, env={**kept, **where},
        timeout=240, check=False,
    )  # fmt: skip
    assert 0 == done.returncode, done.stderr


@pytest.mark.skipif("SM_TRN_CLIENTS" not in os.environ, reason="set SM_TRN_CLIENTS=all: a suite in a suite")
@pytest.mark.local
def test_the_readers_own_test_passes_with_the_plugin(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_launcher.py"],
        capture_output=True, text=True, cwd=folder, timeout=240, check=False,
    )  # fmt: skip
    assert "2 passed" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_and_option_of_a_guide_exists(page: Path) -> None:
    lines = [line for block in blocks(page) if block["language"] == "sh" for line in block["body"].splitlines()]
    for line in [line.partition("#")[0] for line in lines if "sm-trn " in line]:
        words = line[line.index("sm-trn ") :].rstrip(")").partition(" -- ")[0].split()[1:]
        command: click.Command = cli
        while isinstance(command, click.Group) and words and not words[0].startswith("-"):
            _, found, words = command.resolve_command(click.Context(command), words)
            assert found is not None, line
            command = found
        known = {option for parameter in command.params for option in parameter.opts}
        assert {word.partition("=")[0] for word in words if word.startswith("-")} <= known, line
