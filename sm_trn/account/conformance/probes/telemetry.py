"""Logs and metrics of a job that ended: streams, the order of lines, pages, how soon all are there, and the metrics read of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from ....core.specs.json import Json, Object
from ...policies.parts import LOG_GROUP
from ..bench import Bench
from ..probe import TELEMETRY, Probe

OWN = "conformance "  # every line of a run's scripts begins so; what else a container prints is not kept
_LINES = 4
_PAGES = 5  # of a job's few lines


def _stream(bench: Bench, key: str) -> str:
    bench.until(key, kept=False)
    request: Object = {"logGroupName": LOG_GROUP, "logStreamNamePrefix": f"{bench.name(key)}/"}
    outcome = bench.ask("logs:DescribeLogStreams", request, kept=False)
    rows = outcome.answer.get("logStreams")
    first = rows[0] if isinstance(rows, list) and rows else {}
    return str(first.get("logStreamName", "")) if isinstance(first, Mapping) else ""


def own_lines(answer: Object) -> Json:
    """The lines of the run's own scripts, in the order of the answer."""
    rows = answer.get("events")
    events = [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
    kept = [row for row in events if str(row.get("message", "")).startswith(OWN)]
    return {**answer, "events": kept}


def _count(answer: Object) -> int:
    lines = own_lines(answer)
    events = lines.get("events") if isinstance(lines, Mapping) else []
    return len(events) if isinstance(events, list) else 0


def _streams(answer: Object) -> Json:
    """Sizes and times of streams count lines that are not ours; their names and members are kept."""
    return {**answer, "nextToken": None} if "nextToken" in answer else answer


def _names(bench: Bench) -> None:
    bench.until("plain", kept=False)
    request: Object = {"logGroupName": LOG_GROUP, "logStreamNamePrefix": f"{bench.name('plain')}/"}
    bench.polled("logs:DescribeLogStreams", request, lambda answer: bool(answer.get("logStreams")), "", _streams)


def _lines(key: str, wanted: int, bench: Bench) -> None:
    request: Object = {"logGroupName": LOG_GROUP, "logStreamName": _stream(bench, key), "startFromHead": True}
    bench.polled("logs:GetLogEvents", request, lambda answer: _count(answer) >= wanted, "from the head", own_lines)
    _to_the_end(bench, request)


def _to_the_end(bench: Bench, request: Object) -> None:
    """Behind the last line the service sends back the token that it was sent: this is how a reader knows the end."""
    token = bench.ask("logs:GetLogEvents", request, kept=False).text("nextForwardToken")
    for _ in range(_PAGES):
        outcome = bench.ask("logs:GetLogEvents", {**request, "nextToken": token}, kept=False)
        if outcome.text("nextForwardToken") == token or outcome.code:
            break
        token = outcome.text("nextForwardToken")
    if token:
        bench.ask("logs:GetLogEvents", {**request, "nextToken": token}, "behind the end", keep=own_lines)


def _no_stream(bench: Bench) -> None:
    request: Object = {"logGroupName": LOG_GROUP, "logStreamName": f"{bench.name('absent')}/algo-1-1"}
    bench.ask("logs:GetLogEvents", request, "a stream that does not exist")


def _metrics(bench: Bench) -> None:
    """The last value of the metric that the request reads from the log."""
    request = {"TrainingJobName": bench.job("plain")}
    bench.until("plain", kept=False)

    def final(answer: Object) -> Json:
        return {name: value for name, value in answer.items() if name == "FinalMetricDataList"}

    ready = "FinalMetricDataList"
    bench.polled("sagemaker:DescribeTrainingJob", request, lambda answer: ready in answer, "final metrics", final)


_READ = ("sagemaker:DescribeTrainingJob", "logs:DescribeLogStreams", "logs:GetLogEvents")
PROBES: Final = (
    Probe(
        name="streams of a job",
        battery=TELEMETRY,
        sends=("sagemaker:DescribeTrainingJob", "logs:DescribeLogStreams"),
        send=_names,
        jobs=("plain",),
    ),
    Probe(
        name="lines in order", battery=TELEMETRY, sends=_READ, send=partial(_lines, "plain", _LINES), jobs=("plain",)
    ),
    Probe(
        name="lines of a failed job",
        battery=TELEMETRY,
        sends=_READ,
        send=partial(_lines, "failing", 1),
        jobs=("failing",),
    ),
    Probe(name="lines of no job", battery=TELEMETRY, sends=("logs:GetLogEvents",), send=_no_stream),
    Probe(
        name="final metrics",
        battery=TELEMETRY,
        sends=("sagemaker:DescribeTrainingJob",),
        send=_metrics,
        jobs=("plain",),
    ),
)
