"""What a log says about work that is not learning: padding, waiting for data, compiling. Compares nothing, draws nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ...core.specs.record import JobRecord

SPARE_COMPILES = 2  # beside one per shape: the first step, when the optimizer has no state yet, and the last read
LEAST_FILL = 0.5
MOST_WAIT = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Shares are fractions of all steps logged. ``shapes`` are the lengths that batches may have; None is not logged.

    ``late_compiles`` were made after the first epoch.
    """

    padding_fill: float | None = None
    data_wait: float | None = None
    compiles: int | None = None
    compile_s: float | None = None
    shapes: int | None = None
    late_compiles: int | None = None

    @property
    def needless_compiles(self) -> int:
        """More than the shapes explain."""
        if self.compiles is None or self.shapes is None:
            return 0
        return max(0, self.compiles - self.shapes - SPARE_COMPILES)


def read_work(record: JobRecord, *, emulated: bool) -> Work:
    """Of a job's lines. An emulated job waits and compiles on this machine: only its padding is its own."""
    fill, shapes = _mean(record, "padding_fill"), _last(record, "shapes")
    if emulated:
        return Work(padding_fill=fill, shapes=_whole(shapes))
    return Work(
        padding_fill=fill,
        data_wait=_mean(record, "data_wait"),
        compiles=_whole(_last(record, "compiles")),
        compile_s=_last(record, "compile_seconds"),
        shapes=_whole(shapes),
        late_compiles=_late(record),
    )


def _mean(record: JobRecord, name: str) -> float | None:
    values = [point.value for point in record.series(name) if math.isfinite(point.value)]
    return sum(values) / len(values) if values else None


def _last(record: JobRecord, name: str) -> float | None:
    value = record.last(name)
    return value if value is not None and math.isfinite(value) else None


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


def _late(record: JobRecord) -> int | None:
    """By the lines' epochs; a process that goes on after an interruption counts from 0 and is left out from there on."""
    known = [
        (point.epoch, point.value)
        for point in record.series("compiles")
        if point.epoch is not None and math.isfinite(point.epoch) and math.isfinite(point.value)
    ]
    early = [value for epoch, value in known if epoch <= 1]
    late = [value for epoch, value in known if epoch > 1]
    if not early or not late:
        return None
    return max(0, round(max(late) - max(early)))
