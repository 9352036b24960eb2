"""Jobs on a real MLflow server: the curve, the settings, what it cost, the page; and again, nothing twice. .ci/mlflow runs it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import sm_trn as st
from sm_trn.cli.__main__ import cli
from sm_trn.core.specs import MetricPoint
from sm_trn.core.specs.record import JobRecord, Origin, dump_record, record
from sm_trn.core.specs.snapshot import EMULATED_ACCOUNT, parse_snapshot

pytest.importorskip("mlflow.server.handlers", reason="needs an MLflow server: .ci/mlflow runs these tests with one")

from mlflow.tracking import MlflowClient

from sm_trn.report.tracking import IDENTITY

pytestmark = pytest.mark.filterwarnings("default")  # the client's own
TOKEN = "hf_" + "a1b2c3d4" * 4


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of its own, with a database and a folder for artifacts."""
    folder = tmp_path_factory.mktemp("mlflow")
    uri = f"http://127.0.0.1:{free_port()}"
    options = [
        "--host", "127.0.0.1", "--port", uri.rpartition(":")[2], "--workers", "1",
        "--backend-store-uri", f"sqlite:///{folder}/store.db", "--artifacts-destination", str(folder / "artifacts"),
    ]  # fmt: skip
    environment = {**os.environ, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "mlflow", "server", *options], stdout=log, stderr=log, cwd=folder, env=environment
        )
    try:
        deadline = time.monotonic() + 120
        while True:
            try:
                urllib.request.urlopen(f"{uri}/health", timeout=2).close()  # noqa: S310 - our own server
                break
            except OSError:
                assert process.poll() is None, (folder / "log").read_text()
                assert time.monotonic() < deadline, (folder / "log").read_text()
                time.sleep(0.2)
        yield uri
    finally:
        process.terminate()
        process.wait(30)


def job(name: str, *, account: str = "123456789012", status: str = "Completed", points: int = 6) -> JobRecord:
    """A record of a job with a curve of a loss, two hosts' speeds and a hyperparameter that is a secret."""
    describe: dict[str, Any] = {
        "TrainingJobName": name,
        "TrainingJobArn": f"arn:aws:sagemaker:us-west-2:{account}:training-job/{name}",
        "TrainingJobStatus": status,
        "SecondaryStatus": status,
        "CreationTime": 1_750_000_000,
        "TrainingStartTime": 1_750_000_100,
        "TrainingEndTime": 1_750_003_700,
        "BillableTimeInSeconds": 3600,
        "TrainingTimeInSeconds": 3600,
        "ResourceConfig": {"InstanceType": "ml.g5.xlarge", "InstanceCount": 1, "VolumeSizeInGB": 30},
        "HyperParameters": {
            "epochs": "3",
            "model": '"bert-base-uncased"',
            "hub_token": f'"{TOKEN}"',
            "sagemaker_region": '"x"',
        },
        "MlflowConfig": {"MlflowResourceArn": "arn:a", "MlflowExperimentName": "of-the-job"},
    }
    curve = [
        MetricPoint("loss", 1 / (1 + step), step=step, time_s=1_750_000_200.0 + step, host="algo-1")
        for step in range(points)
    ]
    other = [MetricPoint("loss", 2.0, step=0, time_s=1_750_000_200.0, host="algo-2")]
    return record(parse_snapshot(describe), [*curve, *other])


def run_of(server: str, name: str, experiment: str = "of-the-job") -> tuple[Any, Any]:
    client = MlflowClient(tracking_uri=server)
    number = client.get_experiment_by_name(experiment).experiment_id
    runs = [run for run in client.search_runs([number]) if run.data.tags[IDENTITY].endswith(f"/{name}")]
    (run,) = runs
    return client, run


def history(client: Any, run: Any, key: str) -> list[tuple[int, float, int]]:
    return [(each.step, each.value, each.timestamp) for each in client.get_metric_history(run.info.run_id, key)]


def test_the_server_shows_the_jobs_curve_settings_cost_and_page(server: str) -> None:
    (tracked,) = st.compare([job("bert")]).track(server)
    client, run = run_of(server, "bert")
    assert [(step, 1 / (1 + step), 1_750_000_200_000 + 1000 * step) for step in range(6)] == history(
        client, run, "loss"
    )
    assert [(0, 2.0, 1_750_000_200_000)] == history(client, run, "algo-2/loss")
    parameters = run.data.params
    assert ("3", "bert-base-uncased", "ml.g5.xlarge") == (
        parameters["epochs"],
        parameters["model"],
        parameters["machine.instance"],
    )
    assert {"hub_token", "sagemaker_region"} & set(parameters) == set()
    assert ("hub_token",) == tracked.left_out
    assert ("billed", "measured", "Completed") == tuple(
        run.data.tags[f"sm_trn.{name}"] for name in ("cost", "origin", "status")
    )
    assert run.data.metrics["summary/cost_usd"] == pytest.approx(st.compare([job("bert")]).frame["cost_usd"][0])
    assert ("FINISHED", 1_750_000_100_000, 1_750_003_700_000) == (
        run.info.status,
        run.info.start_time,
        run.info.end_time,
    )
    pages = [each.path for each in client.list_artifacts(run.info.run_id, "report")]
    assert "report/report.html" in pages
    page = Path(client.download_artifacts(run.info.run_id, "report/report.html")).read_text("utf-8")
    assert "ml.g5.xlarge" in page


def test_no_secret_reaches_the_server(server: str) -> None:
    st.compare([job("secret")]).track(server)
    client, run = run_of(server, "secret")
    folder = Path(client.download_artifacts(run.info.run_id, "report"))
    texts = [path.read_text("utf-8") for path in folder.rglob("*") if path.suffix in {".html", ".json", ".csv"}]
    assert not any(TOKEN in text for text in (*texts, json.dumps(run.to_dictionary())))


def test_a_job_that_goes_on_gets_what_is_new_and_nothing_twice(server: str) -> None:
    (first,) = st.compare([job("going", status="InProgress", points=3)]).track(server)
    (second,) = st.compare([job("going", points=6)]).track(server)
    (third,) = st.compare([job("going", points=6)]).track(server)
    assert first.run_id == second.run_id == third.run_id
    assert 0 == third.new
    client, run = run_of(server, "going")
    assert [0, 1, 2, 3, 4, 5] == [step for step, _, _ in history(client, run, "loss")]
    assert "FINISHED" == run.info.status


def test_an_emulated_job_has_no_cost(server: str) -> None:
    emulated = job("here", account=EMULATED_ACCOUNT)
    assert emulated.origin is Origin.EMULATED
    st.compare([emulated]).track(server, experiment="mine")
    _, run = run_of(server, "here", "mine")
    assert "emulated" == run.data.tags["sm_trn.cost"]
    assert not any("usd" in key and "estimated" not in key for key in run.data.metrics)


def test_the_command_logs_records_and_says_what_it_did(server: str, tmp_path: Path) -> None:
    file = tmp_path / "bert.json"
    file.write_text(dump_record(job("shelled")))
    done = CliRunner().invoke(cli, ["track", str(file), "--mlflow", server, "--json"])
    assert 0 == done.exit_code, done.output
    (said,) = json.loads(done.stdout)
    assert ("of-the-job", ["hub_token"]) == (said["experiment"], said["left_out"])
    assert said["new"] > 6


def test_nobody_waits_for_a_server_that_is_not_there() -> None:
    began = time.monotonic()
    with pytest.raises(st.errors.NotConfigured, match="wanted a tracking server"):
        st.compare([job("nobody")]).track(f"http://127.0.0.1:{free_port()}")
    assert time.monotonic() - began < 20
