"""Every public class and function shows itself in an example, and the examples run."""

from __future__ import annotations

import doctest
import inspect
from pathlib import Path

import jobs
import pytest

import sm_trn as st

CONSTANTS = {"__version__", "EVALUATION_METRICS", "SERVERLESS", "TRAINER_METRICS", "errors", "results", "specs"}
# The launcher that the examples import.
LAUNCHER = """import sagemaker
from sagemaker.pytorch import PyTorch

role = sagemaker.get_execution_role()
first = PyTorch("train.py", framework_version="2.6", py_version="py312", role=role, base_job_name="bert",
                instance_type="ml.g5.xlarge", instance_count=1, hyperparameters={"epochs": 1})
first.fit()
second = PyTorch("train.py", framework_version="2.6", py_version="py312", role=role, base_job_name="bert-long",
                 instance_type="ml.g5.xlarge", instance_count=1, hyperparameters={"epochs": 3})
second.fit()
"""
MODULES = (st.specs, st.results, st.errors)
PUBLIC = {name: getattr(module, name) for module in (*MODULES, st) for name in module.__all__ if name not in CONSTANTS}
# Handles of live jobs, and what is made from them: shown in the notebooks and the README, which run too.
LIVE = {
    "Comparison", "Diff", "EmulatorError", "Endpoint", "Fleet", "JobCost", "JobFailed", "JobRecord", "JobSnapshot", "LaunchInterrupted",
    "LaunchUnknown", "LogEvent", "MetricLog", "Observation",
    "OverBudget", "PartialLaunch", "Policies", "Price", "PriceBook", "QueuedJob", "Rehearsal", "RequestCost",
    "SavedLog", "Session", "TrainingJob", "Trial", "TuningJob", "TuningSnapshot",
    "compare", "connect", "diff", "estimator", "read_jobs", "read_log", "rehearse",
}  # fmt: skip


@pytest.mark.parametrize("name", PUBLIC)
def test_the_examples_of_a_public_name_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "launch.py").write_text(LAUNCHER)
    monkeypatch.chdir(tmp_path)
    described = PUBLIC[name]
    found = doctest.DocTestFinder(recurse=False).find(
        described, name, globs={"st": st, "job": jobs.trainium("s3://bucket/source.tar.gz").replace(name="bert")}
    )
    examples = [example for each in found for example in each.examples]
    if name not in LIVE:
        assert examples, f"{name} has no example"
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    for each in found:
        assert 0 == runner.run(each).failed


def test_the_names_without_an_example_are_those_of_live_jobs() -> None:
    without = {name for name, described in PUBLIC.items() if ">>>" not in (inspect.getdoc(described) or "")}
    assert without <= LIVE
