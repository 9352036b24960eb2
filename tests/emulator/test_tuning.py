"""Tuning jobs: a search that starts training jobs, the best of them, and what ends one; values that its dice may throw."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
from emulator.bench import IMAGE, TERMINAL, Bench, shell
from emulator.contract import World
from hypothesis import given, settings
from hypothesis import strategies as some
from waiting import within

from sm_trn.emulator.errors import AwsError
from sm_trn.emulator.tuning.api import training_request
from sm_trn.emulator.tuning.search import Search, grid_size, grid_values, wrong_range

pytest.importorskip("boto3")
ROLE = "arn:aws:iam::000000000000:role/SageMakerExecutionRole"
REGEX = [{"Name": "loss", "Regex": "loss=([0-9.]+)"}]
LIMITS = {"MaxNumberOfTrainingJobs": 3, "MaxParallelTrainingJobs": 2}
RANGES = {"IntegerParameterRanges": [{"Name": "n", "MinValue": "1", "MaxValue": "9"}]}


def request(
    name: str, algorithm: Mapping[str, Any], ranges: Mapping[str, Any] = RANGES, **config: Any
) -> dict[str, Any]:
    objective = {"Type": "Minimize", "MetricName": "loss"}
    base = {"Strategy": "Random", "HyperParameterTuningJobObjective": objective, "ResourceLimits": LIMITS}
    definition = {
        "RoleArn": ROLE,
        "AlgorithmSpecification": {**algorithm, "MetricDefinitions": REGEX},
        "OutputDataConfig": {"S3OutputPath": "s3://sagemaker-us-west-2-000000000000/out"},
        "ResourceConfig": {"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 1},
        "StoppingCondition": {"MaxRuntimeInSeconds": 60},
        "StaticHyperParameters": {"fixed": "1"},
    }
    return {
        "HyperParameterTuningJobName": name,
        "HyperParameterTuningJobConfig": {**base, "ParameterRanges": ranges, **config},
        "TrainingJobDefinition": definition,
    }


def scripted(bench: Bench, name: str, script: str, **config: Any) -> dict[str, Any]:
    """A tuning job whose training jobs run a Python script: the service takes no entrypoint of a container here."""
    trained = bench.request(script)
    body = request(name, {"TrainingImage": IMAGE, "TrainingInputMode": "File"}, **config)
    body["TrainingJobDefinition"]["StaticHyperParameters"] |= trained["HyperParameters"]
    return body


def ended(bench: Bench, name: str, seconds: float = 100) -> Mapping[str, Any]:
    look = partial(bench.sagemaker.describe_hyper_parameter_tuning_job, HyperParameterTuningJobName=name)
    assert within(lambda: look()["HyperParameterTuningJobStatus"] in TERMINAL, seconds), look()
    return dict(look())


def tried(bench: Bench, name: str, **more: Any) -> list[dict[str, Any]]:
    ask = bench.sagemaker.list_training_jobs_for_hyper_parameter_tuning_job
    return list(ask(HyperParameterTuningJobName=name, **more)["TrainingJobSummaries"])


@pytest.mark.local
def test_a_search_tries_values_and_names_the_best(bench: Bench) -> None:
    script = "import json, os\nn = json.loads(os.environ['SM_HPS'])['n']\nprint(f'loss={n}.5')\n"
    bench.sagemaker.create_hyper_parameter_tuning_job(**scripted(bench, "search", script, RandomSeed=3))
    found = ended(bench, "search")
    rows = tried(bench, "search", SortBy="FinalObjectiveMetricValue", SortOrder="Ascending")
    assert "Completed" == found["HyperParameterTuningJobStatus"], found
    assert 3 == len(rows) == found["TrainingJobStatusCounters"]["Completed"]
    values = [row["FinalHyperParameterTuningJobObjectiveMetric"]["Value"] for row in rows]
    assert sorted(values) == values
    assert [int(row["TunedHyperParameters"]["n"]) + 0.5 for row in rows] == values
    assert values[0] == found["BestTrainingJob"]["FinalHyperParameterTuningJobObjectiveMetric"]["Value"]
    job = bench.describe(rows[0]["TrainingJobName"])
    assert ("1", "loss", found["HyperParameterTuningJobArn"]) == (
        job["HyperParameters"]["fixed"], job["HyperParameters"]["_tuning_objective_metric"], job["TuningJobArn"]
    )  # fmt: skip
    assert rows[0]["TrainingJobName"].startswith("search-00")


@pytest.mark.local
def test_a_stop_stops_the_jobs_of_the_search(bench: Bench) -> None:
    bench.sagemaker.create_hyper_parameter_tuning_job(**scripted(bench, "stopped", "import time; time.sleep(600)"))
    assert within(lambda: tried(bench, "stopped"), 30)
    bench.sagemaker.stop_hyper_parameter_tuning_job(HyperParameterTuningJobName="stopped")
    assert "Stopped" == ended(bench, "stopped")["HyperParameterTuningJobStatus"]
    assert {"Stopped"} == {row["TrainingJobStatus"] for row in tried(bench, "stopped")}
    assert len(tried(bench, "stopped")) <= LIMITS["MaxParallelTrainingJobs"]


@pytest.mark.local
def test_a_search_whose_jobs_all_fail_has_failed(bench: Bench) -> None:
    body = request("all-fail", {"TrainingImage": IMAGE, "TrainingInputMode": "File"})  # there is no script
    bench.sagemaker.create_hyper_parameter_tuning_job(**body)
    found = ended(bench, "all-fail")
    assert ("Failed", 3) == (
        found["HyperParameterTuningJobStatus"],
        found["TrainingJobStatusCounters"]["NonRetryableError"],
    )
    assert "BestTrainingJob" not in found


@pytest.mark.local
def test_the_tuner_of_sdk_v2_drives_eight_trainings_to_their_end(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """fit, attach, best_training_job and analytics of the SDK, and boto3's own waiter on each training job."""
    sagemaker = pytest.importorskip("sagemaker")
    from sagemaker.pytorch import PyTorch
    from sagemaker.tuner import CategoricalParameter, ContinuousParameter, HyperparameterTuner, IntegerParameter

    (tmp_path / "train.py").write_text(
        "import sys\nprint('loss=' + sys.argv[sys.argv.index('--size') + 1])\n", encoding="utf-8"
    )
    for name, value in {**bench.variables(), "SAGEMAKER_SUPPRESS_V2_WARNING": "1"}.items():
        monkeypatch.setenv(name, value)
    session = sagemaker.Session(default_bucket=bench.endpoint.bucket)
    estimator = PyTorch(
        "train.py", source_dir=str(tmp_path), role=ROLE, framework_version="2.6.0", py_version="py312", instance_count=1,
        instance_type="ml.c5.xlarge", sagemaker_session=session,
    )  # fmt: skip
    ranges = {
        "size": IntegerParameter(1, 99),
        "rate": ContinuousParameter(1e-5, 1e-1, scaling_type="Logarithmic"),
        "optimizer": CategoricalParameter(["sgd", "adam"]),
    }
    tuner = HyperparameterTuner(
        estimator, "loss", ranges, REGEX, objective_type="Minimize", max_jobs=8, max_parallel_jobs=4, random_seed=5
    )
    tuner.fit()
    name = tuner.latest_tuning_job.name
    rows = tried(bench, name)
    waiter = bench.sagemaker.get_waiter("training_job_completed_or_stopped")
    for row in rows:
        waiter.wait(TrainingJobName=row["TrainingJobName"])
    assert ["Completed"] * 8 == [row["TrainingJobStatus"] for row in rows]
    attached = HyperparameterTuner.attach(name, sagemaker_session=session)
    best = ended(bench, name)["BestTrainingJob"]
    assert best["TrainingJobName"] == tuner.best_training_job() == attached.best_training_job()
    assert float(best["TunedHyperParameters"]["size"]) == best["FinalHyperParameterTuningJobObjectiveMetric"]["Value"]
    frame = attached.analytics().dataframe()
    assert (8, float(frame["size"].min())) == (len(frame), frame["FinalObjectiveValue"].min())
    assert {"sgd", "adam"} >= {json.loads(value) for value in frame["optimizer"]}
    assert {"ml.c5.xlarge"} == {
        bench.describe(row["TrainingJobName"])["ResourceConfig"]["InstanceType"] for row in rows
    }


