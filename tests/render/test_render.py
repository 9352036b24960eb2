"""Rendered requests: golden files read by a person, valid under botocore's own model, and total over sound specs."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import botocore.session
import botocore.validate
import jobs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from strategies_of_values import specs

import sm_trn as st
from sm_trn.core.errors import InvalidJob, UnknownName
from sm_trn.core.render import TARGETS, EstimatorCall, LocalRun, problems, render, request
from sm_trn.core.specs import Destination, JobSpec, Severity
from sm_trn.rules import check

GOLDEN = Path(__file__).parent / "golden"
AT = Destination(
    role=jobs.ROLE, region=jobs.REGION, bucket=jobs.BUCKET, job_name="a-job", source_uri="s3://a-bucket/source.tar.gz"
)
MODEL = botocore.session.get_session().get_service_model("sagemaker")
CREATE = MODEL.operation_model("CreateTrainingJob").input_shape


def plain(rendered: Any) -> Any:
    if isinstance(rendered, EstimatorCall):
        steps = {"chain": plain(rendered.chain)} if rendered.chain else {}
        done = {rendered.method: plain(rendered.fit)} if rendered.method else {}
        return {"cls": rendered.cls, "kwargs": plain(rendered.kwargs), **steps, **done}
    if isinstance(rendered, LocalRun):
        hosts = [{"argv": host.argv, "environment": host.environment, "folder": host.folder} for host in rendered.hosts]
        return plain({"prepare": rendered.prepare, "hosts": hosts})
    if isinstance(rendered, Mapping):
        return {key: plain(value) for key, value in rendered.items()}
    if isinstance(rendered, (list, tuple)):
        return [plain(item) for item in rendered]
    return rendered


def attempt(job: JobSpec, target: str) -> Any:
    """What is rendered; a list of problems where the target cannot say it."""
    try:
        return plain(render(job, target, at=AT))
    except InvalidJob as refusal:
        return [str(problem) for problem in refusal.problems]


@pytest.mark.parametrize(
    "target", sorted({*TARGETS} - {"training-job-v3"})
)  # that one is the request's, member by member
@pytest.mark.parametrize("letter", "abcd")
def test_rendering_equals_the_golden_file(letter: str, target: str) -> None:
    golden = GOLDEN / f"{letter}.{target}.json"
    assert json.loads(golden.read_text()) == attempt(jobs.CONFIGURATIONS[letter]("s3://a-bucket/src"), target)


@pytest.mark.parametrize("letter", "abcd")
def test_request_is_valid_under_botocores_model(letter: str) -> None:
    sent = render(jobs.CONFIGURATIONS[letter]("./src"), at=AT)
    assert not botocore.validate.ParamValidator().validate(sent, CREATE).has_errors()


@settings(
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much],
)
@given(data=some.data())
def test_a_spec_without_errors_renders_everywhere_but_where_a_target_has_a_problem_with_it(
    data: Any, tmp_path: Path
) -> None:
    (tmp_path / "run_clm.py").write_text("print('checkpoint')\n")
    job = data.draw(specs(str(tmp_path)))
    if any(problem.severity is Severity.ERROR for problem in check(job)):
        return
    for target in TARGETS:
        if not any(problem.severity is Severity.ERROR for problem in problems(job, target)):
            str(render(job, target, at=AT))
    report = botocore.validate.ParamValidator().validate(render(job, at=AT), CREATE)
    assert not report.has_errors(), report.generate_report()


@given(job=specs("."))
@settings(max_examples=100)
def test_hyperparameters_come_back_from_their_json(job: JobSpec) -> None:
    sent = request.encode(job.hyperparameters)
    assert dict(job.hyperparameters) == {key: json.loads(value) for key, value in sent.items()}


def test_a_preview_needs_no_account() -> None:
    sent = st.render(jobs.trainium("./src"))
    assert "arn:aws:iam::111122223333:role/service-role/YOUR-ROLE" == sent["RoleArn"]
    assert "gpt2-trn1" == sent["TrainingJobName"]


def test_an_unknown_target_is_refused_with_a_suggestion() -> None:
    with pytest.raises(UnknownName, match=r"wanted one of request, estimator-v2, .*\(did you mean 'request'\?\)"):
        st.render(jobs.trainium("./src"), "reqest")


def test_no_image_is_ever_guessed() -> None:
    with pytest.raises(UnknownName, match=r"no 'neuronx' image for pytorch '1\.11'"):
        st.render(jobs.trainium("./src").replace(framework=st.NeuronX("1.11")))


def test_an_estimator_call_prints_as_python() -> None:
    ast.parse(str(st.render(jobs.compiled("./src"), "estimator-v2")))


def test_checkpoints_and_limits_of_spot_are_in_the_request() -> None:
    sent = render(jobs.spot("./src"), at=AT)
    assert {"S3Uri": "s3://a-bucket/checkpoints/gpt2"} == sent["CheckpointConfig"]
    assert {"MaxRuntimeInSeconds": 86_400, "MaxWaitTimeInSeconds": 90_000} == sent["StoppingCondition"]
    assert sent["EnableManagedSpotTraining"] is True
