"""sm-trn ui as a person starts it: a link, a port that was taken, Ctrl-C, and what is said without the extra."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fakes.canned_aws import answering

ONE_JOB = {
    "TrainingJobSummaries": [
        {
            "TrainingJobName": "a-job",
            "TrainingJobArn": "arn:aws:sagemaker:us-west-2:111122223333:training-job/a-job",
            "CreationTime": 1_800_000_000.0,
            "LastModifiedTime": 1_800_000_100.0,
            "TrainingJobStatus": "Completed",
        }
    ]
}
WITHOUT = (
    "import sys; sys.modules[{name!r}] = None; from sm_trn.cli.__main__ import run; sys.argv = ['sm-trn', 'ui']; run()"
)


@contextmanager
def started(
    tmp_path: Path, *arguments: str, answers: bool = True, environment: dict[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """``sm-trn ui`` against an account with one job, or one that may not be asked."""

    def answer(operation: str, _body: bytes) -> object:
        return ONE_JOB if answers and operation == "ListTrainingJobs" else None

    with answering(
        "AccessDeniedException", "User: somebody is not authorized to perform: sagemaker:ListTrainingJobs", but=answer
    ) as login:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "SM_TRN_"))}
        process = subprocess.Popen(
            [sys.executable, "-m", "sm_trn.cli", "ui", *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path,
            env={**kept, **login, **(environment or {}), "PYTHONUNBUFFERED": "1"},
        )  # fmt: skip
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
            process.communicate()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def link(process: subprocess.Popen[str]) -> tuple[int, str]:
    assert process.stdout is not None
    said = process.stdout.readline()
    found = re.search(r"http://127\.0\.0\.1:(\d+)(/\?token=\S+)", said)
    assert found, said
    return int(found[1]), found[2]


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_it_prints_a_link_answers_and_ends_cleanly_with_a_tab_open(tmp_path: Path, ending: signal.Signals) -> None:
    with started(tmp_path, "--port", str(free_port())) as process:
        port, path = link(process)
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
        cookie = str(answer.getheader("set-cookie")).partition(";")[0]
        connection.request("GET", "/api/live", headers={"Cookie": cookie})
        stream = connection.getresponse()
        assert b"a-job" in stream.readline()
        process.send_signal(ending)
        _, errors = process.communicate(timeout=30)
        assert "Traceback" not in errors
        said = "The page has ended. Jobs go on." in errors
        assert ((0, True) if ending is signal.SIGINT else (-signal.SIGTERM, False)) == (process.returncode, said)
        connection.close()


def test_a_port_that_is_taken_is_left_alone_and_said(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        number = int(taken.getsockname()[1])
        with started(tmp_path, "--port", str(number)) as process:
            port, _ = link(process)
            assert number < port <= number + 20
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=30)
            assert f"Port {number} is taken; the page is on {port}." in errors


def test_an_account_that_may_not_be_asked_is_one_sentence(tmp_path: Path) -> None:
    with started(tmp_path, answers=False) as process:
        output, errors = process.communicate(timeout=60)
        assert (1, "") == (process.returncode, output)
        assert "sagemaker:ListTrainingJobs" in errors
        assert "Traceback" not in errors


@pytest.mark.parametrize("name", ["starlette", "uvicorn"])
def test_without_the_extra_it_says_what_to_install(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT.format(name=name)], capture_output=True, text=True, check=False
    )
    assert (2, "") == (done.returncode, done.stdout)
    assert f"sm-trn ui needs {name}" in done.stderr
    assert 'pip install "sm_trn[ui]"' in done.stderr
    assert 1 == len(done.stderr.strip().splitlines())
