"""The same promises kept by the real emulator over HTTP: stopping by tag, checkpoints' age, a budget rehearsed, the shell."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
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
            assert 1 == watched.returncode, watched.stderr  # max_run stopped it
            assert (job.name, "Stopped") in [(row["name"], row["status"]) for row in json.loads(watched.stdout)]
    assert (
        "No running job matches. List all jobs: sm-trn list\n" == shell(emulator, "watch", "--tag", "owner=cleo").stdout
    )


@pytest.mark.parametrize("ends", ["SIGTERM", "SIGHUP", "SIGKILL"])
def test_a_launch_that_a_signal_ends_names_its_jobs_and_the_same_command_goes_on(
    emulator: Any, session: st.Session, endless: st.JobSpec, tmp_path: Path, ends: str
) -> None:
    """Creates leave at the pace of an account: four at once, then one a second."""
    for number in range(8):
        job = endless.replace(name=f"{ends}-{number}", max_run_s=60)
        (tmp_path / f"{number}.toml").write_text(dump_job(job, "toml"))
    own = {**os.environ, **emulator.environment(), "SM_TRN_BACKEND": "aws", "SM_TRN_STATE": str(tmp_path)}
    account = {"SM_TRN_ROLE": session.role, "SM_TRN_BUCKET": session.bucket}
    command = [sys.executable, "-m", "sm_trn.cli", "launch", *(f"{number}.toml" for number in range(8))]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env={**own, **account})
    assert process.stderr is not None
    said = ""
    while said.count("launching") < 4:
        said += process.stderr.readline()
    process.send_signal(getattr(signal, ends))
    said += process.communicate(timeout=60)[1]
    made = {job.name for job in session.jobs(f"{ends}-")}
    assert process.returncode == (-signal.SIGKILL if ends == "SIGKILL" else 130), said
    assert (made, True) == ({name for name in made if name in said}, len(made) < 8)
    again = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env={**own, **account}, check=False)
    before = re.search(r"(\d) of these 8 jobs were launched before", again.stderr)
    assert before is not None, again.stderr
    assert int(before[1]) >= len(made)  # what was on its way when the process ended came after we had looked
    launch = again.stderr.partition("--launch ")[2][:20]
    listed = shell(emulator, "list", "--launch", launch, "--json")
    assert again.stdout.split() == sorted(row["name"] for row in json.loads(listed.stdout))
    assert made < set(again.stdout.split()) == {job.name for job in session.jobs(f"{ends}-")}
    assert [] == list((tmp_path / "launches").iterdir())
    session.stop_all(containing=f"{ends}-")


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
    own = shell(emulator, "logs", job.name).stdout.splitlines()
    assert len(own) < len(shell(emulator, "logs", job.name, "--toolkit").stdout.splitlines())
    assert ("algo-1  starts", True) == (own[0], own[-1].endswith("no column label"))  # the toolkit may cut the line up
    assert 2 == len(shell(emulator, "logs", job.name, "--tail", "2").stdout.splitlines())
    assert 2 == shell(emulator, "logs", job.name, "--tail", "2", "--save", "x").returncode
