"""Real describes and logs from public sources: every one is read, and what is known of its truth comes out."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from sm_trn.core.logs import LogEvent, dicts, parse_log, points, printable
from sm_trn.core.render import as_request, destination_of, parse_request, render
from sm_trn.core.specs import Severity, dump_record, json_text, parse_record, parse_snapshot
from sm_trn.core.specs.record import record
from sm_trn.rules import check

CORPUS = Path(os.environ.get("SM_TRN_CORPUS", Path(__file__).resolve().parents[2] / "shared" / "corpus"))
pytestmark = pytest.mark.skipif(
    not CORPUS.is_dir(), reason="the corpus of public logs is not beside the checkout (SM_TRN_CORPUS)"
)
DESCRIBES = sorted((CORPUS / "describe").glob("*.json")) if CORPUS.is_dir() else []
LOGS = sorted((CORPUS / "logs").glob("*.txt")) if CORPUS.is_dir() else []
TRUTH: Mapping[str, Any] = json.loads((CORPUS / "logs" / "truth.json").read_text("utf-8")) if CORPUS.is_dir() else {}

# Where the truth file, which simple expressions made, and the reader differ: what the reader says instead, and why.
DIFFERENT: Mapping[tuple[str, str], Any] = {
    # neuron_parallel_compile's trial run: its own first line says that loss and runtime mean nothing
    ("ec2_neuron_bertjp_b_precompile.txt", "train_runtime"): [],
    ("ec2_neuron_bertjp_b_torchrun_precompile.txt", "train_runtime"): [],
    # SDK v3 wraps the line over a panel and the Trainer puts its numbers in quotes; the expression saw neither
    ("grpo_p4d_torchrun_sdk3.txt", "train_runtime"): [710.8],
    # without colours or a rank, two hosts' lines cannot be told apart: no host is named rather than a wrong one
    ("hf_fsdp_neox20b_p4d_2node_ok.txt", "hosts"): set(),
    ("hf_fsdp_p4d_2node_long_oomtext.head.txt", "hosts"): set(),
    # MPI's worker hosts print no settings, so their colour stays without a name; the expression found names in texts
    ("hf_summarization_smddp_p3_16xl_2node_tables.head.txt", "hosts"): {"algo-1"},
    ("mpi_demo_3node_billed270.txt", "hosts"): {"algo-1"},
    ("smddp_maskrcnn_p3_16xl_4node_failed.head.txt", "hosts"): {"algo-1"},
    # the tail of a local-mode log has docker-compose's prefix, which the expression did not know
    ("horovod_mxnet_carriage_returns.tail.txt", "hosts"): {"algo-1"},
}


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
    assert all("train_runtime" in set(chain(*dicts(line))) for line in trainer)


def said(path: Path) -> dict[str, Any]:
    """What our reader says about a log, under the truth file's keys."""
    log = parse_log(path.read_bytes())
    metrics, ending = log.metrics(), log.ending
    losses = [line.values["loss"] for line in metrics.lines if "loss" in line.values and not line.guessed]
    return {
        "training_seconds": ending.training,
        "billable_seconds": ending.billable,
        "savings_percent": ending.savings_percent,
        "exit_code": ending.exit_code,
        "loss_dicts": len(losses),
        "first_loss": losses[0] if losses else None,
        "last_loss": losses[-1] if losses else None,
        "eval_dicts": len(metrics.eval),
        "last_eval": metrics.eval[-1] if metrics.eval else None,
        "train_runtime": [line.values["train_runtime"] for line in metrics.lines if "train_runtime" in line.values],
        "hosts": {event.host for event in log.events()} - {""},
    }


def wanted(path: Path) -> dict[str, Any]:
    known = dict(TRUTH[path.name])
    for key in ("first_loss", "last_loss"):
        known[key] = float(known[key].strip("'")) if key in known else None
    hosts = known.get("hosts", [])
    known["hosts"] = set(re.findall(r"algo-\d+(?!\d)", hosts if isinstance(hosts, str) else " ".join(hosts)))
    known["hosts"] = {re.match(r"algo-\d+", host).group() for host in known["hosts"]}  # type: ignore[union-attr]  # found so
    known["last_eval"] = dicts(known["last_eval"])[0] if "last_eval" in known else None
    defaults = {"loss_dicts": 0, "eval_dicts": 0, "train_runtime": []}
    return {key: known.get(key, defaults.get(key)) for key in said_keys()}


def said_keys() -> tuple[str, ...]:
    return (
        "training_seconds", "billable_seconds", "savings_percent", "exit_code", "loss_dicts", "first_loss", "last_loss",
        "eval_dicts", "last_eval", "train_runtime", "hosts",
    )  # fmt: skip


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_what_is_known_of_a_log_comes_out(path: Path) -> None:
    expected = wanted(path)
    for key in expected:
        expected[key] = DIFFERENT.get((path.name, key), expected[key])
    assert expected == said(path)


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_every_phase_and_the_reason_of_a_failure_come_out(path: Path) -> None:
    known, log = TRUTH[path.name], parse_log(path.read_bytes())
    lines = known.get("status_lines", [])
    ours = [f"{line.time} {line.status} - {line.message}" for line in log.status_lines]
    assert len(lines) == len(ours)
    glued = [line[len(own) :].lstrip(".") for line, own in zip(lines, ours, strict=True) if line.startswith(own)]
    assert len(glued) == len(lines)
    assert log.ending.failure_reason.startswith(known.get("failure_reason_start", ""))
    assert bool(known.get("failure_reason_start")) is bool(log.ending.failure_reason)


def test_the_differences_are_real() -> None:
    for (name, key), ours in DIFFERENT.items():
        path = CORPUS / "logs" / name
        assert ours == said(path)[key]
        assert ours != wanted(path)[key], f"{name}: {key} agrees by now; take it off the list"


@pytest.mark.parametrize("path", DESCRIBES, ids=lambda path: path.stem)
def test_the_spec_behind_a_real_describe_renders_its_request(path: Path) -> None:
    body = answer(path)
    if "RoleArn" not in body or "TrainingJobName" not in body:
        pytest.skip(f"{path.name} holds no whole describe answer")
    job, request = parse_request(body), as_request(body)
    assert json_text(request) == json_text(render(job, at=destination_of(body)))
    assert {"TrainingJobArn", "SecondaryStatusTransitions", "CreationTime"}.isdisjoint(request)
    assert [] == [str(problem) for problem in check(job) if problem.severity is Severity.ERROR]
