"""Faults on demand: each kind is met by what it names, as often as was asked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectionClosedError
from emulator.bench import Bench

from sm_trn import emulator as embedded
from sm_trn.core.errors import EmulatorError
from sm_trn.emulator import Endpoint, Fault

pytestmark = pytest.mark.local


@pytest.fixture
def state(emulator: Endpoint) -> Iterator[Path]:
    embedded.clear_faults(emulator.state)
    yield emulator.state
    embedded.clear_faults(emulator.state)


def codes(bench: Bench, number: int) -> list[str]:
    found = []
    for _ in range(number):
        try:
            bench.sagemaker.list_training_jobs()
            found.append("")
        except ClientError as error:  # noqa: PERF203 - a short loop
            found.append(error.response["Error"]["Code"])
    return found


def test_a_fault_is_met_as_often_as_was_asked_and_by_its_operation_only(bench: Bench, state: Path) -> None:
    embedded.add_fault(Fault(kind="throttling", operation="ListTrainingJobs", times=2), state)
    bench.sagemaker.list_endpoints()
    assert ["ThrottlingException", "ThrottlingException", ""] == codes(bench, 3)


def test_an_internal_error_is_a_500(bench: Bench, state: Path) -> None:
    embedded.add_fault(Fault(kind="internal"), state)
    with pytest.raises(ClientError, match="InternalFailure") as caught:
        bench.sagemaker.list_endpoints()
    assert 500 == caught.value.response["ResponseMetadata"]["HTTPStatusCode"]


def test_a_quota_refuses_what_creates_and_nothing_is_created(bench: Bench, state: Path) -> None:
    request = bench.request("print('never')")
    embedded.add_fault(Fault(kind="quota"), state)
    bench.sagemaker.list_training_jobs()
    with pytest.raises(ClientError, match="ResourceLimitExceeded"):
        bench.sagemaker.create_training_job(**request)
    with pytest.raises(ClientError, match="not found"):
        bench.describe(request["TrainingJobName"])


def test_missing_capacity_fails_the_job_before_it_is_billed(bench: Bench, state: Path) -> None:
    embedded.add_fault(Fault(kind="capacity"), state)
    answer = bench.finished(bench.submit("print('never')"))
    assert "Failed" == answer["TrainingJobStatus"]
    assert answer["FailureReason"].startswith("CapacityError")
    assert "BillableTimeInSeconds" not in answer


def test_a_lost_answer_was_done_all_the_same(bench: Bench, state: Path) -> None:
    request = bench.request("print('done')")
    embedded.add_fault(Fault(kind="lost-answer", operation="CreateTrainingJob"), state)
    with pytest.raises(ConnectionClosedError):
        bench.sagemaker.create_training_job(**request)
    assert "Completed" == bench.finished(request["TrainingJobName"])["TrainingJobStatus"]


@pytest.mark.parametrize(
    "wrong",
    [{"kind": "meteor"}, {"kind": "internal", "times": 0}],
)  # fmt: skip
def test_a_fault_that_makes_no_sense_is_refused(wrong: dict[str, Any], bench: Bench) -> None:
    with pytest.raises(ValueError, match="got"):
        Fault(**wrong)
    with pytest.raises(EmulatorError, match="got"):
        embedded.daemon.ask(bench.endpoint, "AddFault", wrong)
