"""Over the whole space of specs: a job that passes preflight is sent by SDK v2 exactly as we render it.

150 examples by default, 500 in .ci/run; SM_TRN_EXAMPLES=5000 for a long look. Run with -s to see how many were compared.
"""

from __future__ import annotations

import collections
import functools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import jobs
import pytest
from hypothesis import example, given, settings
from strategies_of_values import REGIONS, SMP, sensible
from test_same_request import ANSWERS, Answered, differences

import sm_trn as st
from sm_trn.core.catalog import images
from sm_trn.core.errors import UnknownName
from sm_trn.core.render import EstimatorCall, problems
from sm_trn.core.specs import Container, Destination, JobSpec, Severity

pytest.importorskip("sagemaker.pytorch", reason="needs SageMaker SDK v2: pip install 'sm_trn[sdk]'")
from sagemaker.fw_utils import validate_mp_config

from sm_trn.core import sdk
from sm_trn.emulator.api import shapes

pytestmark = pytest.mark.sdk
EXAMPLES = int(os.environ.get("SM_TRN_EXAMPLES", "150"))


@pytest.fixture(scope="module", autouse=True)
def quick() -> Iterator[None]:
    """The SDK validates its own defaults file 18 times per job, a second in all; here it is valid and the same each time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sagemaker.config.config.validate_sagemaker_config", lambda *_: None)
        patch.setattr("sagemaker.utils.validate_sagemaker_config", lambda *_: None, raising=False)
        yield


def at(region: str) -> Destination:
    return Destination(
        role=jobs.ROLE, region=region, bucket=jobs.BUCKET, job_name="a-job", source_uri="s3://a-bucket/source.tar.gz"
    )


class Wire:
    """SDK sessions of every region whose calls end in this process, and the last request for ``asked`` that passed."""

    asked = "CreateTrainingJob"

    def __init__(self) -> None:
        self.sent: dict[str, Any] = {}
        self.session = functools.cache(self._session)

    def _session(self, region: str) -> Any:
        session = boto3.Session(aws_access_key_id="x", aws_secret_access_key="x", region_name=region)
        session.events.register(f"provide-client-params.sagemaker.{self.asked}", self._keep)
        session.events.register("before-call", self._answer)
        return sdk.sdk_session(boto_session=session, bucket=jobs.BUCKET)

    def _keep(self, params: dict[str, Any], **_: Any) -> None:
        self.sent = dict(params)

    def _answer(self, model: Any, **_: Any) -> tuple[Answered, dict[str, Any]]:
        return Answered(), {**ANSWERS.get(model.name, {}), "ResponseMetadata": {"HTTPStatusCode": 200}}

    def fit(self, call: EstimatorCall, region: str) -> dict[str, Any]:
        """What the SDK sends for a rendered estimator."""
        self.sent = {}
        with sdk.contained():
            sdk.build(call, sagemaker_session=self.session(region)).fit(**sdk.built(dict(call.fit)))
        return self.sent


@pytest.fixture(scope="module")
def wire() -> Wire:
    return Wire()


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("source")
    (folder / "run_clm.py").write_text("print('checkpoint')\n")
    return str(folder)


def kept_fields(job: JobSpec) -> set[str]:
    """The fields of the request that kept parts are about: the SDK says them its own way (TARGET101)."""
    return {part.steps[0] for part in job.kept}


def sold(job: JobSpec, region: str) -> bool:
    """Whether the region has the job's image."""
    own = bool(job.image_uri) or isinstance(job.framework, Container)
    row = None if own else images.choose(job)
    return row is None or region in images.registries(row)


@pytest.mark.timeout(300 + EXAMPLES)  # a second and more for each example of a long look
def test_a_job_that_passes_preflight_is_sent_as_rendered(wire: Wire, source: str) -> None:
    compared: collections.Counter[str] = collections.Counter()
    refused: collections.Counter[str] = collections.Counter()

    @settings(max_examples=EXAMPLES, derandomize=EXAMPLES <= 500)
    @given(job=sensible(source), region=REGIONS)
    def compare(job: JobSpec, region: str) -> None:
        found = [*st.check(job), *problems(job, "estimator-v2")]
        errors = {problem.id for problem in found if problem.severity is Severity.ERROR}
        if errors:
            refused.update(errors)
            return
        if not sold(job, region):
            refused["region"] += 1
            for target in ("request", "estimator-v2"):
                with pytest.raises(UnknownName, match="region: "):
                    st.render(job, target, at=at(region))
            return
        ours = st.render(job, "request", at=at(region))
        theirs = wire.fit(st.render(job, "estimator-v2", at=at(region)), region)
        different = {name.partition(".")[0] for name in differences(ours, theirs)}
        assert set() == different - kept_fields(job), differences(ours, theirs)
        shapes.check(
            "CreateTrainingJob", ours
        )  # maxima, patterns and enums of the service model, as the emulator checks them
        compared[job.distribution.name if job.distribution else "none"] += 1
        compared[images.processor(images.machine(job))] += 1

    compare()
    print(f"\n{dict(compared)} compared; refused by {dict(refused)}")
    assert len(compared) >= 7, compared  # of ten kinds; which ones are drawn is Hypothesis' own
    assert sum(compared[name] for name in ("cpu", "gpu", "neuron")) >= EXAMPLES / 4, compared


def test_what_preflight_refuses_names_a_rule_and_a_fix(source: str) -> None:
    @settings(max_examples=300)
    @given(job=sensible(str(Path(source))))
    def refuse(job: JobSpec) -> None:
        for problem in st.check(job):
            assert problem.id
            assert problem.what
            if problem.severity is Severity.ERROR:
                assert all((problem.got, problem.wanted, problem.fix)), problem

    refuse()


@settings(max_examples=400)
@given(wish=SMP)
@example(wish=st.SMModelParallel(default_partition=0))
def test_what_sdk_v2_refuses_of_model_parallelism_is_refused_before(wish: st.SMModelParallel) -> None:
    """fw_utils.py, validate_mp_config: whatever it raises for, an estimator is not rendered for."""
    job = jobs.smddp("s").replace(distribution=wish)
    found = [*st.check(job), *problems(job, "estimator-v2")]
    errors = {problem.id for problem in found if problem.severity is Severity.ERROR}
    try:
        validate_mp_config(dict(wish.parameters()))
    except (ValueError, KeyError):
        assert errors & {"DIST017", "TARGET103"}
