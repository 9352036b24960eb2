"""Experiments, trials and components: what is made is found again, changed, summed up and deleted in order."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from pathlib import Path
from statistics import mean, pstdev
from typing import Any

import pytest
from botocore.exceptions import ClientError
from emulator.bench import Bench
from emulator.contract import World

from sm_trn.emulator.state.store import Store

pytestmark = pytest.mark.local


@pytest.fixture(scope="module")
def made(bench: Bench) -> Any:
    """SageMaker's client, with two trials of one experiment that share a component, and a lonely component."""
    client = bench.sagemaker
    client.create_experiment(ExperimentName="Rates", Description="which rate", Tags=[{"Key": "team", "Value": "a"}])
    for trial in ("low", "high"):
        client.create_trial(TrialName=trial, ExperimentName="Rates")
    rate = {"rate": {"NumberValue": 0.5}, "optimizer": {"StringValue": "adamw"}}
    client.create_trial_component(TrialComponentName="shared", Parameters=rate)
    client.create_trial_component(TrialComponentName="lonely")
    for trial in ("low", "high"):
        client.associate_trial_component(TrialName=trial, TrialComponentName="shared")
    return client


def names(rows: list[dict[str, Any]], word: str) -> list[str]:
    return [row[f"{word}Name"] for row in rows]


def refusal(call: Any, **request: Any) -> tuple[str, str]:
    with pytest.raises(ClientError) as caught:
        call(**request)
    return caught.value.response["Error"]["Code"], caught.value.response["Error"]["Message"]


def test_a_name_that_is_taken_is_refused_with_the_words_that_the_sdk_looks_for(made: Any) -> None:
    """sagemaker/experiments/experiment.py, _load_or_create: a ValidationException that says "already exists"."""
    code, text = refusal(made.create_experiment, ExperimentName="Rates")
    assert "ValidationException" == code
    assert "already exists" in text


def test_a_trial_wants_its_experiment(made: Any) -> None:
    assert "ResourceNotFound" == refusal(made.create_trial, TrialName="x", ExperimentName="nothing")[0]


def test_a_describe_says_what_was_sent_and_an_update_changes_only_what_it_names(made: Any) -> None:
    made.update_experiment(ExperimentName="Rates", DisplayName="Learning-rates")
    told = made.describe_experiment(ExperimentName="Rates")
    assert ("Learning-rates", "which rate") == (told["DisplayName"], told["Description"])
    assert told["LastModifiedTime"] > told["CreationTime"]
    assert "low" == made.describe_trial(TrialName="low")["DisplayName"]


def test_an_update_of_a_component_adds_keys_and_removes_those_that_it_names(made: Any) -> None:
    made.create_trial_component(
        TrialComponentName="keys", Parameters={"a": {"NumberValue": 1}, "b": {"NumberValue": 2}}
    )
    made.update_trial_component(
        TrialComponentName="keys", Parameters={"c": {"StringValue": "3"}}, ParametersToRemove=["a"]
    )
    told = made.describe_trial_component(TrialComponentName="keys")["Parameters"]
    assert {"b": {"NumberValue": 2.0}, "c": {"StringValue": "3"}} == told
    made.delete_trial_component(TrialComponentName="keys")


def test_lists_follow_both_directions_of_an_association(made: Any) -> None:
    assert {"low", "high"} == {*names(made.list_trials(TrialComponentName="shared")["TrialSummaries"], "Trial")}
    for parent in ({"TrialName": "low"}, {"ExperimentName": "Rates"}):
        found = made.list_trial_components(**parent)["TrialComponentSummaries"]
        assert ["shared"] == names(found, "TrialComponent")
    assert {"shared", "lonely"} <= {*names(made.list_trial_components()["TrialComponentSummaries"], "TrialComponent")}


def test_lists_are_sorted_and_cut_by_time(made: Any) -> None:
    trials = made.list_trials(ExperimentName="Rates", SortBy="Name", SortOrder="Ascending")["TrialSummaries"]
    assert ["high", "low"] == names(trials, "Trial")
    assert ["high", "low"] == names(
        made.list_trials(ExperimentName="Rates")["TrialSummaries"], "Trial"
    )  # the newest first
    assert [] == made.list_trials(CreatedAfter=datetime.now(timezone.utc) + timedelta(days=1))["TrialSummaries"]
    assert [] == made.list_trials(CreatedBefore=datetime(2020, 1, 1, tzinfo=timezone.utc))["TrialSummaries"]
    pages = made.get_paginator("list_trials").paginate(ExperimentName="Rates", PaginationConfig={"PageSize": 1})
    assert [1, 1] == [len(page["TrialSummaries"]) for page in pages]


