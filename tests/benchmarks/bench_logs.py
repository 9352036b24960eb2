"""How fast a log is read: python tests/benchmarks/bench_logs.py [MEGABYTES [STREAMED_MEGABYTES]]. Run on demand, never as a test.

1. Metrics out of a file: `read_log(path).metrics()` beside the classic notebook's way (read, split, slice between the first braces,
   `ast.literal_eval`), on the same file and with the same answer, for logs from all metrics to nearly none.
2. The same from events, as they come out of CloudWatch.
3. Memory while STREAMED_MEGABYTES (1,000 unless told) run through the CloudWatch reader and the metric reader: pages are
   made as they are asked for, so what grows is ours.
"""

from __future__ import annotations

import re
import resource
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

sys.path.insert(0, str(Path(__file__).parent.parent))

from fakes.classic_analysis import classic_lines

from sm_trn import read_log
from sm_trn.core.aws.logs import CloudWatchLogs
from sm_trn.core.logs import LogEvent, MetricReader
from sm_trn.core.ports import LogCursor

T = TypeVar("T")
# How many lines of bars and chatter stand between two metric lines: Trainer's defaults log every 500 steps, its examples
# every 10; the published compiler example once an epoch.
TEXTURES = {"every line a metric": 0, "a metric every 10 lines": 10, "every 40 lines": 40, "every 500 lines": 500}
# The Trainer logs of a public collection of 52 (680 kB) hold one metric line in 3 kB of bars and plain lines.
REALISTIC = "every 40 lines"
TRACED_MB = 20  # tracing makes everything slow


def log_lines(between: int) -> Iterator[str]:
    step = 0
    while True:
        step += 1
        rate, norm = 5e-5 / step, 1.0 + 1 / step
        yield f"{{'loss': {2.5 / step**0.5:.4f}, 'grad_norm': {norm!r}, 'learning_rate': {rate!r}, 'epoch': {step / 100:.2f}}}"
        for index in range(between):
            if index % 5 == 4:
                yield f"2026-11-20 16:42:{step % 60:02d},{index:03d} sagemaker-training-toolkit INFO     Reporting training"
            else:
                done = (step + index) % 100
                yield f" {done:2d}%|{'█' * (done // 10):10}| {done * 25}/2500 [{done:02d}:07<11:5{done % 10}, 14.{done:02d}it/s]"


def text_of(megabytes: float, between: int) -> str:
    size, wanted, parts = 0, megabytes * 1e6, []
    for line in log_lines(between):
        parts.append(line)
        size += len(line.encode()) + 1
        if size >= wanted:
            return "\n".join(parts)
    raise AssertionError


def best(work: Callable[[], T]) -> tuple[float, T]:
    """Seconds of processor, the least of five rounds – others use the machine too – and the answer."""
    rounds = []
    for _ in range(5):
        started = time.process_time()
        answer = work()
        rounds.append(time.process_time() - started)
    return min(rounds), answer


NUMBER = r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)"
FOUR = [(name, re.compile(f"'{name}': {NUMBER}")) for name in ("loss", "grad_norm", "learning_rate", "epoch")]


def four_expressions(path: Path) -> list[dict[str, float]]:
    """What somebody writes in a minute: four compiled expressions, every line."""
    found = []
    with path.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            values = {name: float(match[1]) for name, pattern in FOUR if (match := pattern.search(line))}
            if values:
                found.append(values)
    return found


def compare(megabytes: float, path: Path) -> None:
    print(
        f"{'':28}{'classic':>10}{'ours':>10}{'ratio':>8}{'events':>10}{'four re':>10}   (MB/s, {megabytes:g} MB of UTF-8)"
    )
    for name, between in TEXTURES.items():
        text = text_of(megabytes, between)
        path.write_text(text, "utf-8")
        size = path.stat().st_size / 1e6
        classic_s, classic = best(lambda: classic_lines(path.read_text("utf-8")))
        ours_s, ours = best(lambda: read_log(path).metrics())
        assert [dict(values) for values in ours.train] == classic["train"], name
        four_s, four = best(lambda: four_expressions(path))
        assert [dict(line.values) for line in ours.lines] == four, name
        events = [LogEvent(float(index), "algo-1", line) for index, line in enumerate(text.split("\n"))]
        events_s, _ = best(lambda events=events: list(MetricReader().lines(events)))  # type: ignore[misc]  # bound at once
        mark = "  <- realistic" if name == REALISTIC else ""
        print(
            f"{name:28}{size / classic_s:10.0f}{size / ours_s:10.0f}{classic_s / ours_s:8.1f}{size / events_s:10.0f}"
            f"{size / four_s:10.0f}{mark}"
        )


