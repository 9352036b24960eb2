"""The metrics of a job: read from its log lines by the expressions of its request, kept in a file, and put into moto's CloudWatch.

A queue that never blocks stands between the log and the search, and each search has a time limit.
"""

from __future__ import annotations

import json
import math
import queue
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Final

import regex

from ..http.moto import Moto

NAMESPACE: Final = "/aws/sagemaker/TrainingJobs"
_LIMIT_S = 0.25  # for one line; an honest expression needs microseconds
_QUEUE = 20_000
_DRAIN_S = 10.0
_BATCH = 100

Point = tuple[str, float, int]  # name, value, epoch milliseconds


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalMetric:
    """The last value of one metric; ``timestamp`` in whole epoch seconds."""

    name: str
    value: float
    timestamp: int


class MetricReader:
    """Feed lines, get points. ``close`` returns when every line that was taken has been looked at."""

    def __init__(
        self,
        definitions: Iterable[tuple[str, str]],
        on_point: Callable[[Point], None],
        on_note: Callable[[str], None],
    ) -> None:
        import regex  # noqa: PLC0415 - 0.03 s, of which a start of the emulator need not know

        self._on_point = on_point
        self._on_note = on_note
        self._last: dict[str, Point] = {}
        self._dropped = 0
        self._refused = False
        self._until = math.inf  # of ``time.monotonic``: lines that are still waiting then are skipped
        self._lines: queue.Queue[tuple[int, str] | None] = queue.Queue(_QUEUE)
        self._rules: dict[str, regex.Pattern[str]] = {}
        for name, text in definitions:
            try:
                self._rules[name] = regex.compile(text)
            except (regex.error, OverflowError, RecursionError) as error:  # noqa: PERF203 - a short loop
                on_note(f"metric {name!r} is off: not a regular expression: {error}")
        self._thread = threading.Thread(target=self._search, name="metrics", daemon=True) if self._rules else None
        if self._thread is not None:
            self._thread.start()

    def feed(self, timestamp: int, line: str) -> None:
        """Never waits: when the expressions cannot keep up, lines are skipped and counted."""
        if self._thread is not None:
            try:
                self._lines.put_nowait((timestamp, line))
            except queue.Full:
                self._dropped += 1

    def close(self) -> None:
        if self._thread is not None:
            self._until = time.monotonic() + _DRAIN_S
            self._lines.put(None)
            self._thread.join()
            self._thread = None
        if self._dropped:
            self._on_note(f"metrics: {self._dropped} line(s) were skipped, the expressions are too slow")

    def final(self) -> tuple[FinalMetric, ...]:
        """Return the last value of each metric, with its whole second, as the service keeps it."""
        return tuple(
            FinalMetric(name=name, value=value, timestamp=at // 1000)
            for name, value, at in sorted(dict(self._last).values())
        )

    def _search(self) -> None:
        while (item := self._lines.get()) is not None:
            at, line = item
            if time.monotonic() > self._until:
                self._dropped += 1
                continue
            for name, rule in list(self._rules.items()):
                try:
                    match = rule.search(line, timeout=_LIMIT_S, concurrent=True)
                except TimeoutError:
                    del self._rules[name]
                    self._on_note(f"metric {name!r} is off: one line took more than {_LIMIT_S} s")
                    continue
                value = _number(match[1] if rule.groups else match[0]) if match else math.nan
                if math.isfinite(value):
                    self._last[name] = (name, value, at)
                    try:
                        self._on_point((name, value, at))
                    except OSError as error:
                        if not self._refused:
                            self._on_note(f"metrics: from here on points may be missing: {error}")
                        self._refused = True


def _number(text: str | None) -> float:
    try:
        return float(text or "nan")
    except ValueError:
        return math.nan


class MetricStore:
    """One file of points for each job, put into moto again after a restart."""

    def __init__(self, root: Path, moto: Moto) -> None:
        self._root = root
        self._moto = moto
        self._lock = threading.Lock()
        self._waiting: dict[str, list[Point]] = {}
        root.mkdir(parents=True, exist_ok=True)

    def add(self, job: str, point: Point) -> None:
        with self._lock:
            batch = self._waiting.setdefault(job, [])
            batch.append(point)
            full = self._waiting.pop(job) if len(batch) >= _BATCH else None
        if full:
            self._keep(job, full)

    def flush(self, job: str) -> None:
        with self._lock:
            batch = self._waiting.pop(job, [])
        if batch:
            self._keep(job, batch)

    def restore(self) -> None:
        for file in sorted(self._root.glob("*.jsonl")):
            points = list(_points(file.read_text(encoding="utf-8").splitlines()))
            for start in range(0, len(points), _BATCH):
                self._publish(file.stem, points[start : start + _BATCH])

    def _keep(self, job: str, points: Sequence[Point]) -> None:
        self._publish(job, points)
        with (self._root / f"{job}.jsonl").open("a", encoding="utf-8") as out:
            out.writelines(json.dumps(point) + "\n" for point in points)

    def _publish(self, job: str, points: Sequence[Point]) -> None:
        parameters = {"Namespace": NAMESPACE}
        for index, (name, value, at) in enumerate(points, 1):
            row = f"MetricData.member.{index}"
            moment = datetime.fromtimestamp(at / 1000, tz=timezone.utc)
            parameters |= {
                f"{row}.MetricName": name,
                f"{row}.Value": repr(value),
                f"{row}.Timestamp": moment.isoformat(),
                f"{row}.Dimensions.member.1.Name": "TrainingJobName",
                f"{row}.Dimensions.member.1.Value": job,
            }
        self._moto.query("monitoring", "PutMetricData", "2010-08-01", parameters)


def _points(rows: Iterable[str]) -> Iterable[Point]:
    for row in rows:
        try:
            name, value, at = json.loads(row)
        except ValueError:  # torn by a kill in the middle of a write
            continue
        yield (str(name), float(value), int(at))
