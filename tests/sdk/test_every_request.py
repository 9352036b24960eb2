"""Over the whole space of specs: a job that passes preflight is sent by SDK v2 exactly as we render it.

150 examples by default, 500 in .ci/run; SM_TRN_EXAMPLES=5000 for a long look. Run with -s to see how many were compared.
"""

from __future__ import annotations

import collections
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import jobs
import pytest
from hypothesis import HealthCheck, given, settings
from strategies_of_values import sensible
from test_same_request import ANSWERS, Answered, differences

import sm_trn as st
from sm_trn.specs import Destination, JobSpec, Severity

pytest.importorskip("sagemaker.pytorch", reason="needs SageMaker SDK v2: pip install 'sm_trn[sdk]'")
from sm_trn import sdk
from sm_trn.emulator import validate

pytestmark = pytest.mark.sdk
EXAMPLES = int(os.environ.get("SM_TRN_EXAMPLES", "150"))
AT = Destination(
    role=jobs.ROLE, region=jobs.REGION, bucket=jobs.BUCKET, job_name="a-job", source_uri="s3://a-bucket/source.tar.gz"
)


@pytest.fixture(scope="module", autouse=True)
def quick() -> Iterator[None]:
    """The SDK validates its own defaults file 18 times per job, a second in all; here it is valid and the same each time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sagemaker.config.config.validate_sagemaker_config", lambda *_: None)
        patch.setattr("sagemaker.utils.validate_sagemaker_config", lambda *_: None, raising=False)
        yield


@pytest.fixture(scope="module")
def wire() -> tuple[Any, dict[str, Any]]:
    sent: dict[str, Any] = {}
    session = boto3.Session(aws_access_key_id="x", aws_secret_access_key="x", region_name=jobs.REGION)
    session.events.register(
        "provide-client-params.sagemaker.CreateTrainingJob", lambda params, **_: sent.update(params)
    )
    session.events.register(
        "before-call",
        lambda model, **_: (Answered(), {**ANSWERS.get(model.name, {}), "ResponseMetadata": {"HTTPStatusCode": 200}}),
    )
    return sdk.sdk_session(boto_session=session, bucket=jobs.BUCKET), sent


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("source")
    (folder / "run_clm.py").write_text("print('checkpoint')\n")
    return str(folder)


@pytest.mark.timeout(300 + EXAMPLES)  # a second and more for each example of a long look
def test_a_job_that_passes_preflight_is_sent_as_rendered(wire: Any, source: str) -> None:
    session, sent = wire
    compared: collections.Counter[str] = collections.Counter()
    refused: collections.Counter[str] = collections.Counter()

    @settings(
        max_examples=EXAMPLES, deadline=None, derandomize=EXAMPLES <= 500, suppress_health_check=list(HealthCheck)
    )
    @given(job=sensible(source))
    def compare(job: JobSpec) -> None:
        errors = {problem.id for problem in st.check(job) if problem.severity is Severity.ERROR}
        if errors:
            refused.update(errors)
            return
        call = st.render(job, "estimator-v2", at=AT)
        sent.clear()
        with sdk.contained():
            sdk.build(call, sagemaker_session=session).fit(**sdk.built(dict(call.fit)))
        ours = st.render(job, "request", at=AT)
        assert set() == differences(ours, sent)
        validate.check(
            "CreateTrainingJob", ours
        )  # maxima, patterns and enums of the service model, as the emulator checks them
        compared[job.distribution.name if job.distribution else "none"] += 1

    compare()
    print(f"\n{sum(compared.values())} requests compared, by strategy {dict(compared)}; refused by {dict(refused)}")
    assert len(compared) >= 6, compared
    assert sum(compared.values()) >= EXAMPLES / 4, compared


def test_what_preflight_refuses_names_a_rule_and_a_fix(source: str) -> None:
    @settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
    @given(job=sensible(str(Path(source))))
    def refuse(job: JobSpec) -> None:
        for problem in st.check(job):
            assert problem.id
            assert problem.what
            if problem.severity is Severity.ERROR:
                assert all((problem.got, problem.wanted, problem.fix)), problem

    refuse()
