"""What many jobs cost together: a row per job, sums by instance, status, month, day, name or tag. Compares nothing.

Sums hold only what was billed at a known price. Emulated jobs have no cost, jobs without a price are named, and neither is
ever counted as zero.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType

from ...core.errors import SmTrnError, UnknownName
from ...core.formatting import numbers as fmt
from ...core.formatting.missing import Missing
from ...core.formatting.printable import one_line
from ...core.pricing.book import Price
from ...core.pricing.cost import JobCost, instance_seconds, spot_saving, usd_for
from ...core.specs.snapshot import JobSnapshot
from ...core.specs.units import WallSeconds
from ...core.specs.value import suggestion
from ...core.status import next_command
from ...diagnosis.health.health import Health

TAG = "tag:"
# Tags that name a person, the first that a job has. The last two hold ARNs, whose last part is the name.
PERSON_TAGS = ("owner", "user", "username", "person", "created-by", "created_by", "creator", "email",
               "sagemaker:user-profile-arn", "sagemaker:space-arn")  # fmt: skip
_RUN = re.compile(
    r"-\d{6}-\d{6}-[0-9a-f]{6}$|-\d{4}-\d{2}-\d{2}-\d{2}-\d{2}-\d{2}-\d{3}$"
)  # of this package, of the SDKs


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetRow:
    """One job. ``cost`` None: emulated, not billed yet, or no price is known. Tags that nobody read are none; ``health`` None: nobody
    read its log."""

    snapshot: JobSnapshot
    tags: Mapping[str, str]
    price: Price | None
    cost: JobCost | None
    tags_read: bool = True
    health: Health | None = None

    @property
    def instance_hours(self) -> float | None:
        if self.snapshot.billable_s is None or self.snapshot.emulated:
            return None
        return instance_seconds(self.snapshot.billable_s, self.snapshot.count) / 3600

    @property
    def spot_saved(self) -> Decimal | None:
        """What spot took off the price of the training time, in USD."""
        job = self.snapshot
        if spot_saving(job) is None or self.cost is None or self.price is None or job.training_s is None:
            return None
        return usd_for(WallSeconds(job.training_s), job.count, self.price.usd_per_hour) - self.cost.usd

    @property
    def idle_usd(self) -> Decimal | None:
        """What the job's warm pool cost between its end and the next job, or the pool's end: paid, and empty.

        https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_WarmPoolStatus.html
        """
        job = self.snapshot
        seconds = (job.raw.get("WarmPoolStatus") or {}).get("ResourceRetainedBillableTimeInSeconds")
        if not seconds or self.price is None or job.emulated:
            return None
        return usd_for(WallSeconds(float(seconds)), job.count, self.price.usd_per_hour)

    @property
    def failed_usd(self) -> Decimal | None:
        """What a failed job cost."""
        return self.cost.usd if self.cost is not None and self.snapshot.status_word == "Failed" else None

    @property
    def person(self) -> str:
        """Whom the tags name; empty where they name nobody."""
        told = {key.lower(): value for key, value in self.tags.items()}
        return next((one_line(told[key].rsplit("/", 1)[-1]) for key in PERSON_TAGS if told.get(key)), "")

    @property
    def unpriced(self) -> bool:
        """Billed, but no price is known: missing in every sum."""
        job = self.snapshot
        return self.price is None and job.billable_s is not None and not job.emulated and not job.in_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetGroup:
    """Jobs that share a value. ``usd`` sums those that have a cost; ``priced`` says how many that are.

    ``failed_usd`` is the part of it that failed jobs cost. ``idle_usd`` comes on top: warm pools without a job. ``emulated``,
    ``in_tokens``: all jobs are; ``billed``: at least one job was billed.
    """

    name: str
    jobs: int
    priced: int
    instance_hours: float
    usd: Decimal
    spot_saved: Decimal
    failed_usd: Decimal = Decimal(0)
    idle_usd: Decimal = Decimal(0)
    emulated: bool = False
    billed: bool = False
    in_tokens: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetCosts:
    """Jobs with their costs, newest first. ``at`` is the date of the prices, None: the newest known.

    ``cut``: only so many of the newest were looked at, and there are more.
    """

    rows: tuple[FleetRow, ...]
    at: str | None = None
    title: str = "Jobs"
    cut: int | None = None

    @property
    def usd(self) -> Decimal:
        """What the jobs with a known cost cost together."""
        return sum((row.cost.usd for row in self.rows if row.cost is not None), Decimal(0))

    @property
    def idle_usd(self) -> Decimal:
        """What warm pools cost while no job ran in them, on top of ``usd``."""
        return _sum(row.idle_usd for row in self.rows)

    @property
    def bought_nothing_usd(self) -> Decimal:
        """What failed jobs and idle warm pools cost."""
        return _sum(row.failed_usd for row in self.rows) + self.idle_usd

    @property
    def tags_read(self) -> bool:
        """Whether the tags of a job were read, though it may have none."""
        return any(row.tags_read for row in self.rows)

    def by(self, key: str) -> tuple[FleetGroup, ...]:
        """Sums by ``instance``, ``status``, ``month``, ``day``, ``name`` (without the time), ``person`` (as tags name one) or
        ``tag:KEY``, dearest first.

        Raises UnknownName for another key, SmTrnError for a tag or a person of jobs whose tags were not read.
        """
        name_of = _namer(key)
        if self.rows and (key == "person" or key.startswith(TAG)) and not self.tags_read:
            raise SmTrnError(f"by: got {key!r}, wanted jobs whose tags were read; session.fleet(tags=True) reads them")
        groups: dict[str, list[FleetRow]] = {}
        for row in self.rows:
            groups.setdefault(name_of(row), []).append(row)
        return tuple(
            sorted((_group(name, rows) for name, rows in groups.items()), key=lambda group: (-group.usd, group.name))
        )

    def findings(self) -> Iterator[str]:
        """What the sums say, what they leave out, and at which prices."""
        priced = [row for row in self.rows if row.cost is not None]
        dates = sorted({row.cost.price.as_of for row in priced if row.cost is not None})
        dated = f" at prices of {dates[0]}" + (f" to {dates[-1]}" if len(dates) > 1 else "") if dates else ""
        if self.cut is not None:
            yield f"There are more: only the {fmt.count(self.cut)} newest were looked at, so no sum is whole; raise the limit."
        if priced or not self.rows:
            yield f"{fmt.jobs(len(priced))} cost {fmt.usd(self.usd)} in all{dated}."
        saved = _sum(row.spot_saved for row in self.rows)
        if saved > 0:
            yield f"Spot took {fmt.usd(saved)} off the price of the training time."
        failed = [row for row in priced if row.snapshot.status_word == "Failed"]
        if failed:
            lost = _sum(row.failed_usd for row in failed)
            share = fmt.percent(float(lost / self.usd * 100)) if self.usd else fmt.percent(0)
            yield f"{fmt.jobs(len(failed))} failed and cost {fmt.usd(lost)}, {share} of all."
        idle = self.idle_usd
        if idle > 0:
            pools = sum(row.idle_usd is not None for row in self.rows)
            yield (
                f"Warm pools of {fmt.jobs(pools)} stood idle for {fmt.usd(idle)}, on top of what the jobs cost: paid, and empty."
            )
        for row in self.rows:
            if row.health is not None and row.health.needs_you:
                command = next_command(row.snapshot.name, row.snapshot.status, row.health.verdict)
                yield f"{one_line(row.snapshot.name)}: {row.health.verdict.word}, {one_line(row.health.what)}. Next: {command}"
        unpriced = sorted({row.snapshot.instance for row in self.rows if row.unpriced and row.snapshot.instance})
        if unpriced:
            yield f"No price is known for {fmt.listing(unpriced)}: {fmt.jobs(sum(row.unpriced for row in self.rows))} in no sum."
        in_tokens = sum(row.snapshot.in_tokens for row in self.rows)
        if in_tokens:
            yield f"{fmt.jobs(in_tokens)} {Missing.IN_TOKENS}: in no sum."
        waiting = sum(row.snapshot.billable_s is None and not row.snapshot.emulated for row in self.rows)
        if waiting:
            yield f"{fmt.jobs(waiting)} {Missing.NOT_BILLED_YET}, or never started."
        emulated = sum(row.snapshot.emulated for row in self.rows)
        if emulated:
            yield f"{fmt.jobs(emulated)} EMULATED on this machine: no cost, in no sum."


_NAMERS: Mapping[str, Callable[[FleetRow], str]] = MappingProxyType(
    {
        "instance": lambda row: one_line(row.snapshot.instance) or "no instance",
        "status": lambda row: one_line(row.snapshot.status_word),
        "month": lambda row: f"{row.snapshot.created:%Y-%m}" if row.snapshot.created else "no date",
        "day": lambda row: f"{row.snapshot.created:%Y-%m-%d}" if row.snapshot.created else "no date",
        "name": lambda row: _RUN.sub("", one_line(row.snapshot.name)),
        "person": lambda row: row.person or "nobody named",
    }
)


def expect_key(key: str) -> None:
    """Raises UnknownName for what no sums are made by."""
    _namer(key)


def _namer(key: str) -> Callable[[FleetRow], str]:
    tag = key.removeprefix(TAG)
    if tag and tag != key:
        return lambda row: one_line(row.tags.get(tag, "")) or f"no {tag}"
    if key not in _NAMERS:
        raise UnknownName(f"by: got {key!r}, wanted one of {', '.join(_NAMERS)} or tag:KEY{suggestion(key, _NAMERS)}")
    return _NAMERS[key]


def _group(name: str, rows: Sequence[FleetRow]) -> FleetGroup:
    return FleetGroup(
        name=name,
        jobs=len(rows),
        priced=sum(row.cost is not None for row in rows),
        instance_hours=sum(row.instance_hours or 0.0 for row in rows),
        usd=sum((row.cost.usd for row in rows if row.cost is not None), Decimal(0)),
        spot_saved=_sum(row.spot_saved for row in rows),
        failed_usd=_sum(row.failed_usd for row in rows),
        idle_usd=_sum(row.idle_usd for row in rows),
        emulated=all(row.snapshot.emulated for row in rows),
        billed=any(row.snapshot.billable_s is not None for row in rows),
        in_tokens=all(row.snapshot.in_tokens for row in rows),
    )


def _sum(values: Iterable[Decimal | None]) -> Decimal:
    return sum((value for value in values if value is not None), Decimal(0))
