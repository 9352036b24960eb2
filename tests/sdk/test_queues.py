"""What we submit to a training queue is what SDK v2's ``TrainingQueue`` submits, captured live; so are the jobs that it is told of.

300 examples are compared on demand (SM_TRN_EXAMPLES=300 and more), 10 otherwise.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator
from typing import Any

import boto3
import jobs
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as some
from strategies_of_values import REGIONS, sensible
from test_every_request import Wire, at, kept_fields, sold
from test_same_request import Answered, differences

import sm_trn as st
from sm_trn.core.render import problems
from sm_trn.core.render.service_job import service_job
from sm_trn.core.specs import JobSpec, Severity

pytest.importorskip("sagemaker.pytorch", reason="needs SageMaker SDK v2: pip install 'sm_trn[sdk]'")
pytest.importorskip("nest_asyncio", reason="the aws_batch module of SageMaker SDK v2 imports it")

with warnings.catch_warnings():  # sagemaker_core, compiled for the first time, has escapes that Python warns of
    warnings.simplefilter("ignore")
    from sagemaker.aws_batch.training_queue import TrainingQueue

from sm_trn.core import sdk

pytestmark = pytest.mark.sdk
EXAMPLES = int(os.environ.get("SM_TRN_EXAMPLES", "10"))
QUEUES = some.builds(
    st.Queue,
    some.sampled_from(["training", "arn:aws:batch:us-west-2:111122223333:job-queue/training"]),
    priority=some.sampled_from([None, 0, 1, 9999]),
    share=some.sampled_from([None, "research"]),
    retry=some.sampled_from(
        [
            None,
            st.specs.Retry(attempts=3),
            st.specs.Retry(
                attempts=10,
                rules=(
                    st.specs.RetryRule(action="RETRY", reason="Received status from SageMaker:InternalServerError*"),
                    st.specs.RetryRule(action="EXIT", reason="*"),
                ),
            ),
        ]
    ),
    timeout_s=some.sampled_from([60, 86_400]),
    tags=some.sampled_from([{}, {"team": "a", "project": "of the queue"}]),
)
Submitted = dict[str, Any]


@pytest.fixture
def submitted() -> Iterator[list[Submitted]]:
    """The SubmitServiceJob requests of boto3's default session, which the SDK's module uses; they end in this process."""
    sent: list[Submitted] = []
    session = boto3.Session(aws_access_key_id="x", aws_secret_access_key="x", region_name=jobs.REGION)

    def answer(params: Any, **_: Any) -> tuple[Answered, dict[str, Any]]:
        said = json.loads(params["body"])
        sent.append(said)
        return Answered(), {"jobArn": "arn:x", "jobId": "x", "jobName": said["jobName"]}

    session.events.register("before-call.batch.SubmitServiceJob", answer)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(boto3, "DEFAULT_SESSION", session)
        patch.setenv("AWS_DEFAULT_REGION", jobs.REGION)
        yield sent


@pytest.fixture(scope="module", autouse=True)
def quick() -> Iterator[None]:
    """The SDK validates its own defaults file many times a job; here it is valid and the same each time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sagemaker.config.config.validate_sagemaker_config", lambda *_: None)
        patch.setattr("sagemaker.utils.validate_sagemaker_config", lambda *_: None, raising=False)
        yield


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("source")
    (folder / "run_clm.py").write_text("print('checkpoint')\n")
    return str(folder)


def theirs(wire: Wire, submitted: list[Submitted], job: JobSpec, region: str, queue: st.Queue) -> Submitted:
    """What the SDK submits for the job's own estimator."""
    call = st.render(job, "estimator-v2", at=at(region))
    fit = sdk.built(dict(call.fit))
    retry = queue.retry
    rules = (
        [{"action": each.action, "onStatusReason": each.reason} for each in retry.rules] if retry is not None else []
    )
    with sdk.contained():
        TrainingQueue(queue.name).submit(
            sdk.build(call, sagemaker_session=wire.session(region)),
            fit.get("inputs"),
            job_name=fit.get("job_name"),
            retry_config=None
            if retry is None
            else {"attempts": retry.attempts, **({"evaluateOnExit": rules} if rules else {})},
            priority=queue.priority,
            share_identifier=queue.share,
            timeout={"attemptDurationSeconds": queue.timeout_s},
            tags=dict(queue.tags) or None,
            experiment_config=fit.get("experiment_config"),
        )
    return submitted[-1]


@pytest.mark.timeout(300 + EXAMPLES)
def test_a_job_is_queued_as_the_sdk_queues_it(submitted: list[Submitted], source: str) -> None:
    wire, compared = Wire(), [0]

    @settings(max_examples=EXAMPLES * 2, derandomize=EXAMPLES <= 500, phases=(Phase.generate,))
    @given(job=sensible(source), region=REGIONS, queue=QUEUES)
    def compare(job: JobSpec, region: str, queue: st.Queue) -> None:
        faults = [*st.check(job), *problems(job, "estimator-v2")]
        if any(each.severity is Severity.ERROR for each in faults) or not sold(job, region):
            return
        asked = st.render(job, "request", at=at(region))
        ours = service_job(asked, queue)
        said = theirs(wire, submitted, job, region, queue)
        said.pop("clientToken")  # botocore's own, random: the SDK's submissions are not idempotent
        our_payload, their_payload = (json.loads(str(each.pop("serviceRequestPayload"))) for each in (ours, said))
        assert set() == {name.partition(".")[0] for name in differences(our_payload, their_payload)} - kept_fields(
            job
        ), differences(our_payload, their_payload)
        assert "jobName" in ours
        assert {**ours, "jobName": said["jobName"]} == said
        compared[0] += 1

    compare()
    print(f"\n{compared[0]} queued jobs compared")
    assert compared[0] >= EXAMPLES / 3
