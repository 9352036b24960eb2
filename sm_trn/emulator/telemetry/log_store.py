"""The log store keeps one JSONL file per log stream and reads it by position, so that it survives a restart."""

from __future__ import annotations

import json
import threading
import time
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import RawIOBase
from pathlib import Path
from urllib.parse import quote, unquote

# 256 KB less 26 bytes: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutLogEvents.html
MAX_EVENT = 262_118


@dataclass(frozen=True, slots=True)
class Line:
    timestamp: int
    ingestion: int
    message: str
    index: int


@dataclass(slots=True)
class Stream:
    """The place and the time of each line of a stream; ``out`` is open while its job runs."""

    file: Path
    created: int
    offsets: array[int] = field(default_factory=lambda: array("Q"))
    stamps: array[int] = field(default_factory=lambda: array("Q"))
    size: int = 0
    out: RawIOBase | None = None


class LogLines:
    """All streams of a folder, each as ``GROUP:NAME``."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock = threading.RLock()
        self._streams: dict[str, Stream] = {}
        root.mkdir(parents=True, exist_ok=True)
        for file in sorted(root.glob("*.jsonl")):
            self._streams[unquote(file.stem)] = _scanned(file)

    def append(self, stream: str, timestamp: int, message: str) -> None:
        """Add one event; a longer message than CloudWatch takes becomes several. Raises OSError for one that cannot be kept, and
        those before and after it are whole all the same."""
        raw = message.encode("utf-8", "replace")
        for start in range(0, len(raw) or 1, MAX_EVENT):
            self._append(stream, timestamp, raw[start : start + MAX_EVENT].decode("utf-8", "ignore"))

    def finish(self, stream: str) -> None:
        with self._lock:
            entry = self._streams.get(stream)
            if entry is not None and entry.out is not None:
                entry.out.close()
                entry.out = None

    def streams(self, group: str, prefix: str = "") -> list[tuple[str, Stream]]:
        """Return the streams of a group whose names begin with ``prefix``, in order of name."""
        start = f"{group}:{prefix}"
        with self._lock:
            return [
                (name.partition(":")[2], each) for name, each in sorted(self._streams.items()) if name.startswith(start)
            ]

    def stamps(self, stream: str) -> tuple[int, ...] | None:
        """Return the times of a stream's lines; None where there is no such stream."""
        with self._lock:
            return tuple(self._streams[stream].stamps) if stream in self._streams else None

    def read(self, stream: str, start: int, stop: int) -> Iterator[Line]:
        """Yield lines ``start`` to ``stop`` (exclusive) of a stream, by position."""
        with self._lock:
            entry = self._streams[stream]
            stop = min(stop, len(entry.offsets))
            if start >= stop:
                return
            first = entry.offsets[start]
        with entry.file.open("rb") as source:
            source.seek(first)
            for index in range(start, stop):
                row = json.loads(source.readline())
                yield Line(row["t"], row["i"], row["m"], index)

    def _append(self, stream: str, timestamp: int, message: str) -> None:
        now = int(time.time() * 1000)
        with self._lock:
            entry = self._streams.get(stream) or Stream(self._root / f"{quote(stream, safe='')}.jsonl", now)
            if entry.out is None:
                entry.out = entry.file.open("ab", buffering=0)  # a killed emulator must not lose what a job said
            self._streams[stream] = entry
            timestamp = max(timestamp, entry.stamps[-1]) if entry.stamps else timestamp  # a stream is in order
            row = json.dumps({"t": timestamp, "i": now, "m": message}).encode() + b"\n"
            left = memoryview(row)
            try:
                while left:
                    left = left[entry.out.write(left) or 0 :]
            except OSError:  # the file stays as it was: later lines are found by their place
                entry.out.truncate(entry.size)
                raise
            entry.offsets.append(entry.size)
            entry.stamps.append(timestamp)
            entry.size += len(row)


def _scanned(file: Path) -> Stream:
    entry = Stream(file, int(file.stat().st_mtime * 1000))
    with file.open("rb+") as source:
        for row in source:
            if not row.endswith(b"\n"):  # torn by a kill in the middle of a write
                source.truncate(entry.size)
                break
            entry.offsets.append(entry.size)
            entry.stamps.append(json.loads(row)["t"])
            entry.size += len(row)
    if entry.stamps:
        entry.created = entry.stamps[0]
    return entry
