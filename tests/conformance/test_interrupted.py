"""A run that is killed, interrupted, logged out or throttled at any request leaves nothing once the next start has looked.

``SM_TRN_INTERRUPTIONS=50`` interrupts that often; the suite does it a few times, once for each kind.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import wired
from interrupted import NAMES

from sm_trn import emulator as embedded
from sm_trn.conformance.cleanup import EMULATOR, sweep
from sm_trn.conformance.journal import Journal, abandoned, begin, folder
from sm_trn.conformance.probes import PROBES
from sm_trn.emulator import Endpoint, Options
from sm_trn.render.policy_conformance import PREFIX

pytestmark = pytest.mark.local
KINDS = ("kill-before", "kill-after", "ctrl-c", "expired", "throttled")
TIMES = int(os.environ.get("SM_TRN_INTERRUPTIONS", str(len(KINDS))))
REQUESTS = 90  # of a whole run, its removals included; polls make it a few more or less
SCRIPT = Path(__file__).with_name("interrupted.py")


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    state = tmp_path_factory.mktemp("account")
    try:
        yield embedded.up(state, options=Options(start_delay_s=0.2, stop_grace_s=2.0, max_jobs=8))
    finally:
        embedded.down(state)


def start(account: Endpoint, state: Path, kind: str, n: int) -> subprocess.Popen[str]:
    tests = Path(__file__).parents[1]
    path = os.pathsep.join(map(str, (tests.parent, tests, tests / "conformance")))
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    command = [sys.executable, str(SCRIPT), str(account.state / "endpoint.json"), str(state), kind, str(n)]
    environment = {**kept, "PYTHONPATH": path, "AWS_MAX_ATTEMPTS": "5"}
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def test_the_probes_of_the_interrupted_run_exist() -> None:
    assert {probe.name for probe in PROBES} >= NAMES


@pytest.mark.parametrize("at", range(TIMES))
def test_nothing_is_left_after_the_next_start(account: Endpoint, tmp_path: Path, at: int) -> None:
    kind = KINDS[at % len(KINDS)]
    n = random.Random(f"{kind} {at}").randint(1, REQUESTS)
    process = start(account, tmp_path, kind, n)
    process.communicate(timeout=240)
    if kind == "throttled":
        assert 0 == process.returncode
    target, told = wired.target_of(account), list[str]()
    sweep(target, tmp_path, wired.MovedClock(), told.append)
    assert [] == told
    sagemaker, s3 = target.client("sagemaker"), target.client("s3")
    assert [] == sagemaker.list_training_jobs(NameContains=PREFIX)["TrainingJobSummaries"], (kind, n)
    assert 0 == s3.list_objects_v2(Bucket=account.bucket, Prefix=PREFIX)["KeyCount"], (kind, n)
    assert [] == list(folder(tmp_path).iterdir())


def test_two_runs_at_once_do_not_meet(account: Endpoint, tmp_path: Path) -> None:
    both = [start(account, tmp_path, "none", 0) for _ in range(2)]
    assert [0, 0] == [process.wait(timeout=240) for process in both]
    target = wired.target_of(account)
    assert [] == target.client("sagemaker").list_training_jobs(NameContains=PREFIX)["TrainingJobSummaries"]
    assert [] == list(folder(tmp_path).iterdir())


def test_a_journal_is_left_alone_as_long_as_its_process_lives(tmp_path: Path) -> None:
    journal = begin(EMULATOR, tmp_path)
    assert [] == list(abandoned(tmp_path))
    journal.close(done=False)
    assert [journal.run] == [each.run for each in _closed(abandoned(tmp_path))]


def test_a_run_of_another_account_is_told_and_left(account: Endpoint, tmp_path: Path) -> None:
    begin("another", tmp_path).close(done=False)
    told = list[str]()
    sweep(wired.target_of(account), tmp_path, wired.MovedClock(), told.append)
    assert ["another account" in line for line in told] == [True]
    assert 1 == len(list(folder(tmp_path).glob("*.jsonl")))


def test_a_line_that_a_death_cut_off_is_no_fault(tmp_path: Path) -> None:
    journal = begin(EMULATOR, tmp_path)
    journal.write("training-job", "one")
    journal.close(done=False)
    (file,) = folder(tmp_path).glob("*.jsonl")
    file.write_text(file.read_text("utf-8") + '{"kind": "training-j', "utf-8")
    (found,) = _closed(abandoned(tmp_path))
    assert ["one"] == [made.name for made in found.read().made]


def _closed(journals: Iterator[Journal]) -> list[Journal]:
    found = []
    for journal in journals:
        found.append(journal)
        journal.close(done=False)
    return found
