"""A live job's log and metrics, from the emulator over HTTP: selection, download, views, and the classic analysis."""

from __future__ import annotations

import dataclasses
import json
import math
import subprocess
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from command import sm_trn
from fakes.classic_analysis import classic_lines
from jobs import job_of

import sm_trn as st
from sm_trn.core.ports import LogBatch, LogCursor, StreamPlace, parse_cursor
from sm_trn.wiring import Session

pytestmark = pytest.mark.local

RANKS = """
import argparse, time
parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=4)
args = parser.parse_args()
for step in range(1, args.steps + 1):
    for rank in range(2):
        values = {"loss": 1.0 / step, "learning_rate": 2.38e-05 / step, "epoch": float(step)}
        print("[1,%d]<stdout>:%r" % (rank, values), flush=True)
    print(" 10%%|#    | %d/10\\r 20%%|##   | %d/10" % (step, step), flush=True)
    print("custom speed=%de-3" % step, flush=True)
    time.sleep(0.05)
print("{'eval_loss': nan, 'eval_accuracy': 0.75, 'epoch': 4.0}", flush=True)
print("{'train_runtime': 12.5, 'train_samples_per_second': 8.0, 'train_loss': 0.5, 'epoch': 4.0}", flush=True)
"""


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> st.JobSpec:
    return job_of(
        tmp_path_factory.mktemp("source"),
        RANKS,
        name="ranks",
        compute=st.Compute("ml.c5.xlarge", count=2),
        metrics=(
            *st.TRAINER_METRICS,
            st.MetricRule("speed", r"speed=([0-9.]+)"),
            st.MetricRule("word", r"custom (\w+)="),
            st.MetricRule("mantissa", r"'learning_rate': ([0-9.]*)"),
        ),
    )


@pytest.fixture(scope="module")
def done(session: Session, spec: st.JobSpec) -> st.TrainingJob:
    job = session.submit(spec)
    job.wait(progress=False)
    return job


def test_lines_are_selected_by_host_rank_and_expression(done: st.TrainingJob) -> None:
    every = list(done.logs())
    assert {"algo-1", "algo-2"} == {event.host for event in every}
    chosen = list(done.logs(host="algo-2", rank=1, matching=r"'epoch': [34]\.0"))
    assert [event for event in every if event in chosen] == chosen
    assert [("algo-2", 1), ("algo-2", 1)] == [(event.host, event.rank) for event in chosen]


