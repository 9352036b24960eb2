"""What a command of click or typer takes is what the library itself takes, without running its function."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import jobs
import pytest
from click.testing import CliRunner

import sm_trn as st
from sm_trn.core.preflight.source import command_line

CLICK = "import click\n@click.command()\n{}\ndef main(**words): pass\nif __name__ == '__main__':\n    main()\n"
TYPER = (
    "from typing import Annotated, Optional\nimport typer\napp = typer.Typer(add_completion=False)\n@app.command()\ndef main({}): pass\n"
    "if __name__ == '__main__':\n    app()\n"
)
OPTIONS = [
    "@click.option('--rate', type=float)",
    "@click.option('--rate', required=True)",
    "@click.option('--rate', type=click.Choice(['a', 'b']))",
    "@click.option('--rate', type=int, default=3)",
    "@click.option('--rate', is_flag=True)",
    "@click.option('--the-rate', type=int)",
    "@click.option('--the_rate', type=int)",
    "@click.option('--rate', nargs=2)",
    "@click.argument('rate')",
]
PARAMETERS = [
    "rate: float = 0.1", "rate: float", "the_rate: int = 3", "rate: bool = False", "rate: Optional[int] = None",
    "rate: Annotated[int, typer.Option('--the_rate')] = 4", "rate: str = typer.Option(...)", "rate: int = typer.Option(3)",
    "rate: Annotated[float, typer.Argument()] = 1",
]  # fmt: skip
SENT: list[dict[str, Any]] = [
    {},
    {"rate": 1},
    {"rate": "a"},
    {"rate": 1.5},
    {"the_rate": 1},
    {"the-rate": 2},
    {"rate": True},
    {"other": 1},
]


def job_of(folder: Path, script: str, sent: dict[str, Any]) -> st.JobSpec:
    (folder / "run_clm.py").write_text(script)
    return jobs.trainium(str(folder)).replace(hyperparameters=sent, neuron=None)


def refused(job: st.JobSpec) -> bool:
    return bool({"SCRIPT008", "SCRIPT014"} & {problem.id for problem in st.check(job)})


@pytest.mark.parametrize("sent", SENT, ids=str)
@pytest.mark.parametrize("option", OPTIONS)
def test_a_job_is_refused_where_click_ends_the_script(tmp_path: Path, option: str, sent: dict[str, Any]) -> None:
    script = CLICK.format(option)
    space: dict[str, Any] = {"__name__": "script"}
    exec(compile(script, "script", "exec"), space)  # noqa: S102 - the script of the test
    job = job_of(tmp_path, script, sent)
    assert refused(job) == (CliRunner().invoke(space["main"], list(command_line(job))).exit_code == 2)


@pytest.mark.parametrize("sent", SENT, ids=str)
@pytest.mark.parametrize("parameter", PARAMETERS)
def test_a_job_is_refused_where_typer_ends_the_script(tmp_path: Path, parameter: str, sent: dict[str, Any]) -> None:
    pytest.importorskip("typer")
    runner = importlib.import_module("typer.testing").CliRunner()
    script = TYPER.format(parameter)
    space: dict[str, Any] = {"__name__": "script"}
    exec(compile(script, "script", "exec"), space)  # noqa: S102 - the script of the test
    job = job_of(tmp_path, script, sent)
    assert refused(job) == (runner.invoke(space["app"], list(command_line(job))).exit_code == 2)


@pytest.mark.parametrize(
    "script",
    [
        CLICK.format("@options"),
        CLICK.format("@click.option(*NAMES)"),
        CLICK.replace("command()", "group()").format("@click.option('--rate')"),
        CLICK.format("").replace("command()", "command(context_settings={'ignore_unknown_options': True, 'allow_extra_args': True})"),
        CLICK.format("@click.option('--data', required=True, envvar='SM_CHANNEL_TRAIN')"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_or_takes_anything_is_left_alone(tmp_path: Path, script: str) -> None:
    assert not refused(job_of(tmp_path, script, {}))
