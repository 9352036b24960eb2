"""Real describes and logs from public sources: every one is read, and what is known of its truth comes out."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from sm_trn.logs import LogEvent, numbers, points, printable
from sm_trn.preflight import check
from sm_trn.render import as_request, destination_of, parse_request, render
from sm_trn.specs import Severity, dump_record, json_text, parse_record, parse_snapshot, record

CORPUS = Path(os.environ.get("SM_TRN_CORPUS", Path(__file__).resolve().parents[2] / "shared" / "corpus"))
pytestmark = pytest.mark.skipif(
    not CORPUS.is_dir(), reason="the corpus of public logs is not beside the checkout (SM_TRN_CORPUS)"
)
DESCRIBES = sorted((CORPUS / "describe").glob("*.json")) if CORPUS.is_dir() else []
LOGS = sorted((CORPUS / "logs").glob("*.txt")) if CORPUS.is_dir() else []


def answer(path: Path) -> dict[str, Any]:
    body = json.loads(path.read_text("utf-8"))
    return next((body[key] for key in ("describe", "answer", "response") if isinstance(body.get(key), dict)), body)


@pytest.mark.parametrize("path", DESCRIBES, ids=lambda path: path.stem)
def test_a_real_describe_is_read_and_survives_a_record(path: Path) -> None:
    body = answer(path)
    if "TrainingJobName" not in body:
        pytest.skip(f"{path.name} holds no whole describe answer")
    snapshot = parse_snapshot(body)
    assert body["TrainingJobName"] == snapshot.name
    assert body.get("TrainingJobStatus", "") == snapshot.status_word
    assert body.get("BillableTimeInSeconds") == snapshot.billable_s
    assert len(snapshot.transitions) == len(
        [t for t in body.get("SecondaryStatusTransitions") or () if t.get("StartTime")]
    )
    assert not snapshot.emulated
    made = record(snapshot, ())
    assert made == parse_record(dump_record(made))


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_a_real_log_is_read_to_its_end(path: Path) -> None:
    lines = path.read_text("utf-8", errors="replace").replace("\r", "\n").split("\n")
    found = list(points(LogEvent(float(index), "algo-1", line) for index, line in enumerate(lines)))
    assert all(isinstance(point.value, float) for point in found)
    assert not any("\x1b" in printable(line) for line in lines)
    trainer = [line for line in lines if "'train_runtime':" in line and "}" in line]
    assert all("train_runtime" in numbers(line) for line in trainer)
    assert bool(trainer) <= ("train_runtime" in {point.name for point in found})


@pytest.mark.parametrize("path", DESCRIBES, ids=lambda path: path.stem)
def test_the_spec_behind_a_real_describe_renders_its_request(path: Path) -> None:
    body = answer(path)
    if "RoleArn" not in body or "TrainingJobName" not in body:
        pytest.skip(f"{path.name} holds no whole describe answer")
    job, request = parse_request(body), as_request(body)
    assert json_text(request) == json_text(render(job, at=destination_of(body)))
    assert {"TrainingJobArn", "SecondaryStatusTransitions", "CreationTime"}.isdisjoint(request)
    assert [] == [str(problem) for problem in check(job) if problem.severity is Severity.ERROR]