@pytest.mark.parametrize(
    ("filters", "wanted"),
    [
        ([{"Name": "Parents.TrialName", "Operator": "Equals", "Value": "high"}], ["shared"]),
        ([{"Name": "Parents.ExperimentName", "Operator": "Contains", "Value": "rat"}], ["shared"]),
        ([{"Name": "Parameters.rate", "Operator": "GreaterThan", "Value": "0.4"}], ["shared"]),
        ([{"Name": "Parameters.optimizer", "Operator": "Equals", "Value": "adamw"}], ["shared"]),
        ([{"Name": "Parents.TrialName", "Operator": "NotExists"}], ["lonely"]),
    ],
)
def test_a_search_looks_at_parents_and_parameters(made: Any, filters: list[Any], wanted: list[str]) -> None:
    own = {"Name": "TrialComponentName", "Operator": "In", "Value": "shared,lonely"}
    inner = {"SubExpressions": [{"Filters": filters}], "Filters": [own]}
    found = made.search(Resource="ExperimentTrialComponent", SearchExpression=inner)["Results"]
    assert wanted == names([row["TrialComponent"] for row in found], "TrialComponent")


def test_a_search_among_experiments_finds_tags_and_a_trial_shows_its_components(made: Any) -> None:
    team = {"Filters": [{"Name": "Tags.team", "Operator": "Equals", "Value": "a"}]}
    found = made.search(Resource="Experiment", SearchExpression=team)["Results"]
    assert [("Rates", [{"Key": "team", "Value": "a"}])] == [
        (row["Experiment"]["ExperimentName"], row["Experiment"]["Tags"]) for row in found
    ]
    low = {"Filters": [{"Name": "TrialName", "Operator": "Equals", "Value": "low"}]}
    trial = made.search(Resource="ExperimentTrial", SearchExpression=low)["Results"][0]["Trial"]
    assert ["shared"] == names(trial["TrialComponentSummaries"], "TrialComponent")


def test_metrics_are_summed_up_whoever_sends_them_at_once(bench: Bench, made: Any) -> None:
    metrics, values = bench.client("sagemaker-metrics"), [float(value) for value in range(40)]
    made.create_trial_component(TrialComponentName="measured")

    def send(value: float) -> object:
        data = {"MetricName": "loss", "Timestamp": datetime.now(timezone.utc), "Step": int(value), "Value": value}
        return metrics.batch_put_metrics(TrialComponentName="measured", MetricData=[data])["Errors"]

    with ThreadPoolExecutor(8) as pool:
        assert [[]] * 40 == list(pool.map(send, values))
    (told,) = made.describe_trial_component(TrialComponentName="measured")["Metrics"]
    assert (40, 0.0, 39.0, mean(values)) == (told["Count"], told["Min"], told["Max"], told["Avg"])
    assert pstdev(values) == pytest.approx(told["StdDev"])
    assert "ResourceNotFound" == refusal(
        metrics.batch_put_metrics,
        TrialComponentName="nothing",
        MetricData=[{"MetricName": "a", "Timestamp": 0, "Value": 1.0}],
    )[0]  # fmt: skip


def test_what_still_has_parts_is_not_deleted(made: Any) -> None:
    made.create_experiment(ExperimentName="short")
    made.create_trial(TrialName="part", ExperimentName="short")
    made.create_trial_component(TrialComponentName="of-part")
    made.associate_trial_component(TrialName="part", TrialComponentName="of-part")
    for call, request in (
        (made.delete_experiment, {"ExperimentName": "short"}),
        (made.delete_trial, {"TrialName": "part"}),
        (made.delete_trial_component, {"TrialComponentName": "of-part"}),
    ):
        assert "ValidationException" == refusal(call, **request)[0]
    made.disassociate_trial_component(TrialName="part", TrialComponentName="of-part")
    made.delete_trial_component(TrialComponentName="of-part")
    made.delete_trial(TrialName="part")
    made.delete_experiment(ExperimentName="short")
    assert "ResourceNotFound" == refusal(made.describe_experiment, ExperimentName="short")[0]


def test_experiments_outlive_the_emulator(tmp_path: Path) -> None:
    first = World(Store(tmp_path / "emulator.db"))
    for operation, body in (
        ("CreateExperiment", {"ExperimentName": "kept"}),
        ("CreateTrial", {"TrialName": "kept", "ExperimentName": "kept"}),
        ("CreateTrialComponent", {"TrialComponentName": "kept"}),
        ("AssociateTrialComponent", {"TrialName": "kept", "TrialComponentName": "kept"}),
    ):
        assert first.ask(operation, body) is not None
    again = World(Store(tmp_path / "emulator.db"))
    found = again.ask("ListTrialComponents", {"ExperimentName": "kept"}) or {}
    assert ["kept"] == names(found["TrialComponentSummaries"], "TrialComponent")