def test_since_begins_where_it_says(done: st.TrainingJob) -> None:
    every = list(done.logs())
    middle = every[len(every) // 2].time_s
    stamp = datetime.fromtimestamp(middle, timezone.utc).isoformat()
    assert [event for event in every if event.time_s >= middle] == list(done.logs(since=stamp))
    assert [] == list(done.logs(since="0s"))


def test_ranks_and_hosts_count_once_and_the_jobs_own_rule_comes_along(done: st.TrainingJob) -> None:
    with pytest.warns(UserWarning, match="metric 'word': no number in 'custom speed='"):
        frame = done.metrics()
    assert [1.0, 0.5, 1 / 3, 0.25] == list(frame[frame["name"] == "loss"]["value"])
    assert [0.001, 0.002, 0.003, 0.004] == sorted(set(frame[frame["name"] == "speed"]["value"]))


@pytest.mark.filterwarnings("ignore:metric 'word'")
def test_views_hold_a_row_a_line(done: st.TrainingJob) -> None:
    train, evaluation, summary = (done.metrics(view=view) for view in ("train", "eval", "summary"))
    assert [1.0, 2.0, 3.0, 4.0] == list(train["epoch"])
    assert ["step", "epoch", "host", "rank", "time", "loss", "learning_rate", "mantissa"] == list(train.columns)
    assert (0.75, True) == (evaluation["eval_accuracy"][0], math.isnan(evaluation["eval_loss"][0]))
    assert 12.5 == done.metric_log().summary["train_runtime"] == summary["train_runtime"][0]
    with pytest.raises(st.errors.UnknownName, match="view: got 'test'"):
        done.metrics(view="test")  # type: ignore[arg-type]  # that is the test


def test_the_services_truncated_exponent_stands_beside_the_right_value(done: st.TrainingJob) -> None:
    final = done.metrics(view="final").set_index("name")
    assert 5.95 == pytest.approx(final["value"]["mantissa"])
    assert 5.95e-06 == pytest.approx(final["log_value"]["mantissa"])
    assert 5.95e-06 == pytest.approx(final["value"]["learning_rate"])  # the shipped rules ask for the exponent


def test_an_emulated_job_has_no_utilization_and_that_is_an_empty_frame(done: st.TrainingJob) -> None:
    assert done.utilization().empty


def test_utilization_is_read_by_host(done: st.TrainingJob, aws: Any) -> None:
    now = done.snapshot().started
    data = [
        {
            "MetricName": "CPUUtilization", "Timestamp": now, "Value": value,
            "Dimensions": [{"Name": "Host", "Value": f"{done.name}/{host}"}],
        }
        for host, value in (("algo-1", 150.0), ("algo-2", 50.0))
    ]  # fmt: skip
    aws("cloudwatch").put_metric_data(Namespace="/aws/sagemaker/TrainingJobs", MetricData=data)
    frame = done.utilization()
    assert [("algo-1", 150.0), ("algo-2", 50.0)] == list(zip(frame["host"], frame["value"], strict=True))
    assert {"CPUUtilization"} == set(frame["name"])


def test_a_download_comes_back_and_goes_on_where_it_ended(done: st.TrainingJob, tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    assert (path,) == done.save_logs(path)
    whole = path.read_bytes()
    assert [(e.host, e.text) for e in done.logs() if "\r" not in e.text] == [
        (e.host, e.text) for e in st.read_log(path).events() if "#015" not in e.text
    ]
    done.save_logs(path)
    assert whole == path.read_bytes()
    with path.open("ab") as out:
        out.write(b"written after the last note, by a download that was killed")
    done.save_logs(path)
    assert whole == path.read_bytes()


class OnePageThenNothing:
    """A log source whose connection ends after the first page of a quarter of the log."""

    def __init__(self, source: Any) -> None:
        self._source = source

    def stream_events(self, job_name: str, cursor: LogCursor, *, streams: int | None = None) -> Iterator[LogBatch]:
        events, _ = self._source.fetch_events(job_name, cursor, streams=streams)
        places = (StreamPlace(stream=f"{job_name}/nothing"),)
        yield LogBatch(tuple(events[: len(events) // 4]), LogCursor(places, looks=1))
        raise st.errors.CloudError("reset", operation="GetLogEvents", code="ConnectionClosedError")


def test_a_download_that_broke_off_leaves_only_what_its_note_knows(
    session: Session, done: st.TrainingJob, tmp_path: Path
) -> None:
    broken = dataclasses.replace(session, logs=OnePageThenNothing(session.logs))  # type: ignore[arg-type]  # half a source
    path = tmp_path / "log.txt"
    with pytest.raises(st.errors.CloudError):
        st.TrainingJob(name=done.name, session=broken).save_logs(path)
    noted = json.loads((tmp_path / "log.txt.cursor").read_text("utf-8"))
    assert noted["sizes"]["log.txt"] == path.stat().st_size > 0
    assert 1 == parse_cursor(noted["cursor"]).looks


def test_a_file_that_is_no_download_is_not_touched(done: st.TrainingJob, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(st.SmTrnError, match="no download of ours"):
        done.save_logs(tmp_path / "mine.txt")
    assert "mine" == (tmp_path / "mine.txt").read_text()


def test_a_folder_gets_one_file_a_host(done: st.TrainingJob, tmp_path: Path) -> None:
    paths = done.save_logs(f"{tmp_path}/logs/")
    assert ["algo-1.log", "algo-2.log"] == [path.name for path in paths]
    assert {"algo-2"} == {event.host for event in st.read_log(paths[1]).events()}


def test_another_jobs_download_is_not_mixed_in(
    session: Session, spec: st.JobSpec, done: st.TrainingJob, tmp_path: Path
) -> None:
    done.save_logs(tmp_path / "log.txt")
    other = session.submit(spec.replace(compute=st.Compute("ml.c5.xlarge"), hyperparameters={"steps": 1}))
    other.wait(progress=False)
    with pytest.raises(st.SmTrnError, match="choose another name, nothing was written"):
        other.save_logs(tmp_path / "log.txt")


def shell(emulator: Any, *arguments: str) -> subprocess.CompletedProcess[str]:
    return sm_trn(*arguments, "--backend", "emulator", "--state", str(emulator.state))


def test_the_command_selects_shows_and_saves(emulator: Any, done: st.TrainingJob, tmp_path: Path) -> None:
    shown = shell(emulator, "logs", done.name, "--host", "algo-1", "--grep", "20%")
    assert ["algo-1   20%|##   | 1/10", "algo-1   20%|##   | 2/10"] == shown.stdout.splitlines()[:2]
    rows = [
        json.loads(line) for line in shell(emulator, "logs", done.name, "--rank", "1", "--json").stdout.splitlines()
    ]
    assert {1} == {row["rank"] for row in rows}
    saved = shell(emulator, "logs", done.name, "--save", str(tmp_path / "x.log"), "--json")
    assert [str(tmp_path / "x.log")] == json.loads(saved.stdout)["files"]
    wrong = shell(emulator, "logs", done.name, "--grep", "(")
    assert (1, "") == (wrong.returncode, wrong.stdout)
    assert "wanted a regular expression" in wrong.stderr


def test_the_classic_analysis_of_a_trainer_job_comes_out_as_its_own_parsing_gives_it(session: Session) -> None:
    pytest.importorskip("transformers")
    tiny = {
        "model_type": "tiny-gpt2", "dataset_name": "sample", "block_size": 32, "num_train_epochs": 3, "do_train": True,
        "max_train_samples": 400, "max_eval_samples": 100, "do_eval": True, "logging_strategy": "epoch",
        "save_strategy": "no", "per_device_train_batch_size": 8, "output_dir": "/opt/ml/model",
    }  # fmt: skip
    job = session.submit(
        st.JobSpec(
            name="gpt2-classic",
            script=st.Script("train_language_model.py"),
            framework=st.PyTorch("2.8.0", python="py312"),
            compute=st.Compute("ml.c5.xlarge"),
            hyperparameters=tiny,  # type: ignore[arg-type]  # by name
            metrics=st.TRAINER_METRICS,
            max_run_s=600,
        )
    )
    job.wait(progress=False)
    text = "\n".join(event.text for event in job.logs())
    classic, ours = classic_lines(text), job.metric_log()
    assert len(classic["train"]) >= 3
    assert classic["train"] == [dict(values) for values in ours.train]
    assert [line for line in classic["eval"] if "train_runtime" not in line] == [
        dict(values) for values in ours.eval if "eval_loss" in values
    ]
    assert classic["summary"] == dict(ours.summary)
    assert classic["summary"]["train_samples_per_second"] > 0
    train = job.metrics(view="train")
    assert [line["loss"] for line in classic["train"]] == list(train["loss"])
    assert [line["epoch"] for line in classic["train"]] == list(train["epoch"])
