"""One job at one look: the numbers that its row shows, whatever shows it. Asks nobody, lays nothing out."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from ..core.formatting import numbers as fmt
from ..core.formatting.printable import one_line
from ..core.ports import StoredObjects
from ..core.pricing.book import Price
from ..core.pricing.cost import JobCost, instance_seconds, job_cost, spot_saving, usd_for
from ..core.specs.metrics import MetricPoint
from ..core.specs.snapshot import JobSnapshot
from ..core.specs.units import WallSeconds
from ..core.status import StatusLook, Verdict, next_command, status_look

if TYPE_CHECKING:
    from ..diagnosis.health.health import Health

WINDOW_S = 300.0  # what is left is judged by the last five minutes
STEADY_STEPS = 20  # fewer tell no rate


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchRow:
    """One job at one look. ``points`` are the newest numbers of its log; ``health`` and ``exception`` (of a failed script) come from
    a log that was read.

    ``tags`` are empty where nobody read them, and ``tags_read`` is then False.
    """

    snapshot: JobSnapshot
    label: str = ""
    points: tuple[MetricPoint, ...] = ()
    price: Price | None = None
    total_steps: int | None = None
    health: Health | None = None
    checkpoints: StoredObjects | None = None
    exception: str = ""
    log_read: bool = True
    tags: Mapping[str, str] = field(default_factory=dict)
    tags_read: bool = False

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
    def rate(self) -> float | None:
        """The newest rate, in ``unit``."""
        name = "samples_per_second" if self.unit == "samples/s" else "steps_per_second"
        return next((p.value for p in reversed(self.points) if p.name == name and math.isfinite(p.value)), None)

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

    def checkpoint_age_s(self, now: datetime) -> float | None:
        """Seconds since the newest object below the checkpoint URI was written; None where none was seen."""
        newest = self.checkpoints.newest if self.checkpoints is not None else None
        return None if newest is None else max(0.0, (now - newest).total_seconds())

    @property
    def machine(self) -> str:
        """Its instances; an emulated job ran on this machine, for them."""
        machine = fmt.instances(one_line(self.snapshot.instance), self.snapshot.count)
        return f"this machine, for {machine}" if self.emulated else machine

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
    def reason(self) -> str:
        """The exception that ended the script, else what the service says: its text cuts the exception out of the middle; of a job
        that is sick, what is wrong."""
        if self.sick and self.health is not None:
            return one_line(self.health.what)
        return one_line(self.exception or self.snapshot.failure_reason)

    def billed_s(self, now: datetime | None = None) -> float | None:
        """Seconds billed on each instance: of a job that ended what the service says, else those from the start to ``now``.

        ``now`` None counts what the service has billed and nothing more.
        """
        job = self.snapshot
        if job.billable_s is not None and (job.terminal or job.started is None or now is None):
            return job.billable_s
        if job.started is None or now is None:
            return None
        return max(0.0, ((job.ended or now) - job.started).total_seconds())

    def usd(self, now: datetime | None = None) -> Decimal | None:
        """Cost of ``billed_s``; None without a price, before billing begins, for an emulated job and one billed in tokens."""
        billed = self.billed_s(now)
        if self.emulated or self.snapshot.in_tokens or self.price is None or billed is None:
            return None
        return usd_for(WallSeconds(billed), self.snapshot.count, self.price.usd_per_hour)

    @property
    def at_most(self) -> bool:
        """A running spot job's discount is not known yet."""
        return self.snapshot.spot and not (self.snapshot.terminal and self.snapshot.billable_s is not None)

    @property
    def cost(self) -> JobCost | None:
        """What the service has billed, with its price."""
        return job_cost(self.snapshot, self.price)

    @property
    def instance_hours(self) -> float | None:
        if self.snapshot.billable_s is None or self.emulated:
            return None
        return instance_seconds(self.snapshot.billable_s, self.snapshot.count) / 3600

    @property
    def on_demand_usd(self) -> Decimal | None:
        """What the training seconds of a spot job would have cost on demand; None without spot, or while it is not known."""
        job = self.snapshot
        if spot_saving(job) is None or self.cost is None or self.price is None or job.training_s is None:
            return None
        return usd_for(WallSeconds(job.training_s), job.count, self.price.usd_per_hour)

    @property
    def spot_saved(self) -> Decimal | None:
        """What spot took off the price of the training time, in USD."""
        on_demand = self.on_demand_usd
        return None if on_demand is None or self.cost is None else on_demand - self.cost.usd

    @property
    def idle_usd(self) -> Decimal | None:
        """What the job's warm pool cost between its end and the next job, or the pool's end: paid, and empty.

        https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_WarmPoolStatus.html
        """
        job = self.snapshot
        seconds = (job.raw.get("WarmPoolStatus") or {}).get("ResourceRetainedBillableTimeInSeconds")
        if not seconds or self.price is None or self.emulated:
            return None
        return usd_for(WallSeconds(float(seconds)), job.count, self.price.usd_per_hour)

    @property
    def failed_usd(self) -> Decimal | None:
        return self.cost.usd if self.cost is not None and self.snapshot.status_word == "Failed" else None

    @property
    def unpriced(self) -> bool:
        """Billed, but no price is known: missing in every sum."""
        job = self.snapshot
        return self.price is None and job.billable_s is not None and not self.emulated and not job.in_tokens

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
