"""A sweep file is checked, priced, started and waited for; a tuning job is shown, stopped, and its best saved as a job file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from fakes.simulated_wire import World, everywhere

import sm_trn as st
from sm_trn.cli.__main__ import cli
from sm_trn.core.errors import InvalidJobFile, UnknownName
from sm_trn.core.specs.tuning import Categorical, Continuous, Goal, Integer, Scale, Strategy
from sm_trn.tuning.files import read_text

SCRIPT = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float)
parser.add_argument("--depth", type=int)
parser.add_argument("--optim")
args = parser.parse_args()
print(f"loss={args.depth}.5")
"""
JOB = """
name = "plain"
script = {entry = "train.py", source_dir = "src"}
framework = {kind = "pytorch", version = "2.8.0", python = "py312"}
compute = {instance = "ml.c5.xlarge"}
max_run_s = 600
"""
SWEEP = """
job = "job.toml"
max_jobs = 2
parallel = 2
strategy = "Random"
seed = 1
objective = {metric = "loss", goal = "Minimize", regex = 'loss=([0-9.]+)'}

[space]
lr = {kind = "continuous", low = 0.1, high = 0.9, scale = "Logarithmic"}
depth = {kind = "integer", low = 1, high = 9}
optim = {kind = "categorical", values = ["adamw", "sgd"]}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a script, a job file and a sweep file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "train.py").write_text(SCRIPT)
    (tmp_path / "job.toml").write_text(JOB)
    (tmp_path / "sweep.toml").write_text(SWEEP)
    return tmp_path


def sm_trn(*arguments: str, code: int = 0) -> Result:
    result = CliRunner().invoke(cli, arguments, standalone_mode=False)
    ended = result.return_value if result.exception is None else getattr(result.exception, "exit_code", 1)
    assert code == ended, (result.output, result.exception)
    return result


def test_a_file_is_a_sweep(folder: Path) -> None:
    sweep = read_text(folder / "sweep.toml").sweep
    assert {
        "lr": Continuous(0.1, 0.9, scale=Scale.LOGARITHMIC), "depth": Integer(1, 9), "optim": Categorical(("adamw", "sgd")),
    } == dict(sweep.space)  # fmt: skip
    assert (2, 2, Strategy.RANDOM, 1, Goal.MINIMIZE, "plain") == (
        sweep.jobs, sweep.parallel, sweep.strategy, sweep.seed, sweep.objective.goal, sweep.job.name,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("max_jobs = 2", "max_job = 2", 'did you mean "max_jobs"'),
        ('kind = "integer"', 'kind = "intger"', 'did you mean "integer"'),
        ("high = 9", "high = 0", "low less than high"),
        ("max_jobs = 2", "", "wanted how many training jobs"),
        ('"Minimize"', '"minimise"', '"Maximize" or "Minimize"'),
    ],
)
def test_a_mistake_in_a_file_is_said_with_its_line(folder: Path, before: str, after: str, said: str) -> None:
    (folder / "sweep.toml").write_text(SWEEP.replace(before, after))
    with pytest.raises(InvalidJobFile) as caught:
        read_text(folder / "sweep.toml")
    assert said in str(caught.value)
    assert "sweep.toml" in str(caught.value)


def test_a_job_file_that_is_not_there_is_said(folder: Path) -> None:
    (folder / "job.toml").unlink()
    with pytest.raises(UnknownName, match=r"job\.toml"):
        read_text(folder / "sweep.toml")


def test_a_dry_run_shows_the_request_and_the_worst_case(folder: Path) -> None:
    shown = sm_trn("tune", "sweep.toml", "--dry-run", "--region", "us-west-2")
    request = json.loads(shown.stdout)
    assert {"MaxNumberOfTrainingJobs": 2, "MaxParallelTrainingJobs": 2} == (
        request["HyperParameterTuningJobConfig"]["ResourceLimits"]
    )
    assert "2 training jobs, each at most $0.03, together at most $0.07" in shown.stderr
    assert "wanted at most $0.01" in str(
        sm_trn("tune", "sweep.toml", "--dry-run", "--max-usd", "0.01", code=1).exception
    )


def test_an_error_starts_nothing(folder: Path) -> None:
    (folder / "sweep.toml").write_text(SWEEP.replace(", regex = 'loss=([0-9.]+)'", ""))
    shown = sm_trn("tune", "sweep.toml", code=1)
    assert "TUNE001" in shown.stderr
    assert "Nothing was started" in shown.stderr


@pytest.mark.parametrize(
    "wrong", [("sweep.toml", "--stop"), ("sweep.toml", "--best", "b.toml"), ("a-name", "--dry-run")]
)
def test_options_that_do_not_belong_are_refused(folder: Path, wrong: tuple[str, ...]) -> None:
    sm_trn("tune", *wrong, code=2)


def test_a_search_is_started_waited_for_and_its_best_is_a_job_file(
    here: World, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here.wire.meddle = lambda _operation, _done: here.clock.sleep(600)
    with everywhere(here, monkeypatch):
        shown = sm_trn("tune", "sweep.toml", "--wait", "--best", "best.toml")
        assert "2 of 2 training jobs have ended, best loss" in shown.stdout
        (best,) = st.read_jobs("best.toml")
        assert {"lr", "depth", "optim"} == set(best.hyperparameters)
        name = shown.stdout.split()[0]
        told = json.loads(sm_trn("tune", name, "--json").stdout)
        assert (name, 2, "Completed") == (told["name"], len(told["trials"]), told["status"])
        assert best.hyperparameters["depth"] == int(told["best"]["values"]["depth"])
        assert "Completed" in sm_trn("tune", name, "--stop").stdout


@pytest.mark.local
def test_a_tuning_job_on_the_emulator_is_refused_with_what_to_do(folder: Path, emulator: Any) -> None:
    told = sm_trn("tune", "sweep.toml", "--backend", "emulator", "--state", str(emulator.state), code=1)
    assert "search with a study of Optuna (sm_trn.tune), or use AWS (--backend aws)" in str(told.exception)


@pytest.mark.sdk
def test_the_tuner_of_sdk_v2_takes_up_what_was_started_here(
    here: World, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sagemaker = pytest.importorskip("sagemaker")
    from sagemaker.tuner import HyperparameterTuner

    monkeypatch.setenv("SAGEMAKER_SUPPRESS_V2_WARNING", "1")
    search = here.session.tune(read_text(folder / "sweep.toml").sweep)
    search.wait(progress=False)
    theirs = sagemaker.Session(boto_session=here.session.boto_session, default_bucket=here.session.bucket)
    attached = HyperparameterTuner.attach(search.name, sagemaker_session=theirs)
    assert search.best().name == attached.best_training_job()
    assert "sagemaker.pytorch.estimator" == type(attached.estimator).__module__
