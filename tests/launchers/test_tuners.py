"""A tuner of SDK v2 in a launcher is read as a sweep, whose request is the one that the SDK sends for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import sm_trn as st
from sm_trn.bridge.launchers import Ending, Launch, read_text
from sm_trn.bridge.launchers.write import python_source
from sm_trn.bridge.recorder.searches import recorded_sweep
from sm_trn.cli.__main__ import cli
from sm_trn.core.specs import Destination
from sm_trn.tuning.files import read_sweep
from sm_trn.tuning.request import tuning_request

pytest.importorskip("sagemaker.pytorch", reason="needs SageMaker SDK v2: pip install 'sm_trn[sdk]'")

HEAD = """
from sagemaker.estimator import Estimator
from sagemaker.pytorch import PyTorch
from sagemaker.tuner import (
    CategoricalParameter, ContinuousParameter, HyperbandStrategyConfig, HyperparameterTuner, InstanceConfig, IntegerParameter,
    StrategyConfig, TuningJobCompletionCriteriaConfig, WarmStartConfig, WarmStartTypes,
)
role = "arn:aws:iam::123456789012:role/Training"
e = PyTorch(
    entry_point="train.py", source_dir="s3://b/source.tar.gz", role=role, framework_version="2.1", py_version="py310",
    instance_type="ml.g5.xlarge", instance_count=1, hyperparameters={"epochs": 3, "optim": "adamw"}, max_run=600,
)
rules = [{"Name": "loss", "Regex": "loss=([0-9.]+)"}]
space = {"lr": ContinuousParameter(1e-5, 1e-3, scaling_type="Logarithmic"), "bs": CategoricalParameter([16, 32])}
"""
FIT = ".fit({'train': 's3://b/x'})"


def read(body: str, **given: Any) -> Launch:
    found = read_text(HEAD + body, "launch.py", given=given).launches
    return next(launch for launch in found if launch.within == "HyperparameterTuner")


TUNERS = {
    "plain": "HyperparameterTuner(e, 'loss', space, metric_definitions=rules, max_jobs=20, max_parallel_jobs=4)",
    "random": "HyperparameterTuner(e, 'loss', {'depth': IntegerParameter(1, 8)}, rules, strategy='Random', objective_type='Minimize', "
    "max_jobs=9, random_seed=3, max_runtime_in_seconds=7200, early_stopping_type='Auto', base_tuning_job_name='search')",
    "grid": "HyperparameterTuner(e, 'loss', {'optim': CategoricalParameter(['adamw', 'sgd', '1.50'])}, rules, strategy='Grid', max_jobs=3)",
    "hyperband": "HyperparameterTuner(e, 'loss', space, rules, strategy='Hyperband', max_jobs=5, "
    "strategy_config=StrategyConfig(HyperbandStrategyConfig(max_resource=9, min_resource=1)))",
    "warm start": "HyperparameterTuner(e, 'loss', space, rules, max_jobs=5, "
    "warm_start_config=WarmStartConfig(WarmStartTypes.TRANSFER_LEARNING, {'before'}), "
    "completion_criteria_config=TuningJobCompletionCriteriaConfig(complete_on_convergence=True, target_objective_metric_value=0.1))",
    "autotune": "HyperparameterTuner(e, 'loss', {}, rules, max_jobs=5, autotune=True, "
    "hyperparameters_to_keep_static=['optim', 'sagemaker_program', 'sagemaker_submit_directory', 'sagemaker_container_log_level', "
    "'sagemaker_job_name', 'sagemaker_region', 'sagemaker_estimator_class_name', 'sagemaker_estimator_module'])",
    "no script": "HyperparameterTuner(Estimator('123456789012.dkr.ecr.us-east-1.amazonaws.com/own:1', role, 2, 'ml.g5.xlarge', "
    "hyperparameters={'epochs': 3}), 'loss', space, rules, max_jobs=3)",
}


@pytest.mark.parametrize("name", TUNERS)
def test_the_sweep_asks_for_what_the_sdk_sends(name: str) -> None:
    launch = read(f"tuner = {TUNERS[name]}\ntuner{FIT}\n")
    assert () == launch.holes, [str(hole) for hole in launch.holes]
    (job,) = launch.jobs
    assert job.search is not None
    at = Destination(
        role=job.at.role, region=job.at.region, bucket=job.at.bucket, source_uri=job.at.source_uri,
        job_name=str(job.search.request["HyperParameterTuningJobName"]),
    )  # fmt: skip
    assert comparable(dict(job.search.request)) == comparable(tuning_request(job.search.sweep, at))
    assert Ending.HANDED is launch.ending


@pytest.mark.parametrize("name", TUNERS)
def test_the_sweep_of_a_recorded_request_asks_for_the_same(name: str) -> None:
    """As ``import --run`` knows it: the request alone, without the estimator that made it."""
    (job,) = read(f"tuner = {TUNERS[name]}\ntuner{FIT}\n").jobs
    assert job.search is not None
    request = job.search.request
    sweep = recorded_sweep(request)
    at = Destination(
        role=job.at.role, region=job.at.region, bucket=job.at.bucket, source_uri=job.at.source_uri,
        job_name=str(request["HyperParameterTuningJobName"]),
    )  # fmt: skip
    assert comparable(dict(request)) == comparable(tuning_request(sweep, at))
    assert not [given for given in sweep.job.hyperparameters if given.startswith(("sagemaker_estimator", "_tuning"))]
    tagged = recorded_sweep({**request, "Tags": [{"Key": "team", "Value": "nlp"}]})
    assert {"team": "nlp"} == dict(tagged.job.tags)


def comparable(request: dict[str, Any]) -> dict[str, Any]:
    """Without the training job's own name, which the SDK makes at the moment, and in which a sweep has that of the tuning job."""
    definition = request["TrainingJobDefinition"]
    static = {key: text for key, text in definition["StaticHyperParameters"].items() if key != "sagemaker_job_name"}
    return {**request, "TrainingJobDefinition": {**definition, "StaticHyperParameters": static}}


