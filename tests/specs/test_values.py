"""Specs are values: immutable, comparable, and clear about a mistyped field."""

from __future__ import annotations

import dataclasses
from datetime import datetime, timedelta, timezone
from pathlib import PurePosixPath
from typing import Any

import botocore.session
import jobs
import pytest
from hypothesis import given
from hypothesis import strategies as some

import sm_trn as st
from sm_trn.core.pricing.cost import instance_seconds
from sm_trn.core.specs import JobStatus, MetricPoint, dump_record, parse_record, parse_snapshot, parse_time
from sm_trn.core.specs.record import record
from sm_trn.core.specs.units import InstanceSeconds, WallSeconds


def test_a_mistyped_field_is_a_type_error_with_a_suggestion() -> None:
    with pytest.raises(TypeError, match=r"unknown field 'cout' \(did you mean 'count'\?\)"):
        st.Compute("ml.p4d.24xlarge", cout=2)  # type: ignore[call-arg]  # the mistake is the test
    with pytest.raises(TypeError, match=r"did you mean 'distribution'\?"):
        jobs.smddp(".").replace(distrbution=None)


PLAIN: dict[str, Any] = {
    "name": "a",
    "script": st.Script("a.py"),
    "framework": st.PyTorch("2.6", python="py312"),
    "compute": st.Compute("ml.g5.xlarge"),
}


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("distribution", {"torch_distributed": {"enabled": True}}, "TorchDistributed()"),
        ("distribution", "torch_distributed", "TorchDistributed()"),
        ("distribution", st.TorchDistributed, "TorchDistributed()"),
        ("spot", True, "Spot(max_wait_s="),
        ("script", "train.py", "Script('train.py'"),
        ("max_run_s", "1h", "whole seconds"),
        ("max_run_s", True, "whole seconds"),
        ("max_run_s", 3600.0, "whole seconds"),
        ("inputs", "./data", "{'train': 's3://bucket/data'}"),
        ("inputs", {"train": 3}, "{'train': 's3://bucket/data'}"),
        ("environment", {"A": 1}, "a mapping of texts, each to a text"),
        ("tags", ["a"], "a mapping of texts"),
        ("framework", "pytorch", "PyTorch('2.6'"),
        ("compute", "ml.p4d.24xlarge", "Compute('ml.trn1.32xlarge'"),
        ("compiler", True, "TrainingCompiler()"),
        ("metrics", [{"Name": "a", "Regex": "b"}], "MetricRule("),
        ("metrics", st.MetricRule("a", "(b)"), "MetricRule("),
        ("retries", "3", "a whole number or nothing"),
        ("extra", {"A": None}, "a text, a number, a list or a mapping"),
        ("neuron", {"tensor_parallel": 2}, "NeuronOptions"),
    ],
)
def test_a_value_of_another_type_is_answered_with_what_was_wanted(field: str, value: object, words: str) -> None:
    with pytest.raises(TypeError) as caught:
        st.JobSpec(**(PLAIN | {field: value}))
    text = str(caught.value)
    assert text.startswith(f"JobSpec.{field}: got ")
    assert words in text.partition("wanted ")[2]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: st.JobSpec(**PLAIN, max_wait_s=7200), "write spot=Spot(max_wait_s="),  # type: ignore[call-arg]  # the mistake is the test
        (lambda: st.JobSpec(**PLAIN, instance_type="ml.g5.xlarge"), "write compute=Compute("),  # type: ignore[call-arg]  # the mistake is the test
        (lambda: st.JobSpec(**PLAIN, use_spot_instances=True), "write spot=Spot("),  # type: ignore[call-arg]  # the mistake is the test
        (lambda: st.JobSpec(**PLAIN, hyperparameter={}), "did you mean 'hyperparameters'?"),  # type: ignore[call-arg]  # the mistake is the test
        (lambda: st.MPI(process_per_host=8), "did you mean 'processes_per_host'?"),  # type: ignore[call-arg]  # the mistake is the test
        (lambda: st.SMModelParallel(partition=2), "did you mean 'partitions'?"),  # type: ignore[call-arg]  # the mistake is the test
        (lambda: st.TorchDistributed(workers=2), "did you mean 'workers_per_host'?"),  # type: ignore[call-arg]  # the mistake is the test
        (lambda: st.MPI(processes_per_host="8"), "got '8' (str), wanted a whole number or nothing"),  # type: ignore[arg-type]  # the mistake is the test
        (lambda: st.Compute("ml.g5.xlarge", count="2"), "Compute.count: got '2' (str), wanted a whole number"),  # type: ignore[arg-type]  # the mistake is the test
        (lambda: st.Compute(8), "Compute.instance: got 8 (int), wanted a text"),  # type: ignore[arg-type]  # the mistake is the test
        (lambda: st.Compute(groups=["a"]), "wanted a list, each InstanceGroup"),  # type: ignore[arg-type]  # the mistake is the test
        (lambda: st.Spot(max_wait_s=1.5), "Spot.max_wait_s: got 1.5 (float), wanted a whole number"),  # type: ignore[arg-type]  # the mistake is the test
        (lambda: st.PyTorch(2.6, python="py312"), "PyTorch.version: got 2.6 (float), wanted a text"),  # type: ignore[arg-type]  # the mistake is the test
    ],
)
def test_a_misplaced_word_is_answered_with_its_place(make: object, words: str) -> None:
    with pytest.raises(TypeError) as caught:
        make()  # type: ignore[operator]  # a list of callables
    assert words in str(caught.value)


