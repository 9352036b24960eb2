"""What is wrong with a sweep is said before anything starts: its objective too."""

from __future__ import annotations

from pathlib import Path

import pytest
from jobs import job_of

import sm_trn as st
from sm_trn.core.specs import Checkpoint, JobSpec, MetricRule, Queue
from sm_trn.core.specs.tuning import Categorical, Completion, Continuous, Goal, Integer, Objective, Strategy, Sweep
from sm_trn.tuning.checking import corners

SCRIPT = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float)
parser.add_argument("--depth", type=int, choices=[1, 2, 3])
args = parser.parse_args()
print(f"loss={args.lr}")
"""
LOSS = Objective(MetricRule("loss", r"loss=([0-9.]+)"), Goal.MINIMIZE)


@pytest.fixture
def job(tmp_path: Path) -> JobSpec:
    return job_of(tmp_path / "source", SCRIPT)


def sweep_of(job: JobSpec, objective: Objective = LOSS) -> Sweep:
    return Sweep(job, {"lr": Continuous(0.1, 0.9)}, objective, max_jobs=4)


def ids(sweep: Sweep) -> list[str]:
    return [problem.id for problem in st.check(sweep) if problem.id.startswith("TUNE")]


def test_a_good_sweep_has_no_problem_of_its_own(job: JobSpec) -> None:
    assert [] == ids(sweep_of(job))


def test_the_ends_of_the_space_are_checked_as_jobs(job: JobSpec) -> None:
    deep = Sweep(job, {"depth": Integer(1, 9)}, LOSS, max_jobs=4)
    assert [1, 9] == [each.hyperparameters["depth"] for each in corners(deep)]
    assert any("depth" in str(problem) and problem.severity is st.Severity.ERROR for problem in st.check(deep))
    unknown = Sweep(job, {"learning_rate": Continuous(0.1, 0.9)}, LOSS, max_jobs=4)
    assert any("learning_rate" in str(problem) for problem in st.check(unknown))


@pytest.mark.parametrize(
    ("expected", "changes", "settings"),
    [
        ("TUNE003", {"extra": {"TensorBoardOutputConfig": {"S3OutputPath": "s3://a-bucket/t"}}}, {}),
        ("TUNE004", {}, {"max_run_s": 60}),
        ("TUNE004", {}, {"completion": Completion(not_improving=1)}),
        ("TUNE005", {"queue": Queue("training")}, {}),
        ("TUNE006", {"checkpoint": Checkpoint(s3_uri="s3://a-bucket/c")}, {}),
        ("TUNE007", {}, {"autotune": True, "keep_static": ("nothing",)}),
    ],
)
def test_what_a_tuning_job_cannot_have_is_said(
    job: JobSpec, expected: str, changes: dict[str, object], settings: dict[str, object]
) -> None:
    assert [expected] == ids(sweep_of(job.replace(**changes)).replace(**settings))


def test_an_objective_without_a_metric_is_an_error(job: JobSpec) -> None:
    assert ["TUNE001"] == ids(sweep_of(job, Objective("train_los", Goal.MINIMIZE)))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"space": {}}, "wanted at least one with its range"),
        ({"max_jobs": None}, "wanted how many training jobs"),
        ({"strategy": Strategy.GRID}, "wanted Categorical values alone"),
        ({"parallel": 0}, "wanted at least 1"),
        ({"keep_static": ("a",)}, "wanted autotune=True"),
        ({"strategy": Strategy.HYPERBAND, "early_stopping": True}, "Hyperband stops jobs by itself"),
    ],
)
def test_settings_that_contradict_are_refused(job: JobSpec, settings: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        sweep_of(job).replace(**settings)


@pytest.mark.parametrize("low", [0.9, float("nan")])
def test_a_range_has_a_value(low: float) -> None:
    with pytest.raises(ValueError, match="low less than high"):
        Continuous(low, 0.9)


def test_a_grid_knows_its_size(job: JobSpec) -> None:
    space = {"a": Categorical((1, 2, 3)), "b": Categorical(("x", "y"))}
    assert 6 == Sweep(job, space, LOSS, strategy=Strategy.GRID).jobs
    with pytest.raises(ValueError, match="wanted each once"):
        Categorical((1, "1"))
