"""The metric store keeps metric points in a file per job, and puts them into moto in batches, again after a restart."""

from __future__ import annotations

import json
import threading
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from .metrics import NAMESPACE, Point

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from ..http.moto import Moto

_BATCH = 100


class MetricStore:
    """One file of points for each job of a region."""

    def __init__(self, root: Path, moto: Moto, region: str) -> None:
        self._root = root
        self._moto = moto
        self._region = region
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

    def values(self, job: str, name: str) -> list[float]:
        """Return every value of one metric of a job so far, in their order."""
        file = self._root / f"{job}.jsonl"
        kept = list(_points(file.read_text(encoding="utf-8").splitlines())) if file.exists() else []
        with self._lock:
            waiting = list(self._waiting.get(job, ()))
        return [value for known, value, _ in [*kept, *waiting] if known == name]

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
        self._moto.query("monitoring", "PutMetricData", "2010-08-01", parameters, region=self._region)


def _points(rows: Iterable[str]) -> Iterable[Point]:
    for row in rows:
        try:
            name, value, at = json.loads(row)
        except ValueError:  # torn by a kill in the middle of a write
            continue
        yield (str(name), float(value), int(at))
