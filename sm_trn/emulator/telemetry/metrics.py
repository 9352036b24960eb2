"""This module reads the metrics of a job from its log lines, by the expressions of its request.

metric_worker.py does the searching; a queue that never blocks stands between the log and it. It must not
know where lines come from, nor who wants the points.
"""

from __future__ import annotations

import json
import queue
import struct
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

NAMESPACE: Final = "/aws/sagemaker/TrainingJobs"
_WORKER = Path(__file__).with_name("metric_worker.py")
_QUEUE = 20_000
_DRAIN_S = 10.0

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
        definitions: Sequence[Mapping[str, str]],
        on_point: Callable[[Point], None],
        on_note: Callable[[str], None],
    ) -> None:
        self._on_point = on_point
        self._on_note = on_note
        self._last: dict[str, Point] = {}
        self._dropped = 0
        self._lines: queue.Queue[tuple[int, str] | None] = queue.Queue(_QUEUE)
        self._threads: list[threading.Thread] = []
        if definitions:
            self._start([[entry["Name"], entry["Regex"]] for entry in definitions])

    def feed(self, timestamp: int, line: str) -> None:
        """Never waits: when the expressions cannot keep up, lines are skipped and counted."""
        if self._threads:
            try:
                self._lines.put_nowait((timestamp, line))
            except queue.Full:
                self._dropped += 1

    def close(self) -> None:
        if not self._threads:
            return
        try:
            self._lines.put(None, timeout=_DRAIN_S)
        except queue.Full:
            self._process.kill()
        for thread in self._threads:
            thread.join(_DRAIN_S)
        self._process.kill()
        self._process.wait()
        self._threads.clear()
        if self._dropped:
            self._on_note(f"metrics: {self._dropped} line(s) were skipped, the expressions are too slow")

    def final(self) -> tuple[FinalMetric, ...]:
        """Return the last value of each metric: a 32-bit float and a whole second, as the service keeps them."""
        return tuple(
            FinalMetric(name=name, value=_single(value), timestamp=at // 1000)
            for name, value, at in sorted(dict(self._last).values())
        )

    def _start(self, definitions: list[list[str]]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"PYTHONIOENCODING": "utf-8"},
            text=True,
            encoding="utf-8",
        )
        for target in (self._write, self._read):
            thread = threading.Thread(target=target, args=(definitions,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _write(self, definitions: list[list[str]]) -> None:
        pipe = self._process.stdin
        if pipe is None:
            return
        try:
            pipe.write(json.dumps(definitions) + "\n")
            while (item := self._lines.get()) is not None:
                pipe.write(json.dumps(item) + "\n")
                if self._lines.empty():
                    pipe.flush()
            pipe.close()
        except OSError:  # the worker is gone: nothing left to tell
            return

    def _read(self, _definitions: list[list[str]]) -> None:
        for row in self._process.stdout or ():
            document: Any = json.loads(row)
            if isinstance(document, dict):
                self._on_note(f"metric {document['disabled']!r} is off: {document['why']}")
            else:
                name, value, at = document
                self._last[name] = (name, value, at)
                self._on_point((name, value, at))


def _single(value: float) -> float:
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return value