def test_the_values_of_a_sweep_are_those_of_the_launcher() -> None:
    (job,) = read(f"{TUNERS['plain']}{FIT}\n").jobs
    assert job.search is not None
    sweep = job.search.sweep
    assert st.specs.Categorical((16, 32)) == sweep.space["bs"]
    assert st.specs.Continuous(1e-5, 1e-3, scale=st.specs.Scale.LOGARITHMIC) == sweep.space["lr"]
    assert (20, 4, ("loss",)) == (sweep.jobs, sweep.parallel, tuple(rule.name for rule in sweep.job.metrics))


def test_what_a_tuner_is_given_and_nobody_knows_is_a_hole_with_its_name() -> None:
    body = f"tuner = HyperparameterTuner(e, 'loss', space, rules, max_jobs=int(input('jobs? ')))\ntuner{FIT}\n"
    launch = read(body)
    (hole,) = launch.holes
    assert "input" in hole.expression
    assert len(HEAD.splitlines()) + 1 == hole.place.line
    assert not launch.complete


def test_a_tuner_that_the_sdk_refuses_is_a_hole() -> None:
    launch = read(f"tuner = HyperparameterTuner(e, 'loss', {{}}, rules, max_jobs=3)\ntuner{FIT}\n")
    assert "Need to specify hyperparameter ranges" in launch.holes[0].detail


def test_a_tuner_is_no_more_seen_and_not_converted() -> None:
    found = read_text(f"{HEAD}tuner = {TUNERS['plain']}\ntuner{FIT}\n", "launch.py")
    assert [] == [item for item in found.seen if item.kind == "tuning job"]


def test_python_of_a_sweep_makes_an_equal_sweep() -> None:
    for name in ("plain", "hyperband", "warm start"):
        (job,) = read(f"{TUNERS[name]}{FIT}\n").jobs
        assert job.search is not None
        names: dict[str, Any] = {}
        exec(python_source(job.search.sweep), names)  # noqa: S102 - our own text
        assert job.search.sweep == names["sweep"]


def test_import_writes_a_job_file_and_a_sweep_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "launch.py").write_text(f"{HEAD}{TUNERS['plain']}{FIT}\n")
    done = CliRunner().invoke(cli, ["import", "launch.py", "--to", "job.toml", "--output", "jobs"])
    assert 0 == done.exit_code, done.output
    (beside,) = (tmp_path / "jobs").glob("*.sweep.toml")
    sweep = read_sweep(beside)
    assert (20, {"lr", "bs"}, "loss") == (sweep.jobs, set(sweep.space), sweep.objective.name)


def test_a_recorded_search_of_several_estimators_is_no_sweep() -> None:
    request: dict[str, Any] = {
        "HyperParameterTuningJobName": "search",
        "HyperParameterTuningJobConfig": {"Strategy": "Bayesian"},
        "TrainingJobDefinitions": [{}, {}],
    }
    with pytest.raises(st.SmTrnError, match=r"several estimators.*write a sweep for each estimator"):
        recorded_sweep(request)