@pytest.mark.skipif(os.environ.get("SM_TRN_CLIENTS") != "all", reason="SM_TRN_CLIENTS=all runs every client")
@pytest.mark.local
def test_hyperband_stops_what_is_worse_before_its_end(bench: Bench) -> None:
    """With this seed n is 2, 1, 5 and 7: the last two are worse at their third value, and would go on for a long time."""
    script = """
        import json, os, time
        n = json.loads(os.environ['SM_HPS'])['n']
        for epoch in range(4):
            print(f'loss={n}.5', flush=True)
        time.sleep(200 if n > 4 else 0)
    """
    band = {"HyperbandStrategyConfig": {"MinResource": 1, "MaxResource": 9}}
    limits = {"MaxNumberOfTrainingJobs": 4, "MaxParallelTrainingJobs": 1}
    body = scripted(
        bench, "band", script, Strategy="Hyperband", StrategyConfig=band, ResourceLimits=limits, RandomSeed=11
    )
    bench.sagemaker.create_hyper_parameter_tuning_job(**body)
    found = ended(bench, "band")
    assert "Completed" == found["HyperParameterTuningJobStatus"]
    assert [("2", "Completed"), ("1", "Completed"), ("5", "Stopped"), ("7", "Stopped")] == [
        (row["TunedHyperParameters"]["n"], row["TrainingJobStatus"])
        for row in tried(bench, "band", SortBy="CreationTime")
    ]
    assert "1" == found["BestTrainingJob"]["TunedHyperParameters"]["n"]