def test_a_spec_does_not_change_when_its_dict_does() -> None:
    mine = {"epochs": 1}
    job = jobs.smddp(".").replace(hyperparameters=mine)
    mine["epochs"] = 2
    assert {"epochs": 1} == dict(job.hyperparameters)
    with pytest.raises(TypeError):
        job.hyperparameters["epochs"] = 3  # type: ignore[index]  # the mistake is the test


def test_a_spec_cannot_be_assigned_to() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        jobs.smddp(".").name = "other"  # type: ignore[misc]  # the mistake is the test


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: st.Compute("ml.p4d.24xlarge", count=0), "compute.count: got 0, wanted at least 1"),
        (lambda: st.Spot(max_wait_s=0), "spot.max_wait_s: got 0, wanted at least 1"),
        (lambda: jobs.smddp(".").replace(max_run_s=0), "max_run_s: got 0, wanted at least 1"),
        (lambda: jobs.smddp(".").replace(name="", script=None), "name: got '', wanted a job name"),
    ],
)
def test_nonsense_is_refused_at_once(make: object, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        make()  # type: ignore[operator]  # a list of callables


def test_statuses_are_those_of_the_service_model() -> None:
    shape = botocore.session.get_session().get_service_model("sagemaker").shape_for("TrainingJobStatus")
    assert set(shape.enum) == {status.value for status in JobStatus}


def describe(**more: object) -> dict[str, object]:
    return {
        "TrainingJobName": "j",
        "TrainingJobArn": "arn:aws:sagemaker:us-west-2:123456789012:training-job/j",
        "TrainingJobStatus": "InProgress",
        "SecondaryStatus": "Training",
        "ResourceConfig": {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 2, "VolumeSizeInGB": 30},
        **more,
    }


@pytest.mark.parametrize(
    ("word", "terminal"),
    [("Completed", True), ("Failed", True), ("Stopped", True), ("Stopping", False), ("InProgress", False)],
)
def test_only_terminal_states_are_terminal(word: str, terminal: bool) -> None:
    assert terminal is parse_snapshot(describe(TrainingJobStatus=word)).terminal


def test_an_unknown_status_keeps_its_word_and_is_not_terminal() -> None:
    snapshot = parse_snapshot(describe(TrainingJobStatus="Hibernating"))
    assert (None, "Hibernating", False) == (snapshot.status, snapshot.status_word, snapshot.terminal)


def test_every_time_of_an_answer_is_in_utc_whatever_zone_it_came_in() -> None:
    came = datetime(2022, 11, 1, 9, tzinfo=timezone(timedelta(hours=9)))
    transitions = [{"Status": "Training", "StartTime": came, "StatusMessage": ""}]
    snapshot = parse_snapshot(describe(CreationTime=came, SecondaryStatusTransitions=transitions))
    times = [snapshot.raw["CreationTime"], snapshot.raw["SecondaryStatusTransitions"][0]["StartTime"], snapshot.created]
    assert [came] * 3 == times
    assert {timezone.utc} == {time.tzinfo for time in times if time is not None}


def test_what_aws_left_out_is_absent_not_zero() -> None:
    snapshot = parse_snapshot(describe())
    assert (None, None, None, ()) == (snapshot.billable_s, snapshot.training_s, snapshot.started, snapshot.transitions)


def test_emulated_is_read_off_the_arn() -> None:
    arn = "arn:aws:sagemaker:us-west-2:000000000000:training-job/j"
    assert parse_snapshot(describe(TrainingJobArn=arn)).emulated
    assert not parse_snapshot(describe()).emulated


def test_instance_groups_add_up() -> None:
    groups = [
        {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 2},
        {"InstanceType": "ml.c5.xlarge", "InstanceCount": 3},
    ]
    snapshot = parse_snapshot(describe(ResourceConfig={"InstanceGroups": groups}))
    assert ("ml.c5.xlarge+ml.p4d.24xlarge", 5) == (snapshot.instance, snapshot.count)


@given(some.floats(1.5e9, 4e9).map(lambda seconds: datetime.fromtimestamp(round(seconds, 3), tz=timezone.utc)))
def test_every_form_of_a_time_is_the_same_instant(when: datetime) -> None:
    assert when == parse_time(when) == parse_time(when.isoformat())
    from_epoch = parse_time(when.timestamp())
    assert from_epoch is not None
    assert abs((from_epoch - when).total_seconds()) < 1e-3


def test_billable_is_per_instance() -> None:
    assert InstanceSeconds(200) == instance_seconds(WallSeconds(100), 2)


POINTS = some.builds(
    MetricPoint,
    some.sampled_from(["loss", "eval_accuracy"]),
    some.floats(allow_nan=False),
    step=some.one_of(some.none(), some.floats(0, 1e6)),
    time_s=some.one_of(some.none(), some.floats(0, 2e9)),
    host=some.sampled_from(["", "algo-1"]),
)


@given(some.lists(POINTS, max_size=5))
def test_a_record_survives_its_file(points: list[MetricPoint]) -> None:
    made = record(
        parse_snapshot(describe(CreationTime=datetime(2022, 11, 1, tzinfo=timezone.utc))), points, workload="w"
    )
    assert made == parse_record(dump_record(made))


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"schema": 1}', '{"schema": 1, "describe": 5, "points": [], "origin": "x", "label": ""}']
)
def test_something_else_is_not_a_record(text: str) -> None:
    with pytest.raises(st.SmTrnError, match="not a job record"):
        parse_record(text)


def test_relative_paths_of_a_script_are_moved_and_a_slash_stays() -> None:
    script = st.Script("t.py", source_dir="src", dependencies=("libs/a", "loose/", "/own/", "s3://b/x"))
    moved = script.moved(lambda path: str(PurePosixPath("up", path)))  # which drops a slash
    assert ("up/src", ("up/libs/a", "up/loose/", "/own/", "s3://b/x")) == (moved.source_dir, moved.dependencies)
    of_repository = st.Script("t.py", git=st.specs.Git("https://example.com/a.git"), dependencies=("libs/a",))
    assert of_repository == of_repository.moved(lambda path: f"up/{path}")
