"""What outlives the emulator's process and what must not; each test has an emulator of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from emulator.bench import Bench, bench_of, client_of, marked
from waiting import within

from sm_trn import emulator as embedded
from sm_trn.core.errors import EmulatorError
from sm_trn.emulator import Options

pytest.importorskip("moto")
pytest.importorskip("sagemaker_training")

Start = Callable[..., Bench]
# Leaves a grandchild in a session of its own: what a job does that wants to outlive it.
SLEEPER = """
    import os, subprocess, sys, time
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)", "MARK"], start_new_session=True)
    print("asleep")
    time.sleep(300)
"""

WAYS = pytest.mark.parametrize("namespace", [True, False])


@pytest.fixture
def state(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "state"
    embedded.down(tmp_path / "state")


def start(state: Path, **options: Any) -> Bench:
    quick = {"start_delay_s": 0.05, "stop_grace_s": 2.0, "max_jobs": 1, **options}
    return bench_of(embedded.up(state, options=Options(**quick)))


def test_a_region_is_kept_in_every_arn(state: Path) -> None:
    endpoint = embedded.up(state, region="eu-west-1")
    assert "sagemaker-eu-west-1-000000000000" == endpoint.bucket
    assert "eu-west-1" == embedded.status(state).region
    with pytest.raises(ClientError, match="this emulator serves eu-west-1, got 'us-east-1'"):
        client_of(endpoint, "sagemaker", region_name="us-east-1").list_training_jobs()
    assert [] != client_of(endpoint, "s3", region_name="us-east-1").list_buckets()["Buckets"]


def test_a_start_that_fails_says_why(state: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(EmulatorError, match=f"port {port} is taken"):
            embedded.up(state, options=Options(port=port))
    assert embedded.find(state) is None


@WAYS
def test_kill_9_leaves_no_process_and_a_job_that_failed(state: Path, namespace: bool) -> None:
    bench = start(state, namespace=namespace)
    mark = f"orphan-{os.getpid()}-{namespace}"
    earlier = bench.submit("print('done before')")
    bench.finished(earlier)
    name = bench.submit(SLEEPER.replace("MARK", mark))
    bench.said(name, "asleep")
    assert marked(mark)
    os.kill(bench.endpoint.pid, signal.SIGKILL)
    assert within(lambda: not marked(mark))
    assert within(lambda: not marked(str(state)))
    assert embedded.find(state) is None
    again = start(state, namespace=namespace)
    assert (bench.endpoint.access_key, bench.endpoint.url) == (again.endpoint.access_key, again.endpoint.url)
    answer = again.describe(name)
    assert "Failed" == answer["TrainingJobStatus"]
    assert answer["FailureReason"].startswith("InternalServerError: the emulator was killed")
    assert "Completed" == again.describe(earlier)["TrainingJobStatus"]
    assert "asleep" in again.lines(name)
    assert {"Completed": 1, "Failed": 1} == embedded.status(state).jobs
    assert not any((state / "jobs").iterdir())


@WAYS
def test_down_stops_the_running_job_and_its_processes(state: Path, namespace: bool) -> None:
    bench = start(state, namespace=namespace)
    mark = f"down-{os.getpid()}-{namespace}"
    name = bench.submit(SLEEPER.replace("MARK", mark))
    bench.said(name, "asleep")
    assert embedded.down(state)
    assert within(lambda: not marked(mark))
    assert "Stopped" == start(state).describe(name)["TrainingJobStatus"]


CANARIES = {
    "AWS_ACCESS_KEY_ID": "canary-access",
    "AWS_SECRET_ACCESS_KEY": "canary-secret",
    "AWS_SESSION_TOKEN": "canary-token",
    "AWS_PROFILE": "canary-profile",
    "AWS_CONFIG_FILE": "/canary/config",
    "AWS_SHARED_CREDENTIALS_FILE": "/canary/credentials",
    "HF_TOKEN": "canary-hub",
    "WANDB_API_KEY": "canary-wandb",
    "GITHUB_TOKEN": "canary-github",
    "DATABASE_URL": "canary-database",
    "PIP_INDEX_URL": "https://me:canary-index@example.org/simple",
}


def test_in_a_namespace_a_job_finds_neither_the_owners_key_nor_other_jobs(state: Path) -> None:
    bench = start(state)
    if not str(embedded.status(state).isolation).startswith("user namespace"):
        pytest.skip("this machine has no user namespaces")
    name = bench.submit(
        f"""
        import pathlib
        state = pathlib.Path({str(state)!r})
        for path in sorted(state.iterdir()):
            size = len(list(path.iterdir())) if path.is_dir() else len(path.read_bytes())
            print("sees " + path.name + " " + str(size))
        """
    )
    bench.finished(name)
    seen = dict(line.split()[1:] for line in bench.lines(name) if line.startswith("sees "))
    assert {"0"} == {seen[entry] for entry in ("endpoint.json", "emulator.db", "s3", "jobs", "logs")}
    assert "0" == seen.get("emulator.db-wal", "0")


def test_a_job_may_not_control_the_emulator(state: Path) -> None:
    bench = start(state)
    name = bench.submit(
        """
        import os, boto3, botocore.auth, botocore.awsrequest, urllib.error, urllib.request
        headers = {"X-Amz-Target": "SmTrnEmulator.Status", "Content-Type": "application/x-amz-json-1.1"}
        request = botocore.awsrequest.AWSRequest("POST", os.environ["AWS_ENDPOINT_URL"] + "/", headers=headers, data=b"{}")
        credentials = boto3.Session().get_credentials()
        botocore.auth.SigV4Auth(credentials, "sagemaker", os.environ["AWS_REGION"]).add_auth(request)
        sent = urllib.request.Request(request.url, b"{}", dict(request.headers.items()), method="POST")
        try:
            print(urllib.request.urlopen(sent).status)
        except urllib.error.HTTPError as error:
            print(f"refused {error.code} {error.read().decode()}")
        """
    )
    bench.finished(name)
    said = next(line for line in bench.lines(name) if line.startswith("refused"))
    assert said.startswith("refused 403")
    assert "a job may not control the emulator" in said


@WAYS
def test_a_job_sees_none_of_the_users_secrets(state: Path, namespace: bool) -> None:
    starter = (
        "import pathlib, sys; from sm_trn import emulator as e; "
        f"e.up(pathlib.Path(sys.argv[1]), options=e.Options(start_delay_s=0.0, namespace={namespace!r}))"
    )
    environment = {**os.environ, **CANARIES, "HF_HUB_OFFLINE": "1"}
    subprocess.run([sys.executable, "-c", starter, str(state)], check=True, env=environment)
    endpoint = embedded.find(state)
    assert endpoint is not None
    bench = bench_of(endpoint)
    name = bench.submit(
        """
        import os, boto3
        for key, value in sorted(os.environ.items()):
            print(f"{key}={value}")
        print(f"home has {sorted(os.listdir(os.path.expanduser('~')))}")
        print(f"i am {boto3.client('sts').get_caller_identity()['Account']}")
        """
    )
    assert "Completed" == bench.finished(name)["TrainingJobStatus"], bench.lines(name)
    lines = bench.lines(name)
    text = "\n".join(lines)
    assert "canary" not in text
    assert endpoint.access_key not in text
    assert endpoint.secret_key not in text
    assert {"HF_HUB_OFFLINE=1", "AWS_EC2_METADATA_DISABLED=true", f"AWS_ENDPOINT_URL={endpoint.url}"} <= set(lines)
    assert {"i am 000000000000", "home has []"} <= set(lines)


def test_a_jobs_key_ends_with_the_job(state: Path) -> None:
    bench = start(state)
    name = bench.submit(
        """
        import os
        print(f"key {os.environ['AWS_ACCESS_KEY_ID']} {os.environ['AWS_SECRET_ACCESS_KEY']}")
        """
    )
    bench.finished(name)
    access, secret = next(line for line in bench.lines(name) if line.startswith("key ")).split()[1:]
    old = client_of(bench.endpoint, "sts", aws_access_key_id=access, aws_secret_access_key=secret)
    assert within(lambda: not works(old), 10)


def works(sts: Any) -> bool:
    try:
        sts.get_caller_identity()
    except sts.exceptions.ClientError as error:
        return "UnrecognizedClientException" != error.response["Error"]["Code"]  # type: ignore[no-any-return]  # of an untyped answer
    return True


def test_without_a_namespace_opt_ml_is_a_folder_and_its_paths_are_rewritten(state: Path) -> None:
    bench = start(state, namespace=False)
    name = bench.submit(
        """
        import argparse, os, pathlib
        parser = argparse.ArgumentParser()
        parser.add_argument("--output_dir", type=pathlib.Path)
        (parser.parse_args().output_dir / "w.bin").write_bytes(b"1")
        print(f"{os.environ['SM_MODEL_DIR'] == os.environ['SAGEMAKER_BASE_DIR'] + '/model'}")
        """,
        {"output_dir": "/opt/ml/model"},
    )
    assert "Completed" == bench.finished(name)["TrainingJobStatus"], bench.lines(name)
    assert {"w.bin": b"1"} == bench.model(name)
    assert "True" in bench.lines(name)
    assert "run only code that you trust" in str(embedded.status(state).isolation)


def test_strict_refuses_an_interpreter_without_the_toolkit_by_name(state: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    bench = start(state, job_python=str(bare / "bin" / "python"), strict=True)
    reason = bench.finished(bench.submit("print('never')"))["FailureReason"]
    assert "has no sagemaker-training toolkit" in reason
    assert "sm_trn[local]" in reason


def test_the_package_is_found_without_loading_what_is_heavy() -> None:
    code = (
        "import sys; import sm_trn.emulator; print(sorted({'moto', 'boto3', 'botocore', 'flask'} & set(sys.modules)))"
    )
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert "[]" == said.strip()