ONE: Final = {"InstanceType": "ml.c5.xlarge", "InstanceCount": 2, "VolumeSizeInGB": 3}


@pytest.mark.parametrize(
    ("cluster", "wanted"),
    [
        (ONE, ONE),
        ({"InstanceConfigs": [{**ONE, "InstanceCount": 1}, ONE], "AllocationStrategy": "Prioritized"}, {**ONE, "InstanceCount": 1}),
        ({"InstanceConfigs": [ONE], "VolumeKmsKeyId": "key"}, {**ONE, "VolumeKmsKeyId": "key"}),
    ],
)  # fmt: skip
def test_a_search_may_give_its_cluster_as_sdk_v2_does(cluster: dict[str, Any], wanted: dict[str, Any]) -> None:
    """sagemaker/tuner.py, _TuningJob._prepare_training_config: HyperParameterTuningResourceConfig, never ResourceConfig."""
    body: Any = request("clustered", {"TrainingImage": IMAGE, "TrainingInputMode": "File"})
    del body["TrainingJobDefinition"]["ResourceConfig"]
    assert "exactly one of ResourceConfig" in refusal(body)
    body["TrainingJobDefinition"]["HyperParameterTuningResourceConfig"] = cluster
    world = World()
    assert world.ask("CreateHyperParameterTuningJob", body) is not None
    made = training_request(body, 0, "one")
    assert wanted == made["ResourceConfig"]
    assert "HyperParameterTuningResourceConfig" not in made
    assert world.ask("CreateTrainingJob", {**made, "HyperParameters": {}}) is not None


def refusal(body: dict[str, Any]) -> str:
    with pytest.raises(AwsError) as caught:
        World().table.answer("CreateHyperParameterTuningJob", json.loads(json.dumps(body)))
    return caught.value.message


WRONG: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    (
        {"WarmStartConfig": {"ParentHyperParameterTuningJobs": [{}], "WarmStartType": "TransferLearning"}},
        {},
        "knows its own training jobs alone",
    ),
    ({"Autotune": {"Mode": "Enabled"}}, {}, "chooses no ranges"),
    ({}, {"Strategy": "Hyperband"}, "MaxResource is missing"),
    (
        {},
        {"Strategy": "Hyperband", "StrategyConfig": {"HyperbandStrategyConfig": {"MinResource": 9, "MaxResource": 3}}},
        "wanted at most MaxResource",
    ),
    ({}, {"Strategy": "Hyperband", "TrainingJobEarlyStoppingType": "Auto"}, "wanted Off"),
    ({}, {"Strategy": "Grid"}, "categorical parameters only"),
    ({}, {"ParameterRanges": {}}, "no hyperparameter has a range"),
    ({"TrainingJobDefinitions": [{}]}, {}, "exactly one of"),
    (
        {},
        {"ParameterRanges": {"IntegerParameterRanges": [{"Name": "n", "MinValue": "9", "MaxValue": "1"}]}},
        "wanted less than MaxValue",
    ),
    (
        {},
        {
            "Strategy": "Grid",
            "ParameterRanges": {"CategoricalParameterRanges": [{"Name": "c", "Values": ["a", "b"]}]},
        },
        "wanted 2, all of the grid",
    ),
]


@pytest.mark.parametrize(("members", "config", "said"), WRONG, ids=[said for _, _, said in WRONG])
def test_what_is_not_tuned_here_is_refused_with_the_reason(
    members: dict[str, Any], config: dict[str, Any], said: str
) -> None:
    body = {**request("wrong", shell("true"), **config), **members}
    if "TrainingJobDefinitions" in members:
        body["TrainingJobDefinitions"] = [body["TrainingJobDefinition"]]
    assert said in refusal(body)


