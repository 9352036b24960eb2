"""Endpoints of the emulator as a client sees them: real processes, real errors, nothing left behind."""

from __future__ import annotations

import functools
import io
import json
import os
import signal
import tarfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from botocore.exceptions import ClientError
from emulator.bench import Bench, client_of, lines_of, marked, packed
from waiting import within

from sm_trn import emulator as embedded
from sm_trn.emulator import Options

pytestmark = pytest.mark.local

CODE = """
import json, os, subprocess, sys, time
def model_fn(folder):
    print("model_fn", folder, sorted(os.listdir(folder)))
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)", "MARK"], start_new_session=True)
    return 3
def input_fn(body, content_type):
    if content_type == "text/csv":
        return [float(cell) for cell in body.split(",")]
    return json.loads(body)
def predict_fn(data, factor):
    if data == "die": os._exit(3)
    if data == "hang": time.sleep(300)
    if data == "secret": raise RuntimeError("hunter2\\x1b[2J")
    if data == "large": return "x" * (7 * 2**20)
    if data == "env": return sorted(name for name in os.environ if name.startswith("AWS_"))
    if data == "listen": return os.environ["AWS_ACCESS_KEY_ID"]
    return data * factor if not isinstance(data, list) else [one * factor for one in data]
def output_fn(prediction, accept):
    return (",".join(map(str, prediction)), "text/csv") if accept == "text/csv" else (json.dumps(prediction), accept)
"""
DOUBLE = "import json\ndef model_fn(folder): return 2\ndef input_fn(b, c): return json.loads(b)\ndef predict_fn(d, m): return d * m\n"


class Hosts(Bench):
    """Asks the endpoints of one emulator."""

    def ask(
        self, name: str, body: bytes | str, kind: str = "application/json", accept: str = "application/json"
    ) -> Any:
        runtime = self.client("sagemaker-runtime")
        sent = runtime.invoke_endpoint(EndpointName=name, Body=body, ContentType=kind, Accept=accept)
        content = sent["Body"].read()
        return json.loads(content) if sent["ContentType"] == "application/json" else content

    def said_by(self, name: str) -> list[str]:
        return lines_of(self.logs, f"/aws/sagemaker/Endpoints/{name}")


def hosts_of(state: Path, **options: Any) -> Hosts:
    endpoint = embedded.up(state, options=Options(**options))
    return Hosts(endpoint, functools.cache(functools.partial(client_of, endpoint)))


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("hosting")
    yield folder
    embedded.down(folder)


@pytest.fixture(scope="module")
def hosts(state: Path) -> Hosts:
    return hosts_of(state, invoke_timeout_s=2.0, start_delay_s=0.05)


@pytest.fixture(scope="module")
def running(hosts: Hosts) -> str:
    return hosts.deploy(packed({"code/inference.py": CODE.replace("MARK", "shared-endpoint"), "weights": "1"}))


def test_an_endpoint_runs_the_models_own_functions(hosts: Hosts, running: str) -> None:
    answer = hosts.settled(running)
    assert ("InService", 1) == (
        answer["EndpointStatus"],
        answer["ProductionVariants"][0]["CurrentInstanceCount"],
    )
    assert [3, 6] == hosts.ask(running, "[1, 2]")
    assert b"3.0,6.0" == hosts.ask(running, "1,2", "text/csv", "text/csv")
    assert any("stands in for image" in line for line in hosts.said_by(running))
    assert any("model_fn" in line and "weights" in line for line in hosts.said_by(running))


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [("not json", 500, "Expecting value"), ('"secret"', 500, "hunter2"), ('"die"', 500, "died"), ('"hang"', 0, "timed out"),
     ('"large"', 500, "larger than")],
)  # fmt: skip
def test_a_models_own_failure_is_a_model_error_and_the_next_request_is_answered(
    hosts: Hosts, running: str, body: str, status: int, says: str
) -> None:
    with pytest.raises(ClientError, match="ModelError") as caught:
        hosts.ask(running, body)
    answer = caught.value.response
    assert (424, status) == (answer["ResponseMetadata"]["HTTPStatusCode"], answer["OriginalStatusCode"])
    assert says in answer["OriginalMessage"]
    assert [3] == hosts.ask(running, "[1]")


def test_a_request_that_is_too_large_never_reaches_the_model(hosts: Hosts, running: str) -> None:
    for size in (6 * 2**20 + 1, 9 * 2**20):
        with pytest.raises(ClientError) as caught:
            hosts.ask(running, b"x" * size)
        assert 413 == caught.value.response["ResponseMetadata"]["HTTPStatusCode"]


