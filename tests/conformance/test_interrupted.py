"""A run that is killed, interrupted, logged out or throttled at any request leaves nothing once the next start has looked.

``SM_TRN_INTERRUPTIONS=50`` interrupts that often; the suite does it a few times, once for each kind.
"""

from __future__ import annotations

import errno
import os
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import wired
from botocore.exceptions import EndpointConnectionError
from command import sm_trn
from interrupted import NAMES

from sm_trn import emulator as embedded
from sm_trn.account.conformance.cleanup import EMULATOR, sweep
from sm_trn.account.conformance.interruption import Interrupted, Interruption
from sm_trn.account.conformance.journal import Journal, abandoned, begin, folder
from sm_trn.account.conformance.probes import PROBES
from sm_trn.account.conformance.run import ask_account
from sm_trn.account.policies.conformance import PREFIX
from sm_trn.core.errors import CloudError
from sm_trn.emulator import Endpoint, Options

pytestmark = pytest.mark.local
SIGNALS = ("ctrl-c", "term", "hang-up", "twice")
KINDS = ("kill-before", "kill-after", *SIGNALS, "expired", "throttled")
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
    if kind not in SIGNALS:  # what is told to end removes what it made itself
        sweep(target, tmp_path, wired.MovedClock(), told.append)
    assert [] == told
    sagemaker, s3 = target.client("sagemaker"), target.client("s3")
    assert [] == sagemaker.list_training_jobs(NameContains=PREFIX)["TrainingJobSummaries"], (kind, n)
    assert 0 == s3.list_objects_v2(Bucket=account.bucket, Prefix=PREFIX)["KeyCount"], (kind, n)
    assert [] == list(folder(tmp_path).iterdir())


@pytest.fixture
def handlers_of_python() -> Iterator[None]:
    """What a process starts with: a library that an earlier test loaded may have put handlers of its own."""
    own: dict[signal.Signals, Any] = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGTERM: signal.SIG_DFL,
        signal.SIGHUP: signal.SIG_DFL,
    }
    before = {number: signal.signal(number, handler) for number, handler in own.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("handlers_of_python")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_comes_while_the_run_cleans_up_ends_it_after_that(number: signal.Signals) -> None:
    before, done = signal.getsignal(number), list[str]()

    def run() -> None:
        with Interruption() as interruption:
            with interruption.allowed():
                done.append("asked")
            signal.raise_signal(number)
            done.append("removed")

    with pytest.raises(Interrupted) as stop:
        run()
    assert (["asked", "removed"], number) == (done, stop.value.number)
    assert before == signal.getsignal(number)


@pytest.mark.usefixtures("handlers_of_python")
def test_the_third_signal_gives_up() -> None:
    done = list[str]()

    def run() -> None:
        with Interruption():
            for _ in range(4):
                signal.raise_signal(signal.SIGTERM)
                done.append("went on")

    with pytest.raises(Interrupted):
        run()
    assert 2 * ["went on"] == done


def test_what_could_not_be_removed_is_told_with_the_command_that_removes_it(account: Endpoint, tmp_path: Path) -> None:
    target, told = wired.target_of(account), list[str]()

    def lost(params: object, **_event: object) -> None:
        raise EndpointConnectionError(endpoint_url="http://127.0.0.1:1/")

    target.session.events.register("provide-client-params.sagemaker.Search", lost)
    with pytest.raises(CloudError):
        ask_account(target, (), clock=wired.MovedClock(), state=tmp_path, tell=told.append)
    command = f"sm-trn conformance --clean --region {account.region} --bucket {account.bucket} --backend emulator --state {tmp_path}"
    assert [True] == [line.endswith(command) for line in told]


def test_a_terminal_that_is_closed_keeps_nothing_from_being_removed(account: Endpoint, tmp_path: Path) -> None:
    def deaf(line: str) -> None:
        raise OSError(errno.EIO, line)

    (probe,) = (each for each in PROBES if each.name == "an object")
    with pytest.raises(OSError, match="an object"):
        ask_account(wired.target_of(account), [probe], clock=wired.MovedClock(), state=tmp_path, tell=deaf)
    assert [] == list(folder(tmp_path).iterdir())


def test_an_emulator_of_a_run_that_is_gone_is_found_ended_and_said(account: Endpoint, tmp_path: Path) -> None:
    scratch = folder(tmp_path) / "0123abcd"
    endpoint = embedded.up(scratch)
    said = cleaned(account, tmp_path)
    assert "Run 0123abcd: 0 jobs or the like stopped and deleted, 0 objects deleted. Its emulator was ended." in said
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(endpoint.url.rpartition(":")[2])))
    assert [] == list(folder(tmp_path).iterdir())
    assert "No interrupted run left anything." in cleaned(account, tmp_path)


def cleaned(account: Endpoint, tmp_path: Path) -> str:
    """What ``--clean`` says, of journals in another folder than the account's."""
    keys = {"AWS_ACCESS_KEY_ID": account.access_key, "AWS_SECRET_ACCESS_KEY": account.secret_key}
    where = (
        "--region",
        account.region,
        "--role",
        account.role_arn,
        "--bucket",
        account.bucket,
        "--state",
        str(tmp_path),
    )
    done = sm_trn("conformance", "--clean", *where, environment={**keys, "AWS_ENDPOINT_URL": account.url})
    assert 0 == done.returncode, done.stderr
    return done.stdout


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