NUMBERS = some.tuples(some.floats(0.001, 0.5), some.floats(0.001, 0.4)).map(lambda pair: (pair[0], pair[0] + pair[1]))


def search_of(ranges: Any, strategy: str, seed: int = 0, **config: Any) -> Search:
    body: Any = request("search", shell("true"), ranges, Strategy=strategy, RandomSeed=seed, **config)
    body["TrainingJobDefinition"]["StaticHyperParameters"]["epochs"] = "9"
    return Search(body, 0)


@settings(max_examples=25)
@given(
    NUMBERS,
    some.sampled_from(["Auto", "Linear", "Logarithmic", "ReverseLogarithmic"]),
    some.sampled_from(["Bayesian", "Random", "Hyperband"]),
    some.sampled_from([0, 7, 2**32, 2**63]),
)
def test_a_number_is_in_its_range_and_the_same_again(
    limits: tuple[float, float], scaling: str, strategy: str, seed: int
) -> None:
    low, high = limits
    each: Any = {"Name": "x", "MinValue": str(low), "MaxValue": str(high), "ScalingType": scaling}
    whole: Any = {"Name": "n", "MinValue": str(low * 1000), "MaxValue": str(high * 1000 + 1)}
    ranges: Any = {"ContinuousParameterRanges": [each], "IntegerParameterRanges": [whole]}
    assert "" == wrong_range(ranges)
    first, again = search_of(ranges, strategy, seed), search_of(ranges, strategy, seed)
    for _ in range(3):
        values = first.values()[1]
        assert low <= float(values["x"]) <= high
        assert math.ceil(low * 1000) <= int(values["n"]) <= math.floor(high * 1000 + 1)
        assert values == again.values()[1]


def test_bayesian_is_optunas_tpe() -> None:
    """One seed, and the same answers to what was tried: the same trials as Optuna's own study."""
    optuna = pytest.importorskip("optuna")
    ranges: Any = {
        "ContinuousParameterRanges": [
            {"Name": "x", "MinValue": "0.001", "MaxValue": "1", "ScalingType": "Logarithmic"}
        ],
        "CategoricalParameterRanges": [{"Name": "c", "Values": ["a", "b"]}],
    }
    search = search_of(ranges, "Bayesian", seed=7)
    ours = []
    for number in range(20):
        trial, values = search.values()
        search.started(str(number), trial)
        search.ended(str(number), float(values["x"]), stopped=False)
        ours.append(values)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=7))
    chosen = {
        "c": optuna.distributions.CategoricalDistribution(["a", "b"]),
        "x": optuna.distributions.FloatDistribution(0.001, 1, log=True),
    }
    for _ in range(20):
        trial = study.ask(chosen)
        study.tell(trial, trial.params["x"])
    assert [{name: str(value) for name, value in trial.params.items()} for trial in study.trials] == ours


def test_early_stopping_gives_up_what_is_worse_than_the_median() -> None:
    search = search_of(RANGES, "Random", TrainingJobEarlyStoppingType="Auto")
    for number in range(6):
        trial, _ = search.values()
        search.started(str(number), trial)
        assert not search.hopeless(str(number), [1.0, 0.5])
        search.ended(str(number), 0.5, stopped=False)
    search.started("worse", search.values()[0])
    assert search.hopeless("worse", [9.0])
    search.ended("worse", None, stopped=True)
    assert not search.hopeless("worse", [9.0, 9.0])


@given(some.lists(some.integers(1, 4), min_size=1, max_size=3))
def test_a_grid_is_every_combination_once(sizes: list[int]) -> None:
    ranges: Any = {
        "CategoricalParameterRanges": [
            {"Name": f"p{at}", "Values": [str(value) for value in range(size)]} for at, size in enumerate(sizes)
        ]
    }
    search = search_of(ranges, "Grid")
    rows = {tuple(search.values()[1].values()) for _ in range(grid_size(ranges))}
    assert math.prod(sizes) == len(rows) == grid_size(ranges)
    assert grid_values(ranges, 0) == grid_values(ranges, grid_size(ranges))


def test_without_optuna_a_search_says_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "optuna", None)
    body = request("plain", {"TrainingImage": IMAGE, "TrainingInputMode": "File"})
    assert 'pip install "sm_trn[tune]"' in refusal(body)
