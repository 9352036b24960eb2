"""The README and the guides tell the truth: their Python runs as it stands, their files are what they say, their commands exist."""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from jobs import SQUAD, job_of

import sm_trn
import sm_trn as st
from sm_trn.cli.__main__ import cli

GUIDES = Path(sm_trn.__file__).parent / "docs" / "guides"
README = Path(__file__).parent.parent / "README.md"
PAGES = [*sorted(GUIDES.glob("*.md")), *([README] if README.exists() else [])]
BLOCK = re.compile(r"(?:<!-- file (?P<file>[\w/.]+) -->\n)?```(?P<language>\w+)\n(?P<body>.*?)```", re.DOTALL)


def marked(name: str) -> str:
    found = re.search(rf"<!-- {name} -->\n```sh\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


EXAMPLE = "gpt2-b25"  # a failure that is not made here


@pytest.mark.skipif(not README.exists(), reason="the README is not beside the tests")
def test_both_marked_blocks_of_the_readme_are_there() -> None:
    assert "sm-trn quickstart" in marked("quickstart")
    assert "pytest" in marked("test")


def blocks(page: Path) -> list[re.Match[str]]:
    return list(BLOCK.finditer(page.read_text("utf-8")))


def lacking(page: Path, language: str, output: str) -> list[str]:
    """The lines of the output blocks behind the page's blocks of a language that are not printed; numbers may differ."""
    forms = [re.sub(r"[\d,.a-f-]+", "0", line.strip()) for line in output.splitlines()]
    shown = re.findall(rf"```{language}\n(?:(?!```).)*```\n\n```text\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    lines = [line.strip() for text in shown if EXAMPLE not in text for line in text.splitlines()]
    wanted = [line for line in lines if not re.search(r" (?:starting|training after)", line)]  # a poll may miss these
    return [
        line
        for line in wanted
        if not any(form.startswith(re.sub(r"[\d,.a-f-]+", "0", line.rstrip("… "))) for form in forms)
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What the reader of the first guide has: a script, a job file, and a CSV of two words that decide."""
    for block in [
        block
        for page in ("own-script", "testing", "bring-your-code", "tuning", "trainium")
        for block in blocks(GUIDES / f"{page}.md")
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
    [page for page in PAGES if page.stem != "sweeps"],
    ids=lambda page: page.stem,
)
def test_the_python_of_a_guide_runs_as_it_stands(page: Path, folder: Path, emulator: Any) -> None:
    """``sweeps`` has a test of its own, in test_documents.py, which looks at what it finds."""
    code = "\n".join(block["body"] for block in blocks(page) if block["language"] == "python" and not block["file"])
    if not code:
        assert page.stem in {
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
    assert [] == lacking(page, "python", done.stdout + done.stderr)


@pytest.mark.skipif(not README.exists(), reason="the README is not beside the tests")
def test_a_misspelling_is_found_as_the_readme_shows_it(folder: Path) -> None:
    code = blocks(README)[0]["body"].partition("session =")[0].replace('"learning_rate"', '"learning_rat"')
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=folder, check=True)
    assert blocks(README)[2]["body"].strip() in done.stdout


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


# Commands that this machine cannot run to their end, and why.
NOT_RUN = {
    "sm-trn import program.py --python v3/bin/python": "needs a Python that has SDK v3: tests/sdk3",
    "sm-trn check job.toml --install": "installs packages in a twin: tests/emulator/test_installing.py",
    "sm-trn launch job.toml --backend emulator --environment twin --wait": "the same",
    "sm-trn quickstart": "a step of its own in .ci/run",
}
# Commands that must say no here, with what they say.
REFUSED = {
    "sm-trn launch reviews.toml --queue training": "launch without a queue, or use AWS",
    "sm-trn list --queue training": "launch without a queue, or use AWS",
    "sm-trn tune sweep.toml --max-usd 50 --wait --best best.toml": "UnknownOperationException",
    "sm-trn tune reviews-261120-101500-a1b2c3": "UnknownOperationException",
}


def command_lines(page: Path) -> list[str]:
    """Every line of the page that starts ``sm-trn``, without its comment and what stands before."""
    lines = [line for block in blocks(page) if block["language"] == "sh" for line in block["body"].splitlines()]
    return [
        line[line.index("sm-trn ") :].partition("  #")[0].partition(")")[0].strip()
        for line in lines
        if "sm-trn " in line
    ]


@pytest.fixture(scope="module")
def ended_jobs(session: st.Session, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The names of two jobs that have ended."""
    script = "print({'loss': 0.5, 'epoch': 1.0})\n"
    jobs = [job_of(tmp_path_factory.mktemp("source"), script, name=f"reviews-{number}") for number in (1, 2)]
    tags = {"sm_trn:sweep": "reviews"}
    runs = session.submit_all([job.replace(tags=tags, hyperparameters={"epochs": 1}) for job in jobs])
    session.wait(runs, progress=False)
    return [run.name for run in runs]


@pytest.mark.local
@pytest.mark.sdk
@pytest.mark.parametrize("page", [page for page in PAGES if command_lines(page)], ids=lambda page: page.stem)
def test_every_command_of_a_page_runs(
    page: Path, folder: Path, emulator: Any, ended_jobs: list[str], monkeypatch: Any
) -> None:
    monkeypatch.chdir(folder)
    for name, value in {"SM_TRN_BACKEND": "emulator", "SM_TRN_STATE": str(emulator.state)}.items():
        monkeypatch.setenv(name, value)
    job_file = (folder / "job.toml").read_text("utf-8")
    (folder / "jobs").mkdir()
    for name in ("reviews.toml", "jobs/job.toml"):
        (folder / name).write_text(job_file.replace('"src"', '"../src"') if "/" in name else job_file, "utf-8")
    (folder / "squad.toml").write_text(st.dump_job(SQUAD, "toml"), "utf-8")
    averages = {"train_runtime": 100.0, "train_samples_per_second": 64.0, "train_steps_per_second": 2.0, "epoch": 2.0}
    (folder / "train.log").write_text(f"{averages}\n", "utf-8")
    (folder / "describe.json").write_text(
        json.dumps(dict(st.connect().attach(ended_jobs[0]).snapshot().raw), default=str)
    )
    chat = {"messages": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Good day"}]}
    (folder / "chats.jsonl").write_text((json.dumps(chat) + "\n") * 3_000)
    if page.stem == "new-project":
        (folder / "job.toml").unlink()  # init writes it
    outputs = []
    for line in command_lines(page):
        if line in NOT_RUN:
            continue
        names = iter(ended_jobs)
        words = [next(names) if word in {"NAME", "NAMES"} else word for word in shlex.split(line.partition(">")[0])[1:]]
        words = ["jobs/job.toml" if word == "jobs/*.toml" else word for word in words]
        result = CliRunner().invoke(cli, words)
        output = f"{line}\n{result.output}\n{result.exception!r}"
        if line in REFUSED:
            assert result.exit_code, output
            assert REFUSED[line] in output
        else:
            assert result.exit_code in {0, 1}, output
            assert result.exception is None or isinstance(result.exception, SystemExit), output
        outputs.append(result.output)
    assert [] == lacking(page, "sh", "".join(outputs))
