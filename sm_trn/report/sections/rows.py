"""The numbers of one job, read off its record: rates, seconds, phases, price, cost. Compares nothing, draws nothing.

An emulated job has no rate, no phase, no price and no cost here, so nothing further on can show or sum one."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from ...core.formatting import numbers as fmt
from ...core.formatting.printable import one_line
from ...core.logs.throughput import Throughput, throughput
from ...core.pricing.book import PriceBook
from ...core.specs.record import JobRecord, Origin
from ...core.specs.snapshot import JobStatus
from ...diagnosis.health.health import health
from ..jobs import WatchRow

NEEDED_STEPS = 200  # fewer say nothing about a steady rate
_TRANSFER = frozenset({"Downloading", "DownloadingTrainingImage", "Uploading"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Phases:
    """Where the billed seconds of a job went. They add up to ``billable_s``; a spot discount is spread evenly."""

    transfer_s: float
    warmup_s: float
    steady_s: float

    @property
    def total_s(self) -> float:
        return self.transfer_s + self.warmup_s + self.steady_s


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedJob(WatchRow):
    """One job of a comparison. What is not known is None. ``region`` is whose prices it has.

    ``too_short`` holds the steps of a log that is too short for a rate.
    """

    record: JobRecord
    slot: int
    region: str
    iterations: Throughput | None
    samples: Throughput | None
    too_short: int | None
    phases: Phases | None
    accuracy: float | None
    final_loss: float | None

    @property
    def emulated(self) -> bool:
        return is_emulated(self.record)

    @property
    def billable_s(self) -> float | None:
        return self.snapshot.billable_s

    @property
    def completed(self) -> bool:
        return self.snapshot.status is JobStatus.COMPLETED

    @property
    def published(self) -> bool:
        return self.record.origin is Origin.PUBLISHED

    @property
    def wall_s(self) -> float | None:
        """Seconds from submit to end, waits and interruptions included, of a completed job whose times are known."""
        job = self.snapshot
        if not self.completed or job.created is None or job.ended is None:
            return None
        return (job.ended - job.created).total_seconds()

    def throughput(self, unit: str) -> Throughput | None:
        return self.samples if unit == "samples/s" else self.iterations

    def usd_per_1000(self, unit: str) -> float | None:
        """Price of 1,000 iterations or samples at the measured rate: what steady training costs, start-up left out."""
        rate = self.throughput(unit)
        if self.price is None or rate is None or rate.median <= 0:
            return None
        return float(self.price.usd_per_hour) * self.snapshot.count / 3600 / rate.median * 1000


def is_emulated(record: JobRecord) -> bool:
    """Return True if the record's origin or its job's ARN says that the job was emulated."""
    return record.origin is Origin.EMULATED or record.snapshot.emulated


def read_job(
    record: JobRecord, *, label: str, slot: int, book: PriceBook, at: date | str | None, region: str | None = None
) -> ComparedJob:
    """Read a record, priced at the newest price on or before ``at`` in ``region`` (its own when None)."""
    job, points, emulated = record.snapshot, record.points, is_emulated(record)
    steps = max((point.step for point in points if point.step is not None and math.isfinite(point.step)), default=None)
    too_short = None if emulated or steps is None or steps >= NEEDED_STEPS else int(steps)
    if not record.series("steps_per_second"):
        too_short = None
    rated = not emulated and too_short is None
    iterations = throughput(points, unit="it/s") if rated else None
    accuracy = record.last("eval_accuracy")
    final_loss = record.last("loss")
    return ComparedJob(
        snapshot=job,
        record=record,
        label=label,
        slot=slot,
        region=region or job.region,
        health=health(job, None, points, now=math.nan),
        price=None if emulated else book.of(job.machines, region or job.region, at=at),
        iterations=iterations,
        samples=throughput(points, unit="samples/s") if rated else None,
        too_short=too_short,
        phases=None if emulated else _phases(record, steps, iterations),
        accuracy=_finite(record.last("accuracy") if accuracy is None else accuracy),
        final_loss=record.last("train_loss") if final_loss is None else final_loss,  # NaN stays: that is what happened
    )


def samples_per_iteration(row: ComparedJob) -> float | None:
    """The global batch, as the two rates of one log give it."""
    if row.samples is None or row.iterations is None or row.iterations.median <= 0:
        return None
    return row.samples.median / row.iterations.median


def settings(row: ComparedJob) -> Mapping[str, str]:
    """Hyperparameters that are the script's own, as a person would write them."""
    return {
        one_line(key): one_line(_plain(value))
        for key, value in row.snapshot.hyperparameters.items()
        if not key.startswith("sagemaker_")
    }


def _phases(record: JobRecord, steps: float | None, rate: Throughput | None) -> Phases | None:
    """Transfers by the service's own times; warm-up is what training took beyond ``steps`` at the steady rate."""
    job = record.snapshot
    end = job.ended or job.modified
    if not job.billable_s or end is None or not any(item.status == "Training" for item in job.transitions):
        return None
    transfer = sum(item.seconds(end) for item in job.transitions if item.status in _TRANSFER)
    training = sum(item.seconds(end) for item in job.transitions if item.status == "Training")
    if rate is not None and rate.windows and steps and rate.median > 0:
        steady = min(training, steps / rate.median)
    else:
        steady = max(0.0, training - (_finite(record.last("first_step_seconds")) or 0.0))
    whole = transfer + training
    if whole <= 0:
        return None
    scale = job.billable_s / whole
    return Phases(transfer_s=transfer * scale, warmup_s=(training - steady) * scale, steady_s=steady * scale)


def _plain(text: str) -> str:
    """SageMaker stores hyperparameters JSON-encoded; ``"gloo"`` is written gloo."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    if isinstance(value, float) and math.isfinite(value):
        return fmt.small(value)
    return value if isinstance(value, str) else text


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
