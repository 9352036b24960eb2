"""The numbers of one job, read off its record: rates, seconds, phases, price, cost. Compares nothing, draws nothing.

An emulated job has no rate, no phase, no price and no cost here, so nothing further on can show or sum one. What it would take
on AWS is an estimate, which has a place of its own."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from ...core.formatting import numbers as fmt
from ...core.formatting.printable import one_line
from ...core.logs.throughput import Throughput, throughput
from ...core.pricing.book import Price, PriceBook
from ...core.pricing.cost import JobCost, job_cost, usd_for
from ...core.specs.record import JobRecord, Origin
from ...core.specs.snapshot import JobSnapshot, JobStatus
from ...core.status import StatusLook, status_look
from ...diagnosis.health.health import health
from .estimated import Estimated

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
class Row:
    """One job. What is not known is None. ``region`` is whose prices it has.

    ``too_short`` holds the steps of a log that is too short for a rate.
    """

    record: JobRecord
    label: str
    slot: int
    region: str
    status: StatusLook
    emulated: bool
    iterations: Throughput | None
    samples: Throughput | None
    too_short: int | None
    steps: int | None
    epochs: float | None
    runtime_s: float | None
    billable_s: float | None
    phases: Phases | None
    not_training: float | None
    price: Price | None
    cost: JobCost | None
    accuracy: float | None
    final_loss: float | None
    baseline_accuracy: float | None
    work: Work
    estimated: Estimated | None = None  # of an emulated job: what it would take on AWS

    @property
    def snapshot(self) -> JobSnapshot:
        return self.record.snapshot

    @property
    def completed(self) -> bool:
        return self.snapshot.status is JobStatus.COMPLETED

    @property
    def wall_s(self) -> float | None:
        """Seconds from submit to end, waits and interruptions included, of a completed job whose times are known."""
        job = self.snapshot
        known = self.completed and job.created is not None and job.ended is not None
        return (job.ended - job.created).total_seconds() if known and job.ended and job.created else None

    @property
    def on_demand_usd(self) -> Decimal | None:
        """What a spot job's training seconds would have cost on demand; None without spot, or while it is not known."""
        trained = self.snapshot.training_s
        if self.cost is None or self.cost.spot_saving is None or trained is None:
            return None
        return usd_for(trained, self.snapshot.count, self.cost.price.usd_per_hour)

    @property
    def published(self) -> bool:
        return self.record.origin is Origin.PUBLISHED

    @property
    def usd_per_1000_it(self) -> float | None:
        """Price of 1,000 iterations at the measured rate: what steady training costs, start-up left out."""
        if self.price is None or self.iterations is None or self.iterations.median <= 0:
            return None
        return float(self.price.usd_per_hour) * self.snapshot.count / 3600 / self.iterations.median * 1000

    @property
    def usd_per_1000_samples(self) -> float | None:
        """Price of 1,000 samples at the measured rate: what steady training costs, start-up left out."""
        if self.price is None or self.samples is None or self.samples.median <= 0:
            return None
        return float(self.price.usd_per_hour) * self.snapshot.count / 3600 / self.samples.median * 1000

    @property
    def usd_per_epoch(self) -> float | None:
        """The whole cost, start-up and transfers included, over the epochs that the log names."""
        return float(self.cost.usd) / self.epochs if self.cost is not None and self.epochs else None

    def rate(self, unit: str) -> Throughput | None:
        return self.samples if unit == "samples/s" else self.iterations


def read_row(
    record: JobRecord,
    *,
    label: str,
    slot: int,
    book: PriceBook,
    at: date | str | None,
    region: str | None = None,
    estimated: Estimated | None = None,
) -> Row:
    """The row of a record, priced at the newest price on or before ``at`` in ``region`` (its own when None).

    ``estimated`` is kept of an emulated job only.
    """
    snapshot = record.snapshot
    emulated = is_emulated(record)
    steps = _steps(record)
    short = (
        steps
        if not emulated and steps is not None and steps < NEEDED_STEPS and record.series("steps_per_second")
        else None
    )
    rated = not emulated and short is None
    iterations = throughput(record.points, unit="it/s") if rated else None
    runtime = _first(snapshot.training_s, _finite(record.last("train_runtime")))
    priced_in = region or snapshot.region
    price = None if emulated else book.of(snapshot.machines, priced_in, at=at)
    phases = None if emulated else _phases(snapshot, steps, iterations, record.last("first_step_seconds"))
    return Row(
        record=record,
        label=label,
        slot=slot,
        region=priced_in,
        status=status_look(snapshot, health(snapshot, None, record.points, now=math.nan).verdict),
        emulated=emulated,
        iterations=iterations,
        samples=throughput(record.points, unit="samples/s") if rated else None,
        too_short=short,
        steps=steps,
        epochs=_epochs(record),
        runtime_s=runtime,
        billable_s=snapshot.billable_s,
        phases=phases,
        not_training=None if emulated else _not_training(record, steps, iterations, phases),
        price=price,
        cost=None if emulated else job_cost(snapshot, price),
        accuracy=_finite(_accuracy(record)),
        final_loss=_final_loss(record),
        baseline_accuracy=max(_baselines(record).values(), default=None),
        work=read_work(record, emulated=emulated),
        estimated=estimated if emulated else None,
    )


