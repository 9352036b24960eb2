"""A whole run against an account, which is an emulator here: it agrees with every record, needs what its policy says, leaves nothing."""

from __future__ import annotations

import dataclasses
import fnmatch
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import wired
from wired import MovedClock, Used

from sm_trn import emulator as embedded
from sm_trn.account.conformance.answers import Answers, dump_answers, load_answers, read_answers
from sm_trn.account.conformance.cleanup import Removed
from sm_trn.account.conformance.differences import Kind, differences
from sm_trn.account.conformance.journal import folder
from sm_trn.account.conformance.probes import PROBES
from sm_trn.account.conformance.run import OPTIONS, ask_account
from sm_trn.account.policies.conformance import PREFIX, conformance_policy
from sm_trn.emulator import Endpoint

pytestmark = pytest.mark.local
RECORDS = sorted(wired.RECORDS.glob("*.json"))
SLOW = {"a job out of time"}  # the second run leaves it out: it ends when its time is over
PLANTED = 60


@dataclass(frozen=True, slots=True)
class Asked:
    answers: Answers
    removed: Removed
    used: Used


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    state = tmp_path_factory.mktemp("account")
    try:
        yield embedded.up(state, options=OPTIONS)
    finally:
        embedded.down(state)


@pytest.fixture(scope="module")
def asked(account: Endpoint) -> Asked:
    """One run of every probe, for all the tests of this file: a job takes seconds, and there are eight."""
    session = wired.session_of(account)
    target = wired.target_of(account, session)
    used = Used(target)
    session.events.register("provide-client-params", used.note)
    answers, removed = ask_account(target, PROBES, clock=MovedClock(), state=account.state)
    return Asked(answers, removed, used)


@pytest.mark.parametrize("record", RECORDS, ids=lambda path: path.stem)
def test_the_emulator_agrees_with_the_record(asked: Asked, record: Path) -> None:
    found = differences(read_answers(record), asked.answers)
    assert len(asked.answers.probes) == found.compared
    assert "None differs." in str(found)
    assert () == found.found


@pytest.mark.parametrize("record", RECORDS, ids=lambda path: path.stem)
def test_a_record_says_who_was_asked_and_when(record: Path) -> None:
    answers = read_answers(record)
    assert answers.source in {"aws", "emulator"}
    assert {"sm_trn", "boto3", "botocore"} <= set(answers.versions)
    assert 3 == len(answers.date.split("-"))


def test_every_probe_is_answered(asked: Asked) -> None:
    assert {probe.name: "" for probe in PROBES} == {each.probe: each.unanswered for each in asked.answers.probes}


def test_each_step_of_a_probe_has_a_name_of_its_own(asked: Asked) -> None:
    for each in asked.answers.probes:
        names = [step.name for step in each.steps if not step.optional]
        assert len(names) == len(set(names)), each.probe


def test_what_must_be_refused_is_refused(asked: Asked) -> None:
    refused = [each for each in asked.answers.probes if each.battery == "validation"]
    assert [] == [each.probe for each in refused if not each.steps[0].code]


def test_a_record_read_again_is_the_same_record(asked: Asked) -> None:
    assert asked.answers == load_answers(dump_answers(asked.answers))


def test_nothing_is_left_of_a_run(asked: Asked, account: Endpoint) -> None:
    target = wired.target_of(account)
    assert 8 == len(asked.removed.names)
    assert [] == target.client("sagemaker").list_training_jobs(NameContains=PREFIX)["TrainingJobSummaries"]
    assert 0 == target.client("s3").list_objects_v2(Bucket=account.bucket, Prefix=PREFIX)["KeyCount"]
    assert [] == list(folder(account.state).iterdir())


def test_the_policy_allows_what_a_run_sends_and_nothing_else(asked: Asked) -> None:
    policy = conformance_policy("conformance", asked.used.place())
    assert [] == asked.used.beyond(policy)
    needed = {
        (action, pattern)
        for action, pattern in wired.grants(policy)
        if any(action == used and fnmatch.fnmatchcase(resource, pattern) for used, resource in asked.used.found)
    }
    assert {action for action, _ in wired.grants(policy)} == {action for action, _ in needed}
    assert {pattern for _, pattern in wired.grants(policy)} == {pattern for _, pattern in needed}


def test_the_actions_of_the_probes_are_those_of_the_policy() -> None:
    wanted = {action for probe in PROBES for action in probe.actions}
    statements = conformance_policy("conformance")["Statement"]
    assert wanted == {action for statement in statements for action in statement["Action"]}


def test_sixty_planted_differences_are_found_and_nothing_else(asked: Asked, account: Endpoint) -> None:
    probes = [probe for probe in PROBES if probe.name not in SLOW]
    clean = dataclasses.replace(
        asked.answers, probes=tuple(each for each in asked.answers.probes if each.probe not in SLOW)
    )
    planted = wired.plants(clean, int(os.environ.get("SM_TRN_PLANTED_SEED", "0")), PLANTED)
    assert PLANTED == len(planted)
    assert 6 <= len({plant.kind for plant in planted})
    session, clock = wired.session_of(account), MovedClock()
    target = wired.target_of(account, session)
    planter = wired.Planter(session, planted, clock)
    answers, _ = ask_account(target, probes, clock=clock, state=account.state, tell=planter.tell)
    told = differences(clean, answers).found  # a planted order is no order of moments either
    found = {(each.probe, each.kind, each.field) for each in told if each.kind is not Kind.RELATION}
    assert {plant.expected for plant in planted} == found
    assert {each.probe for each in told} == {plant.probe for plant in planted}
