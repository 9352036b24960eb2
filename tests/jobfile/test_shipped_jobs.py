"""The job files under ``notebooks/jobs``: they load, nothing is wrong with them, and each request is one that a person has read."""

from __future__ import annotations

import json
from pathlib import Path

import botocore.session
import botocore.validate
import pytest

from sm_trn.core.jobfile import load_jobs
from sm_trn.core.render import render
from sm_trn.core.specs import Destination, JobSpec, Severity
from sm_trn.rules import check

FOLDER = Path(__file__).parents[2] / "notebooks" / "jobs"
GOLDEN = Path(__file__).parent / "golden"
FORMATS = {".toml": "toml", ".json": "json", ".yaml": "yaml"}
AT = Destination(
    role="arn:aws:iam::123456789012:role/SageMakerExecutionRole",
    region="us-east-1",
    bucket="a-bucket",
    source_uri="s3://a-bucket/source.tar.gz",
)
if not FOLDER.is_dir():
    pytest.skip("the shipped job files are part of a checkout, not of the wheel", allow_module_level=True)
JOBS: dict[str, JobSpec] = {
    job.name: job
    for path in sorted(FOLDER.iterdir())
    for job in load_jobs(path.read_text("utf-8"), FORMATS[path.suffix])
}
# what is known and meant; every other warning or error fails
MEANT = {"squad-smddp-p3": {"DIST005"}, "mnli-smp": {"SCRIPT009"}, "llama2-7b-tp8": {"MEM002"}}


def test_every_golden_request_is_of_a_shipped_job() -> None:
    assert {path.stem for path in GOLDEN.glob("*.json")} == set(JOBS)


@pytest.mark.parametrize("name", JOBS)
def test_the_request_equals_the_golden_file(name: str) -> None:
    assert json.loads((GOLDEN / f"{name}.json").read_text("utf-8")) == render(JOBS[name], at=AT)


@pytest.mark.parametrize("name", JOBS)
def test_the_request_is_valid_under_botocores_model(name: str) -> None:
    shape = (
        botocore.session.get_session().get_service_model("sagemaker").operation_model("CreateTrainingJob").input_shape
    )
    report = botocore.validate.ParamValidator().validate(render(JOBS[name], at=AT), shape)
    assert not report.has_errors(), report.generate_report()


@pytest.mark.parametrize("name", JOBS)
def test_nothing_is_wrong_with_a_shipped_job_but_what_is_meant(name: str) -> None:
    found = {problem.id for problem in check(JOBS[name]) if problem.severity is not Severity.INFO}
    assert MEANT.get(name, set()) == found
