"""The same promises kept by the real emulator over HTTP: stopping by tag, checkpoints' age, a budget rehearsed, the shell."""

from __future__ import annotations

import io
import json
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from command import sm_trn
from jobs import job_of

import sm_trn as st
from sm_trn.core.jobfile import dump_job

pytestmark = pytest.mark.local

LOOPS = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: (print("saved", flush=True), sys.exit(0)))
os.makedirs("/opt/ml/checkpoints", exist_ok=True)
print({"loss": 1.0, "step": 1}, flush=True)
time.sleep(600)
"""


@pytest.fixture(scope="module")
def endless(tmp_path_factory: pytest.TempPathFactory) -> st.JobSpec:
    return job_of(tmp_path_factory.mktemp("source"), LOOPS, name="endless")


def training(job: st.TrainingJob) -> st.TrainingJob:
    for snapshot in job.watch():
        if snapshot.secondary == "Training" and any("loss" in event.text for event in job.logs()):
            return job
    raise AssertionError("it ended before it trained")


def shell(emulator: Any, *arguments: str) -> subprocess.CompletedProcess[str]:
    return sm_trn(*arguments, "--backend", "emulator", "--state", str(emulator.state))


def test_a_budget_is_rehearsed_with_a_price_of_ones_own(session: st.Session, endless: st.JobSpec) -> None:
    job = training(session.submit(endless, max_usd=0.01))  # an emulated job costs nothing: not refused
    out = io.StringIO()
    final = job.wait(stream=out, max_usd=0.01, usd_per_hour=3600)
    assert "Stopped" == final.status_word
    assert f"{job.name} was asked to stop" in out.getvalue()
    assert "as if $3,600.00/h were paid" in out.getvalue()
    assert "saved" in [event.text for event in job.logs()]


def test_the_shell_stops_what_it_is_told_and_only_with_yes(
    emulator: Any, session: st.Session, endless: st.JobSpec
) -> None:
    mine = training(session.submit(endless.replace(name="mine", tags={"owner": "ann"})))
    other = session.submit(endless.replace(name="other", tags={"owner": "bob"}))
    assert [mine.name] == [job.name for job in session.running(tag=("owner", "ann"))]
    listed = shell(emulator, "stop", "--tag", "owner=ann")
    assert (2, mine.name) == (listed.returncode, listed.stdout.strip())
    assert "Nothing was stopped. To stop this job, add --yes" in listed.stderr
    assert "InProgress" == mine.snapshot().status_word
    done = shell(emulator, "stop", "--tag", "owner=ann", "--yes", "--wait", "--json")
    assert (0, "Stopped") == (done.returncode, json.loads(done.stdout)[0]["status"])
    assert not other.snapshot().terminal
    assert 0 == shell(emulator, "stop", "--contains", "other", "--yes").returncode
    assert other.wait(progress=False).terminal
    for wrong in (
        ("stop",),
        ("stop", "a", "--all"),
        ("stop", "--tag", "owner"),
        ("watch", "a", "--contains", "b"),
        ("watch", "--tag", "owner"),
        ("watch", "--max-usd", "1"),  # it would stop whatever runs
        ("watch", "--tag", "owner=bob", "--max-usd", "1"),
    ):
        assert 2 == shell(emulator, *wrong).returncode


def test_the_shell_watches_all_that_run_or_those_that_fit(
    emulator: Any, session: st.Session, endless: st.JobSpec
) -> None:
    job = session.submit(endless.replace(name="seen", max_run_s=15, tags={"owner": "cleo"}))  # all find it running
    searches: list[tuple[str, ...]] = [(), ("--contains", "seen"), ("--tag", "owner=cleo")]
    with ThreadPoolExecutor() as several:
        for watched in several.map(lambda search: shell(emulator, "watch", *search, "--json"), searches):
            assert 0 == watched.returncode, watched.stderr
            assert (job.name, "Stopped") in [(row["name"], row["status"]) for row in json.loads(watched.stdout)]
    assert (
        "No running job matches. List all jobs: sm-trn list\n" == shell(emulator, "watch", "--tag", "owner=cleo").stdout
    )


def test_the_shell_watches_a_budget_and_says_where_there_is_none(
    emulator: Any, session: st.Session, endless: st.JobSpec, tmp_path: Path
) -> None:
    file = tmp_path / "job.json"
    file.write_text(dump_job(endless.replace(name="by-shell"), "json"))
    launched = shell(emulator, "launch", str(file), "--max-usd", "0.01")
    assert 0 == launched.returncode, launched.stderr
    assert "EMULATED: no cost, so --max-usd has nothing to refuse." in launched.stderr
    name = launched.stdout.strip()
    assert shell(emulator, "stop", name, "--wait").returncode == 0


def test_the_newest_object_under_a_uri_is_dated(session: st.Session, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1")
    (tmp_path / "b.txt").write_text("2")
    found = session.storage.fetch_objects(session.storage.put_input(str(tmp_path)))
    assert found is not None
    assert found.newest is not None
    assert (2, True) == (found.count, abs(found.newest.timestamp() - time.time()) < 60)
    empty = session.storage.fetch_objects(f"s3://{session.bucket}/nothing/here")
    assert empty is not None
    assert (0, None) == (empty.count, empty.newest)
    assert session.storage.fetch_objects("s3://no-such-bucket-anywhere/x") is None


def test_a_failed_job_says_its_scripts_exception_and_where_its_log_is(
    emulator: Any, session: st.Session, endless: st.JobSpec, tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text("print('starts', flush=True)\nraise ValueError('no column label')\n")
    job = session.submit(endless.replace(name="fails", script=st.Script("train.py", source_dir=str(tmp_path))))
    with pytest.raises(st.errors.JobFailed) as failed:
        job.wait(progress=False)
    first, *_, last = str(failed.value).splitlines()
    assert f"{job.name} failed: ValueError: no column label" == first
    assert f"Next: sm-trn why {job.name}" == last
    own = shell(emulator, "logs", job.name, "--script").stdout.splitlines()
    assert ("algo-1  starts", True) == (own[0], own[-1].endswith("no column label"))  # the toolkit may cut the line up
    assert 2 == len(shell(emulator, "logs", job.name, "--tail", "2").stdout.splitlines())
    assert 2 == shell(emulator, "logs", job.name, "--tail", "2", "--save", "x").returncode