def prefixed(megabytes: float, path: Path) -> None:
    """Every second line a metric, behind a launcher's prefix: our reading beside four expressions a line, side by side."""
    lines, size = [], 0.0
    for number, line in enumerate(log_lines(1)):
        lines.append(f"[1,mpirank:0,algo-1]<stdout>:{line}" if number % 2 == 0 else line)
        size += len(lines[-1].encode()) + 1
        if size >= megabytes * 1e6:
            break
    path.write_text("\n".join(lines), "utf-8")
    events = [LogEvent(float(index), "algo-1", line) for index, line in enumerate(lines)]
    four_s, four = best(lambda: four_expressions(path))
    ours_s, ours = best(lambda: read_log(path).metrics())
    events_s, _ = best(lambda: list(MetricReader().lines(events)))
    assert [dict(line.values) for line in ours.lines] == four
    print(
        f"every 2 lines, a launcher's prefix: four re {size / 1e6 / four_s:.0f} MB/s, ours {four_s / ours_s:.2f} x that, "
        f"events {four_s / events_s:.2f} x"
    )


class Tap:
    """A CloudWatch Logs client whose streams are made while they are read."""

    def __init__(self, streams: int, megabytes: float) -> None:
        self._pages = max(1, int(megabytes / streams))
        self._names = [f"bench/algo-{number}-1700000000" for number in range(1, streams + 1)]
        line = log_lines(40)
        size, page = 0, []
        while size < 1_000_000:  # a page of the service
            page.append(next(line))
            size += len(page[-1].encode())
        self._page = page
        self.served = 0

    def client(self, *_: object, **__: object) -> Any:
        return self

    def get_paginator(self, _: str) -> Any:
        return self

    def paginate(self, **_: object) -> Iterator[dict[str, Any]]:
        yield {"logStreams": [{"logStreamName": name} for name in self._names]}

    def get_log_events(self, *, nextToken: str = "f/0", **_: object) -> dict[str, Any]:  # noqa: N803 - the API's own
        number = int(nextToken[2:])
        if number == self._pages:
            return {"events": [], "nextForwardToken": nextToken}
        begin = number * 1_000_000
        events = [
            {"timestamp": begin + index * 90, "message": f"{number} {line}"} for index, line in enumerate(self._page)
        ]
        self.served += sum(len(line.encode()) for line in self._page)
        return {"events": events, "nextForwardToken": f"f/{number + 1}"}


def stream(megabytes: float) -> None:
    for streams in (1, 4):
        tap = Tap(streams, megabytes)
        reader = MetricReader()
        marks, lines = [], 0
        tracemalloc.start() if megabytes <= TRACED_MB else None
        started = time.perf_counter()
        for batch in CloudWatchLogs(tap).stream_events("bench", LogCursor()):
            lines += sum(1 for _ in reader.lines(batch.events))
            marks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        seconds = time.perf_counter() - started
        traced = f", traced peak {tracemalloc.get_traced_memory()[1] / 1e6:.0f} MB" if tracemalloc.is_tracing() else ""
        tracemalloc.stop()
        tenth = marks[len(marks) // 10]
        print(
            f"streamed {tap.served / 1e6:,.0f} MB of {streams} stream(s): {lines:,} metric lines, {seconds:.1f} s, "
            f"{tap.served / 1e6 / seconds:.0f} MB/s; resident peak {tenth:.0f} MB after a tenth, {marks[-1]:.0f} MB at the end{traced}"
        )


def main() -> None:
    whole = float(sys.argv[2]) if len(sys.argv) > 2 else 1000
    stream(whole)  # first: what is resident then is its own
    stream(min(TRACED_MB, whole))
    megabytes = float(sys.argv[1]) if len(sys.argv) > 1 else 20
    with tempfile.TemporaryDirectory() as folder:
        compare(megabytes, Path(folder, "log.txt"))
        prefixed(megabytes, Path(folder, "log.txt"))


if __name__ == "__main__":
    main()
