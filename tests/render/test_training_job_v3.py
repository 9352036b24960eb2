"""The target ``training-job-v3``: its tables are the API's model, nothing of a request is lost, and its text is a program."""

from __future__ import annotations

import ast
import functools
from pathlib import Path
from typing import Any

import botocore.session
import hypothesis
import jobs
import pytest
from strategies_of_values import sensible

import sm_trn as st
from sm_trn.core.render import EstimatorCall, problems, training_job_v3

AT = st.specs.Destination(
    role=jobs.ROLE, region=jobs.REGION, bucket=jobs.BUCKET, job_name="a-job", source_uri="s3://a/s.tar.gz"
)


def members(shape: Any, seen: set[str]) -> dict[str, Any]:
    """Every member below ``shape``, by its name."""
    found: dict[str, Any] = {}
    for name, member in shape.members.items():
        item = member
        while item.type_name == "list":
            item = item.member
        assert found.get(name, item).name == item.name, f"two classes are called {name}"
        found[name] = item
        if item.type_name == "structure" and item.name not in seen:
            seen.add(item.name)
            found |= members(item, seen)
    return found


@functools.cache
def model() -> dict[str, Any]:
    service = botocore.session.get_session().get_service_model("sagemaker")
    return members(service.operation_model("CreateTrainingJob").input_shape, set())


@functools.cache
def spelt() -> dict[str, str]:
    return {training_job_v3.snake(name): name for name in model()}


def request_of(call: object) -> Any:
    """The request that a call says, in the API's spelling."""
    if isinstance(call, EstimatorCall):
        return {spelt()[key]: request_of(value) for key, value in call.kwargs.items()}
    return [request_of(item) for item in call] if isinstance(call, list) else call


@hypothesis.given(job=sensible(str(Path(__file__).parents[1])))
def test_nothing_of_a_request_is_lost(job: st.JobSpec) -> None:
    try:
        sent = st.render(job, "request", at=AT)
    except st.errors.UnknownName:
        hypothesis.reject()  # no image: there is no request
    hypothesis.assume(all(each.severity is not st.Severity.ERROR for each in problems(job, "training-job-v3")))
    assert request_of(st.render(job, "training-job-v3", at=AT)) == sent


@pytest.mark.parametrize("letter", sorted(jobs.CONFIGURATIONS))
def test_its_text_is_a_program_that_imports_what_it_names(letter: str) -> None:
    text = str(st.render(jobs.CONFIGURATIONS[letter]("/nowhere"), "training-job-v3"))
    tree = ast.parse(text)
    imported = {name.name for node in tree.body if isinstance(node, ast.ImportFrom) for name in node.names}
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert imported == called | {"TrainingJob"}
    (made,) = [node for node in tree.body if isinstance(node, ast.Assign)]
    assert ast.unparse(made).startswith("training_job = TrainingJob.create(")
    assert isinstance(tree.body[-1], ast.Assign)


def test_what_it_does_not_bring_along_is_said() -> None:
    (problem,) = [each for each in problems(jobs.smddp("/nowhere"), "training-job-v3") if each.id == "TARGET020"]
    assert "sourcedir.tar.gz" in problem.wanted
    there = jobs.smddp("s3://a-bucket/sourcedir.tar.gz")
    assert list(problems(there, "training-job-v3")) == []


def test_what_the_sdk_would_lose_is_said() -> None:
    job = jobs.smddp("s3://a-bucket/sourcedir.tar.gz").replace(tags={"a": ""})
    (problem,) = problems(job, "training-job-v3")
    assert (problem.id, problem.severity, problem.got) == ("TARGET021", st.Severity.ERROR, "''")
    with pytest.raises(st.errors.InvalidJob, match="TARGET021"):
        st.render(job, "training-job-v3")
