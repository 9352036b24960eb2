"""ListTrainingJobs and Search over any set of jobs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sm_trn.emulator.api.search import Row, search
from sm_trn.emulator.api.shapes import service_model
from sm_trn.emulator.errors import AwsError
from sm_trn.emulator.telemetry.metrics import FinalMetric
from sm_trn.emulator.training import engine
from sm_trn.emulator.training.describe import describe, list_jobs
from sm_trn.emulator.training.engine import Event
from sm_trn.emulator.training.job import Job


def job(name: str, created: float, *, failed: bool = False, **tags: str) -> Job:
    state = engine.begin(created)
    if failed:
        state = engine.advance(state, Event.FAIL, created + 1, reason="x")
    return Job(
        name=name,
        arn=f"arn:aws:sagemaker:us-west-2:000000000000:training-job/{name}",
        request={"OutputDataConfig": {"S3OutputPath": "s3://b"}, "HyperParameters": {"epochs": "3"}},
        state=state,
        tags=tags,
        metrics=(FinalMetric(name="loss", value=created, timestamp=1),),
    )


def row(one: Job) -> Row:
    return Row(one.name, describe(one, 10.0, 0.7), one.tags, {each.name: each.value for each in one.metrics})


JOBS = [job("b-one", 1.0, team="x"), job("A-two", 2.0, failed=True), job("c-three", 3.0)]


ROWS = [row(each) for each in JOBS]


PROPERTIES = service_model().shape_for("TrainingJob").members


def names(**asked: Any) -> list[str]:
    body: Any = asked
    return [row["TrainingJobName"] for row in list_jobs(JOBS, body)["TrainingJobSummaries"]]


def found(*filters: dict[str, str], **asked: Any) -> list[str]:
    body: Any = {"SearchExpression": {"Filters": list(filters)}, **asked}
    return [row.name for row in search(ROWS, body, PROPERTIES)[0]]


def test_the_newest_comes_first() -> None:
    assert ["c-three", "A-two", "b-one"] == names()


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        ({"SortOrder": "Ascending"}, ["b-one", "A-two", "c-three"]),
        ({"SortBy": "Name", "SortOrder": "Ascending"}, ["A-two", "b-one", "c-three"]),
        ({"SortBy": "Status", "SortOrder": "Ascending"}, ["A-two", "b-one", "c-three"]),
        ({"NameContains": "T"}, ["c-three", "A-two"]),
        ({"CreationTimeAfter": 1.0}, ["c-three", "A-two"]),
        ({"CreationTimeBefore": 3.0}, ["A-two", "b-one"]),
        ({"LastModifiedTimeAfter": 2.5}, ["c-three", "A-two"]),
        ({"StatusEquals": "Failed"}, ["A-two"]),
    ],
)
def test_a_list_is_filtered_and_sorted_as_asked(asked: dict[str, Any], wanted: list[str]) -> None:
    assert wanted == names(**asked)


def test_a_status_thins_a_page_after_it_was_cut() -> None:
    assert [] == names(StatusEquals="Failed", MaxResults=1)


@given(st.lists(st.floats(0, 100), max_size=20), st.integers(1, 7), st.sampled_from(["Name", "CreationTime", "Status"]))
def test_pages_show_every_job_once(times: list[float], size: int, by: str) -> None:
    jobs = [job(f"j{index}", moment) for index, moment in enumerate(times)]
    seen, token = [], None
    while True:
        answer = list_jobs(jobs, {"MaxResults": size, "SortBy": by, **({"NextToken": token} if token else {})})
        seen += [row["TrainingJobName"] for row in answer["TrainingJobSummaries"]]
        token = answer.get("NextToken")
        if token is None:
            break
    assert sorted(seen) == sorted(one.name for one in jobs)


def test_a_new_job_does_not_shift_the_pages() -> None:
    first = list_jobs(JOBS, {"MaxResults": 1})
    rest = list_jobs([*JOBS, job("d-new", 9.0)], {"MaxResults": 5, "NextToken": first["NextToken"]})
    assert ["A-two", "b-one"] == [row["TrainingJobName"] for row in rest["TrainingJobSummaries"]]


def test_a_token_of_somebody_else_is_refused() -> None:
    with pytest.raises(AwsError, match="NextToken"):
        names(NextToken="x")


@pytest.mark.parametrize(
    ("condition", "wanted"),
    [
        ({"Name": "TrainingJobStatus", "Operator": "Equals", "Value": "Failed"}, ["A-two"]),
        ({"Name": "TrainingJobName", "Operator": "Contains", "Value": "t"}, ["c-three", "A-two"]),
        ({"Name": "Tags.team", "Operator": "Equals", "Value": "x"}, ["b-one"]),
        ({"Name": "HyperParameters.epochs", "Operator": "GreaterThan", "Value": "2"}, ["c-three", "A-two", "b-one"]),
        ({"Name": "Metrics.loss", "Operator": "LessThan", "Value": "2"}, ["b-one"]),
        ({"Name": "FailureReason", "Operator": "Exists"}, ["A-two"]),
    ],
)
def test_a_search_looks_at_answers_tags_and_metrics(condition: dict[str, str], wanted: list[str]) -> None:
    assert wanted == found(condition)


@pytest.mark.parametrize("name", ["Nope", "TrialName", "trainingJobStatus", "Nope.inside", "HyperParameter.epochs"])
@pytest.mark.parametrize("operator", ["Equals", "NotEquals", "NotExists"])
def test_a_search_by_a_property_that_does_not_exist_is_refused_as_the_service_refuses_it(
    name: str, operator: str
) -> None:
    with pytest.raises(AwsError, match=f"Unknown property name: {name}"):
        found({"Name": name, "Operator": operator, "Value": "x"})


def test_a_property_that_no_job_has_yet_may_be_searched_by() -> None:
    for name in ("TuningJobArn", "Tags.nobody", "Metrics.nobody", "HyperParameters.nobody", "VpcConfig.Subnets"):
        assert [] == found({"Name": name, "Operator": "Exists"})


def test_a_search_joins_its_filters_as_asked() -> None:
    failed = {"Name": "TrainingJobStatus", "Operator": "Equals", "Value": "Failed"}
    team = {"Name": "Tags.team", "Operator": "Equals", "Value": "x"}
    assert [] == found(failed, team)
    body: Any = {"SearchExpression": {"Filters": [failed, team], "Operator": "Or"}}
    assert 2 == len(search(ROWS, body, PROPERTIES)[0])


def nested(depth: int) -> Any:
    expression: dict[str, Any] = {"Filters": [{"Name": "Tags.team", "Operator": "Equals", "Value": "x"}]}
    for _ in range(depth):
        expression = {"SubExpressions": [expression]}
    return {"SearchExpression": expression}


def test_an_expression_is_followed_as_deep_as_a_user_writes_one_and_no_deeper() -> None:
    assert ["b-one"] == [row.name for row in search(ROWS, nested(20), PROPERTIES)[0]]
    with pytest.raises(AwsError, match="SubExpressions"):
        search(ROWS, nested(21), PROPERTIES)