def is_emulated(record: JobRecord) -> bool:
    """By its origin or by its ARN: either is enough."""
    return record.origin is Origin.EMULATED or record.snapshot.emulated


def samples_per_iteration(row: Row) -> float | None:
    """The global batch, as the two rates of one log tell it."""
    if row.samples is None or row.iterations is None or row.iterations.median <= 0:
        return None
    return row.samples.median / row.iterations.median


def settings(row: Row) -> Mapping[str, str]:
    """Hyperparameters that are the script's own, as a person would write them."""
    return {
        one_line(key): one_line(_plain(value))
        for key, value in row.snapshot.hyperparameters.items()
        if not key.startswith("sagemaker_")
    }


def baseline_accuracies(row: Row) -> Mapping[str, float]:
    """``majority`` and ``bag of words``, as far as the log has them."""
    return _baselines(row.record)


def _baselines(record: JobRecord) -> dict[str, float]:
    found = {
        point.name[len("baseline_") : -len("_accuracy")].replace("_", " "): point.value
        for point in record.points
        if point.name.startswith("baseline_") and point.name.endswith("_accuracy")
    }
    return {name: value for name, value in found.items() if math.isfinite(value)}


def _final_loss(record: JobRecord) -> float | None:
    """The last training loss; NaN stays NaN, because that is what happened."""
    return _first(record.last("loss"), record.last("train_loss"))


def _steps(record: JobRecord) -> int | None:
    known = [point.step for point in record.points if point.step is not None and math.isfinite(point.step)]
    return int(max(known)) if known else None


def _epochs(record: JobRecord) -> float | None:
    known = [point.epoch for point in record.points if point.epoch is not None and math.isfinite(point.epoch)]
    known += [point.value for point in record.series("epoch") if math.isfinite(point.value)]
    return max(known, default=0.0) or None


def _phases(
    snapshot: JobSnapshot, steps: int | None, rate: Throughput | None, first_step_s: float | None
) -> Phases | None:
    """Transfers by the service's own times; warm-up is what training took beyond ``steps`` at the steady rate."""
    billable, end = snapshot.billable_s, snapshot.ended or snapshot.modified
    if not billable or end is None or not any(item.status == "Training" for item in snapshot.transitions):
        return None
    transfer = _seconds(snapshot, _TRANSFER, end)
    training = _seconds(snapshot, {"Training"}, end)
    if rate is not None and rate.windows and steps and rate.median > 0:
        steady = min(training, steps / rate.median)
    else:
        steady = max(0.0, training - (_finite(first_step_s) or 0.0))
    whole = transfer + training
    if whole <= 0:
        return None
    scale = billable / whole
    return Phases(transfer_s=transfer * scale, warmup_s=(training - steady) * scale, steady_s=steady * scale)


def _seconds(snapshot: JobSnapshot, names: Iterable[str], end: datetime) -> float:
    return sum(item.seconds(end) for item in snapshot.transitions if item.status in names)


def _not_training(record: JobRecord, steps: int | None, rate: Throughput | None, phases: Phases | None) -> float | None:
    """Share of billable time that was not steady training: by phases, else by steps at the rate, else by the Trainer's runtime."""
    billable = record.snapshot.billable_s
    if not billable:
        return None
    if phases is not None:
        return 1 - phases.steady_s / phases.total_s
    runtime = _finite(record.last("train_runtime"))
    if rate is not None and rate.windows and steps and rate.median > 0:
        used = steps / rate.median
    elif runtime is not None:
        used = runtime
    else:
        return None
    return None if record.snapshot.spot else max(0.0, 1 - used / billable)


def _plain(text: str) -> str:
    """SageMaker stores hyperparameters JSON-encoded; ``"gloo"`` is written gloo."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    if isinstance(value, float) and math.isfinite(value):
        return fmt.small(value)
    return value if isinstance(value, str) else text


def _accuracy(record: JobRecord) -> float | None:
    """What the Trainer calls ``eval_accuracy``, or a rule of one's own ``accuracy``."""
    found = record.last("eval_accuracy")
    return record.last("accuracy") if found is None else found


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _first(*values: float | None) -> float | None:
    return next((value for value in values if value is not None), None)
