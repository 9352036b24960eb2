"""What is seen of a running job, as numbers, and what is worth a line when it changes. Shows nothing, polls nothing."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from ...core.formatting import numbers as fmt
from ...core.formatting.printable import cut, one_line
from ...core.pricing.book import Price
from ...core.pricing.cost import usd_for
from ...core.specs.metrics import MetricPoint
from ...core.specs.snapshot import JobSnapshot
from ...core.specs.units import WallSeconds
from ...core.status import StatusLook, Verdict, next_command, status_look
from ...diagnosis.health.health import Health

WINDOW_S = 300.0  # what is left is judged by the last five minutes
STEADY_STEPS = 20  # fewer tell no rate
SPARK = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoints:
    """What lies under a job's checkpoint URI: how many objects, and when the newest was written."""

    count: int
    newest: datetime | None

    def age_s(self, now: datetime) -> float | None:
        return None if self.newest is None else max(0.0, (now - self.newest).total_seconds())


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchRow:
    """One job at one look: ``points`` are the newest numbers of its log, ``curve`` its losses from the beginning where the
    points do not go back so far; ``health`` and ``exception`` (of a failed script) are what only a log can tell, if it was read.
    """

    snapshot: JobSnapshot
    label: str = ""
    points: tuple[MetricPoint, ...] = ()
    curve: tuple[float, ...] = ()
    price: Price | None = None
    total_steps: int | None = None
    health: Health | None = None
    checkpoints: Checkpoints | None = None
    exception: str = ""
    log_read: bool = True

    @property
    def name(self) -> str:
        return one_line(self.label or self.snapshot.name)

    @property
    def emulated(self) -> bool:
        return self.snapshot.emulated

    @property
    def look(self) -> StatusLook:
        return status_look(self.snapshot, self.health.verdict if self.health is not None else None)

    @property
    def sick(self) -> bool:
        """Whether the job runs, or ended well by its status, and needs somebody all the same."""
        return self.health is not None and self.health.needs_you and self.look.word != "failed"

    @property
    def next_command(self) -> str:
        """The command of the most useful step."""
        verdict = self.health.verdict if self.health is not None else None
        return next_command(self.snapshot.name, self.snapshot.status, verdict)

    @property
    def steady(self) -> bool:
        """Whether the job trains, and its steps come."""
        stalled = self.health is not None and self.health.verdict is Verdict.STALLED
        return self.snapshot.secondary == "Training" and not self.snapshot.terminal and not stalled

    @property
    def unit(self) -> str:
        """``it/s``, or ``samples/s`` when the log has only that."""
        names = {point.name for point in self.points}
        return "samples/s" if "samples_per_second" in names and "steps_per_second" not in names else "it/s"

    @property
    def rates(self) -> tuple[float, ...]:
        """The newest eight rates, in ``unit``."""
        name = "samples_per_second" if self.unit == "samples/s" else "steps_per_second"
        return tuple(p.value for p in self.points if p.name == name and math.isfinite(p.value))[-SPARK:]

    @property
    def step(self) -> int | None:
        return next((int(p.step) for p in reversed(self.points) if p.step is not None and math.isfinite(p.step)), None)

    @property
    def loss(self) -> float | None:
        """The newest training loss: out of the log, else what the service itself kept of it."""
        logged = next((point.value for point in reversed(self.points) if point.name == "loss"), None)
        if logged is not None:
            return logged
        final = self.snapshot.final_metrics
        return final.get("train_loss", final.get("loss"))

    @property
    def may_have_logged(self) -> bool:
        """Whether the script ran and its log was read, so that a number could have been seen."""
        return self.log_read and any(item.status == "Training" for item in self.snapshot.transitions)

    @property
    def machine(self) -> str:
        """Its instances; an emulated job ran on this machine, for them."""
        machine = fmt.instances(one_line(self.snapshot.instance), self.snapshot.count)
        return f"this machine, for {machine}" if self.emulated else machine

    @property
    def losses(self) -> tuple[float, ...]:
        """At most eight training losses from the whole run, evenly taken, the newest last."""
        found = self.curve or [p.value for p in self.points if p.name == "loss" and math.isfinite(p.value)]
        last = len(found) - 1
        return (
            tuple(found[round(place * last / (SPARK - 1))] for place in range(SPARK)) if last >= SPARK else tuple(found)
        )

    @property
    def share(self) -> float | None:
        """Of the steps that are done; None when that is not known."""
        if self.look.word == "completed":
            return 1.0
        return min(1.0, self.step / self.total_steps) if self.step is not None and self.total_steps else None

    @property
    def left_s(self) -> float | None:
        """Remaining steps over the rate of the last five minutes; None before 20 steps, never a guess from wall time."""
        rate = self._steps_per_second()
        if rate is None or self.step is None or not self.total_steps or not self.steady:
            return None
        return max(0, self.total_steps - self.step) / rate

    @property
    def open_ended(self) -> bool:
        """Whether nobody can say how much of the job is still to come."""
        return not self.snapshot.terminal and self.left_s is None

    @property
    def reason(self) -> str:
        """The exception that ended the script, else what the service says: its text cuts the exception out of the middle; of a job
        that is sick, what is wrong."""
        if self.sick and self.health is not None:
            return one_line(self.health.what)
        return one_line(self.exception or self.snapshot.failure_reason)

    def billed_s(self, now: datetime) -> float | None:
        """Billed so far, per instance: of a job that ended what the service says, else the time since billing began."""
        job = self.snapshot
        if job.billable_s is not None and (job.terminal or job.started is None):
            return job.billable_s
        if job.started is None:
            return None
        return max(0.0, ((job.ended or now) - job.started).total_seconds())

    def usd(self, now: datetime) -> Decimal | None:
        """Cost so far; None without a price, before billing begins, for every emulated job and for one that is billed in tokens."""
        billed = self.billed_s(now)
        if self.emulated or self.snapshot.in_tokens or self.price is None or billed is None:
            return None
        return usd_for(WallSeconds(billed), self.snapshot.count, self.price.usd_per_hour)

    @property
    def at_most(self) -> bool:
        """A running spot job's discount is not known yet."""
        return self.snapshot.spot and not (self.snapshot.terminal and self.snapshot.billable_s is not None)

    def _steps_per_second(self) -> float | None:
        placed = [p for p in self.points if p.step is not None and p.time_s is not None]
        if not placed or placed[-1].time_s is None:
            return None
        recent = [p for p in placed if (p.time_s or 0.0) >= (placed[-1].time_s or 0.0) - WINDOW_S]
        steps = (recent[-1].step or 0.0) - (recent[0].step or 0.0)
        if steps < STEADY_STEPS:
            return None
        rates = [p.value for p in recent if p.name == "steps_per_second" and p.value > 0 and math.isfinite(p.value)]
        if rates:
            return statistics.median(rates)
        seconds = (recent[-1].time_s or 0.0) - (recent[0].time_s or 0.0)
        return steps / seconds if seconds > 0 else None


