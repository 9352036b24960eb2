"""The battery of models and endpoints: only if asked for, within its own policy, and gone after a run that was killed."""

from __future__ import annotations

import fnmatch
from pathlib import Path

import pytest
import wired
from command import sm_trn

from sm_trn.account.conformance.bench import Bench
from sm_trn.account.conformance.cleanup import sweep
from sm_trn.account.conformance.differences import differences
from sm_trn.account.conformance.jobs import Place
from sm_trn.account.conformance.journal import begin, folder
from sm_trn.account.conformance.probes import HOSTED, PROBES
from sm_trn.account.conformance.run import ask_account
from sm_trn.account.policies.conformance import PREFIX, conformance_policy
from sm_trn.emulator import Endpoint

pytestmark = pytest.mark.local


def nothing_left(account: Endpoint) -> bool:
    sagemaker = wired.target_of(account).client("sagemaker")
    found = (
        sagemaker.list_endpoints(NameContains=PREFIX)["Endpoints"],
        sagemaker.list_endpoint_configs(NameContains=PREFIX)["EndpointConfigs"],
        sagemaker.list_models(NameContains=PREFIX)["Models"],
    )
    return not any(found)


def test_a_run_stays_within_its_policy_and_agrees_with_itself(emulator: Endpoint, tmp_path: Path) -> None:
    """An endpoint starts a model's server, which takes seconds."""
    session = wired.session_of(emulator)
    target = wired.target_of(emulator, session)
    used = wired.Used(target)
    session.events.register("provide-client-params", used.note)
    answers, removed = ask_account(target, HOSTED, clock=wired.MovedClock(), state=tmp_path)
    assert [] == [each.probe for each in answers.probes if each.unanswered]
    assert () == differences(answers, answers).found
    assert 2 == len(removed.names)  # the endpoint was deleted by its probe
    assert nothing_left(emulator)
    both = conformance_policy("conformance", used.place()), conformance_policy("conformance-hosting", used.place())
    allowed = [grant for policy in both for grant in wired.grants(policy)]
    beyond = [
        (action, resource)
        for action, resource in used.found
        if not any(action == a and fnmatch.fnmatchcase(resource, pattern) for a, pattern in allowed)
    ]
    assert [] == beyond
    asked = {action for action, _ in used.found}
    assert {action for action, _ in wired.grants(both[1])} <= asked


def test_what_a_killed_run_left_is_deleted_by_the_next(emulator: Endpoint, tmp_path: Path) -> None:
    target = wired.target_of(emulator)
    journal = begin(target.fingerprint, tmp_path)
    place = Place(
        run=journal.run, region=target.region, role=target.role, bucket=target.bucket, emulated=target.emulated
    )
    bench = Bench(target, place, journal, wired.MovedClock())
    for probe in HOSTED[:3]:
        bench.begin()
        probe.send(bench)
    journal.close(done=False)
    assert not nothing_left(emulator)
    (removed,) = sweep(target, tmp_path, wired.MovedClock(), print)
    assert 3 == len(removed.names)
    assert nothing_left(emulator)
    assert [] == list(folder(tmp_path).iterdir())


def test_it_is_sent_only_if_asked_for() -> None:
    assert not {probe.name for probe in HOSTED} & {probe.name for probe in PROBES}
    assert "hosting" not in sm_trn("conformance", "--plan").stdout
    shown = sm_trn("conformance", "--plan", "--hosting").stdout
    assert "Worst case unknown" in shown
    assert "an endpoint for 1h" in shown


def test_without_a_hosting_price_it_does_not_start() -> None:
    done = sm_trn("conformance", "--hosting", "--max-usd", "9", "--yes")
    assert 2 == done.returncode
    assert "the worst case is unknown" in done.stderr
