"""Relations between values: a wrong unit, an end before its start, an echo of another request are found; a second look is not."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import wired

from sm_trn import emulator as embedded
from sm_trn.account.conformance.answers import Answers
from sm_trn.account.conformance.differences import Kind, differences
from sm_trn.account.conformance.probes import PROBES
from sm_trn.account.conformance.relations import relations
from sm_trn.account.conformance.run import OPTIONS, ask_account
from sm_trn.core.specs.json import Json
from sm_trn.emulator import Endpoint

NOW = 1_800_000_000.0
JOB: dict[str, Json] = {
    "CreationTime": NOW - 90, "TrainingStartTime": NOW - 60, "TrainingEndTime": NOW - 10, "LastModifiedTime": NOW,
    "TrainingTimeInSeconds": 50, "BillableTimeInSeconds": 50, "StoppingCondition": {"MaxRuntimeInSeconds": 60},
    "SecondaryStatusTransitions": [{"StartTime": NOW - 60, "EndTime": NOW - 20}, {"StartTime": NOW - 20}],
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "broken"),
    [
        ({}, set()),
        ({"BillableTimeInSeconds": 50_000}, {"billed no more than trained"}),
        (
            {"TrainingTimeInSeconds": 50_000, "BillableTimeInSeconds": 50_000},
            {"trained no more than from start to end"},
        ),
        ({"StoppingCondition": {"MaxRuntimeInSeconds": 86_400}}, {"StoppingCondition as asked"}),
        ({"LastModifiedTime": NOW - 70}, {"moments in order"}),
        ({"SecondaryStatusTransitions": [{"StartTime": NOW - 20}, {"StartTime": NOW - 60}]}, {"phases in order"}),
        ({"CreationTime": NOW - 90_000 * 24}, {"moments in seconds"}),
    ],
)
def test_a_relation_of_a_job_holds_or_not(change: dict[str, Json], broken: set[str]) -> None:
    asked: dict[str, Json] = {"StoppingCondition": {"MaxRuntimeInSeconds": 60}}
    found = relations({}, {**JOB, **change}, asked, NOW)
    assert broken == {name for name, holds in found.items() if not holds}


def test_what_an_answer_does_not_show_is_no_relation() -> None:
    assert {} == relations({"nextToken": "f/1"}, {"events": [1], "nextForwardToken": "f/2"}, {}, NOW)


# --- planted on the wire, as somebody did who wanted to know what is missed ---


def _billed(times: float) -> Callable[[dict[str, Any]], None]:
    def change(body: dict[str, Any]) -> None:
        for name in {"BillableTimeInSeconds"} & set(body):
            body[name] = int(times * max(1, body["TrainingTimeInSeconds"]) + 2)

    return change


def _runtime(body: dict[str, Any]) -> None:
    body["StoppingCondition"]["MaxRuntimeInSeconds"] = 86_400


def _ends_before_it_starts(body: dict[str, Any]) -> None:
    if "TrainingEndTime" in body:
        body["TrainingEndTime"] = body["TrainingStartTime"] - 1


def _in_seconds(body: dict[str, Any]) -> None:
    for event in body["events"]:
        event["timestamp"] //= 1000


class Forgetful:
    """A token that is another one each time."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, body: dict[str, Any]) -> None:
        self.count += 1
        body["nextForwardToken"] = f"{body['nextForwardToken'][:-1]}{self.count % 10}" if self.count < 50 else "x"


PLANTED: dict[str, tuple[str, Callable[[dict[str, Any]], None], str]] = {
    "a job that completes": ("DescribeTrainingJob", _billed(1000), "billed no more than trained"),
    "a spot job": ("DescribeTrainingJob", _billed(5), "billed no more than trained"),
    "a script that raises": ("DescribeTrainingJob", _runtime, "StoppingCondition as asked"),
    "a job that fails with a reason": ("DescribeTrainingJob", _ends_before_it_starts, "moments in order"),
    "lines of a failed job": ("GetLogEvents", _in_seconds, "moments in milliseconds"),
    "lines in order": ("GetLogEvents", Forgetful(), "nextForwardToken at the end as sent"),
}
NO_QUOTES = "an object"


class Planter:
    def __init__(self, session: Any, planted: Mapping[str, tuple[str, Callable[[dict[str, Any]], None], str]]) -> None:
        self._probe, self._planted = "", planted
        session.events.register("before-parse", self._change)

    def tell(self, line: str) -> None:
        self._probe = line.partition("  ")[2]

    def _change(self, operation_model: Any, response_dict: dict[str, Any], **_event: Any) -> None:
        headers = response_dict["headers"]
        if self._planted and self._probe == NO_QUOTES and "ETag" in headers:
            headers["ETag"] = headers["ETag"].strip('"')
        operation, change, _ = self._planted.get(self._probe, ("", lambda _: None, ""))
        if operation_model.name == operation:
            body = json.loads(response_dict["body"])
            change(body)
            response_dict["body"] = json.dumps(body).encode()


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    state = tmp_path_factory.mktemp("account")
    try:
        yield embedded.up(state, options=OPTIONS)
    finally:
        embedded.down(state)


def asked(account: Endpoint, state: Path, *, planted: bool) -> Answers:
    session = wired.session_of(account)
    planter = Planter(session, PLANTED if planted else {})
    probes = [probe for probe in PROBES if probe.name in {*PLANTED, NO_QUOTES}]
    target = wired.target_of(account, session)
    answers, _ = ask_account(target, probes, clock=wired.MovedClock(), state=state, tell=planter.tell)
    return answers


@pytest.mark.local
def test_what_placeholders_hide_is_found_and_nothing_else_is(account: Endpoint, tmp_path: Path) -> None:
    base, again, other = (asked(account, tmp_path, planted=planted) for planted in (False, False, True))
    assert () == differences(base, again).found
    found = differences(base, other).found
    wanted = {(probe, name) for probe, (_, _, name) in PLANTED.items()} | {(NO_QUOTES, "ETag in quotes")}
    assert wanted <= {(each.probe, each.field) for each in found if each.kind is Kind.RELATION}
    assert all(each.kind is Kind.RELATION for each in found)