def watch_lines(before: Sequence[WatchRow], after: Sequence[WatchRow], now: datetime) -> list[str]:
    """One stamped line per change of status and per 10 % of the steps (per 1, 2, 5, 10, 20, … steps without a total)."""
    known = {row.snapshot.name: row for row in before}
    lines: list[str] = []
    for row in after:
        old = known.get(row.snapshot.name)
        if old is not row:
            lines += [f"{fmt.iso(now)} {row.name} {text}" for text in _news(old, row, now)]
    return lines


def _news(old: WatchRow | None, row: WatchRow, now: datetime) -> Iterator[str]:
    word = row.look.word
    if old is None or old.look.word != word:
        yield word + _since(row) + "".join(_ending(row, now))
        if row.sick:
            yield f"{word}: {cut(row.reason, 160)}. Next: {row.next_command}"
    if row.steady and row.step is not None and _milestone(row) > (0 if old is None else _milestone(old)):
        yield _progress(row)


def _since(row: WatchRow) -> str:
    """How long the phase before took; nothing at the end and where the service does not say."""
    phases = row.snapshot.transitions
    if row.snapshot.terminal or len(phases) < 2 or phases[-2].ended is None:
        return ""
    return f" after {fmt.compact(phases[-2].seconds(phases[-2].ended))}"


def _ending(row: WatchRow, now: datetime) -> Iterator[str]:
    if row.look.word == "uploading" and row.step is not None:
        yield f", {fmt.count(row.step)} steps"
    if not row.snapshot.terminal:
        return
    if row.reason:
        yield f": {cut(row.reason, 160)}"
    billed = row.snapshot.billable_s
    if billed is not None:
        yield f", billed {fmt.billable(billed, emulated=row.emulated)}"
        yield f" × {row.snapshot.count}" if row.snapshot.count > 1 else ""
    cost = row.usd(now)
    if cost is not None:
        yield f", {fmt.usd(cost)}"


def _progress(row: WatchRow) -> str:
    of = f" of {fmt.count(row.total_steps)}" if row.total_steps else ""
    rate = f", {fmt.rate(row.rates[-1], row.unit)}" if row.rates and not row.emulated else ""
    loss = f", loss {fmt.loss(row.loss)}" if row.loss is not None else ""
    return f"training step {fmt.count(row.step or 0)}{of}{rate}{loss}"


def _milestone(row: WatchRow) -> int:
    """Grows when progress is worth a line."""
    step = row.step or 0
    if row.total_steps:
        return min(10, 10 * step // row.total_steps)
    if step < 1:
        return 0
    power = len(str(step)) - 1
    unit: int = 10**power
    return 3 * power + 1 + sum(step >= limit * unit for limit in (2, 5))