def test_a_container_listens_on_no_port(hosts: Hosts, running: str) -> None:
    hosts.ask(running, "[1]")
    serving = marked("inside/serve.py")
    assert serving
    for pid in serving:
        sockets = {link.readlink().name for link in Path(f"/proc/{pid}/fd").iterdir() if link.is_symlink()}
        listening = {
            f"socket:[{row.split()[9]}]"
            for table in ("tcp", "tcp6")
            for row in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]
            if row.split()[3] == "0A"
        }
        assert not sockets & listening


@pytest.mark.parametrize(
    ("name", "kind"),
    [("../escape", tarfile.REGTYPE), ("/absolute", tarfile.REGTYPE), ("link", tarfile.SYMTYPE), ("fifo", tarfile.FIFOTYPE)],
)  # fmt: skip
def test_an_archive_that_reaches_out_fails_the_endpoint(hosts: Hosts, state: Path, name: str, kind: bytes) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        member = tarfile.TarInfo(name)
        member.type, member.linkname = kind, "/etc/passwd"
        tar.addfile(member)
    answer = hosts.settled(hosts.deploy(out.getvalue()))
    assert "Failed" == answer["EndpointStatus"]
    assert name in answer["FailureReason"]
    assert all("escape" not in files for _, _, files in os.walk(state))  # which passes over what goes meanwhile


def test_a_model_that_cannot_load_fails_its_health_check_and_says_why_in_its_log(hosts: Hosts) -> None:
    name = hosts.deploy(packed({"code/inference.py": "def model_fn(folder): raise RuntimeError('no weights here')"}))
    answer = hosts.settled(name)
    assert "Failed" == answer["EndpointStatus"]
    assert (
        "The primary container for production variant v0 did not pass the ping health check" in answer["FailureReason"]
    )
    assert any("no weights here" in line for line in hosts.said_by(name))


def test_a_deleted_endpoint_leaves_no_process_and_its_name_is_free(hosts: Hosts, state: Path) -> None:
    archive = packed({"code/inference.py": CODE.replace("MARK", "doomed-endpoint")})
    name = hosts.deploy(archive)
    assert marked("doomed-endpoint")
    hosts.sagemaker.delete_endpoint(EndpointName=name)
    with pytest.raises(ClientError, match="not found"):
        hosts.ask(name, "[1]")
    assert within(lambda: not marked("doomed-endpoint"))
    assert within(lambda: name not in [e["EndpointName"] for e in hosts.sagemaker.list_endpoints()["Endpoints"]])


def test_a_scripted_model_without_code_is_answered_by_the_default_functions(hosts: Hosts, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # TorchScript is what the container's default loads
        torch.jit.save(torch.jit.trace(torch.nn.Identity(), torch.zeros(1, 2)), str(tmp_path / "model.pt"))
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        tar.add(tmp_path / "model.pt", "model.pt")
    name = hosts.deploy(out.getvalue())
    assert [[1.0, 2.0]] == hosts.ask(name, "[[1, 2]]")
    assert [1.0, 2.0] == hosts.ask(name, "1,2\n", "text/csv")
    assert [[1.0, 2.0], [3.0, 4.0]] == hosts.ask(name, "1,2\n3,4\n", "text/csv")
    sent = io.BytesIO()
    np.save(sent, np.float32([[3, 4]]))
    answer = hosts.ask(name, sent.getvalue(), "application/x-npy", "application/x-npy")
    assert [[3.0, 4.0]] == np.load(io.BytesIO(answer)).tolist()
    with pytest.raises(ClientError) as caught:
        hosts.ask(name, "x", "image/png")
    assert 415 == caught.value.response["OriginalStatusCode"]


def test_a_killed_emulator_leaves_no_container_and_says_that_its_endpoints_ended(tmp_path: Path) -> None:
    state = tmp_path / "state"
    try:
        hosts = hosts_of(state)
        name = hosts.deploy(packed({"code/inference.py": CODE.replace("MARK", "orphan-endpoint")}))
        assert [3] == hosts.ask(name, "[1]")
        os.kill(hosts.endpoint.pid, signal.SIGKILL)
        assert within(lambda: not marked("orphan-endpoint"))
        answer = hosts_of(state).settled(name)
        assert "Failed" == answer["EndpointStatus"]
        assert "the emulator ended, and the endpoint with it" in answer["FailureReason"]
    finally:
        embedded.down(state)
