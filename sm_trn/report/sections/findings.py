"""What a comparison says, as sentences: each names its base, its values and the dates of its prices. Lays nothing out."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from ...core.formatting import numbers as fmt
from ...core.formatting.missing import Missing, no_price_for
from .rows import ComparedJob, settings
from .section import Section, flip_price, price_dates
from .sweep import sweep_headline, sweep_rest, sweep_sentence

NOISE_PCT = 1.0  # below this, one run against one run says nothing
QUANTITY: Mapping[str, str] = MappingProxyType({"it/s": "iterations per second", "samples/s": "samples per second"})


class Kind(str, enum.Enum):
    """What a finding is about, in the order in which findings are shown."""

    SWEEP = "sweep"
    SWEEP_DIFFERS = "sweep_differs"
    THROUGHPUT = "throughput"
    BILLABLE = "billable"
    COST = "cost"
    SPOT = "spot"
    FLIP = "flip"
    CHANGED = "changed"
    RUNS = "runs"
    MISSING = "missing"
    NOTE = "note"


# What limits the other findings: below them, each with a mark.
LIMITS = frozenset({Kind.CHANGED, Kind.RUNS, Kind.MISSING, Kind.NOTE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """``text`` can be quoted alone. ``headline`` leaves its values out; ``undated`` is the headline without the days of
    its prices, and ``rest`` what the headline of a sweep leaves out.

    ``change_pct`` is unrounded, None where nothing differs.
    """

    kind: Kind
    text: str
    workload: str
    job: str = ""
    base: str = ""
    headline: str = ""
    undated: str = ""
    rest: str = ""
    change_pct: float | None = None

    def __str__(self) -> str:
        return self.text


def section_findings(section: Section) -> Iterator[Finding]:
    """Every sentence about a section, job by job; what limits them comes after. Of a sweep the result is one sentence."""
    if section.sweep is not None:
        yield from _swept(section)
    elif section.base is not None:
        for row in section.others:
            yield from _compared(section, row, section.base)
    yield from _spot(section)
    yield from _runs(section)
    yield from _missing(section)
    for row in section.rows:
        guessed = ("its numbers are guessed from ordinary lines",) if any(p.guessed for p in row.record.points) else ()
        for note in (*row.record.notes, *guessed):
            yield Finding(kind=Kind.NOTE, text=f"{row.label}: {note}", job=row.label, workload=section.workload)


def section_headline(section: Section, kind: Kind) -> str:
    """The headline of the largest difference of one kind, without days of prices; or nothing."""
    if section.sweep is not None or section.base is None:
        return ""  # the figures of a sweep say a range
    found = [
        finding
        for row in section.others
        for finding in _compared(section, row, section.base)
        if finding.kind is kind and finding.headline
    ]
    largest = max(found, key=lambda finding: abs(finding.change_pct or 0.0), default=None)
    return "" if largest is None else largest.undated or largest.headline


def _swept(section: Section) -> Iterator[Finding]:
    sweep = section.sweep
    if sweep is None:
        return
    headline = sweep_headline(sweep).rstrip(".")
    text, rest = sweep_sentence(sweep), sweep_rest(sweep)
    yield Finding(kind=Kind.SWEEP, text=text, workload=sweep.workload, headline=headline, rest=rest)
    if not sweep.emulated:
        text = f"Only {fmt.listing(sweep.names)} differ{'s' if len(sweep.names) == 1 else ''} between the jobs."
        yield Finding(kind=Kind.SWEEP_DIFFERS, text=text, workload=sweep.workload)


def _about(section: Section, row: ComparedJob, base: ComparedJob, kind: Kind, text: str = "") -> Finding:
    return Finding(kind=kind, text=text, workload=section.workload, job=row.label, base=base.label)


def _compared(section: Section, row: ComparedJob, base: ComparedJob) -> Iterator[Finding]:
    """A measured job against its baseline: throughput, time, cost, the price at which the order flips, and what else differs."""
    delta = section.delta(row)
    yield from _throughput(section, row, base)
    about = _about(section, row, base, Kind.BILLABLE)
    if delta.billable_saving_pct is not None and row.billable_s is not None and base.billable_s is not None:
        values = fmt.count(row.billable_s), fmt.count(base.billable_s)
        yield _difference(about, -delta.billable_saving_pct, values, "billable time", "s per instance")
    if delta.wall_saving_pct is not None and row.wall_s is not None and base.wall_s is not None:
        values = fmt.count(row.wall_s), fmt.count(base.wall_s)
        yield _difference(about, -delta.wall_saving_pct, values, "time from submit to end", "s")
    yield from _cost(section, row, base)
    yield from _changed(section, row, base)


def _difference(
    about: Finding,
    change_pct: float,
    values: tuple[str, str],
    quantity: str,
    unit: str = "",
    *,
    same: bool = False,
    prices: str = "",
) -> Finding:
    """The sentence about one quantity; below ``NOISE_PCT``, or where it is the ``same``, it says that nothing differs."""
    if same or abs(change_pct) < NOISE_PCT:
        headline = f"{about.job} and {about.base}: no difference measured in {quantity or about.kind.value}"
        both = fmt.against(values, unit) + (f", at prices of {prices}" if prices else "")
        return replace(about, text=f"{headline} ({both}).", headline=headline)
    did = {Kind.THROUGHPUT: "ran", Kind.BILLABLE: "took"}.get(about.kind, "cost")
    return replace(
        about,
        text=fmt.finding(
            job=about.job,
            did=did,
            change_pct=change_pct,
            quantity=quantity,
            base=about.base,
            values=values,
            unit=unit,
            prices=prices,
        ),
        headline=f"{about.job} {did} {fmt.change(change_pct, quantity)} than {about.base}",
        change_pct=change_pct,
    )


def _throughput(section: Section, row: ComparedJob, base: ComparedJob) -> Iterator[Finding]:
    change, unit = section.delta(row).speedup_pct, section.unit
    ours, theirs = row.throughput(unit), base.throughput(unit)
    if change is None or ours is None or theirs is None:
        return
    whiskers = [0.0 if rate.low is None or rate.high is None else rate.high - rate.low for rate in (ours, theirs)]
    values = fmt.significant(ours.median), fmt.significant(theirs.median)
    inside = abs(ours.median - theirs.median) < min(whiskers)
    yield _difference(_about(section, row, base, Kind.THROUGHPUT), change, values, QUANTITY[unit], unit, same=inside)


def _cost(section: Section, row: ComparedJob, base: ComparedJob) -> Iterator[Finding]:
    saving, ours, theirs = section.delta(row).cost_saving_pct, row.cost, base.cost
    if saving is None or ours is None or theirs is None:
        return
    values, dates = (fmt.usd(ours.usd), fmt.usd(theirs.usd)), price_dates([ours.price, theirs.price])
    finding = _difference(_about(section, row, base, Kind.COST), -saving, values, "", prices=dates)
    if finding.change_pct is not None:
        days = fmt.listing(list(dict.fromkeys(price.as_of for price in (ours.price, theirs.price))))
        finding = replace(finding, headline=f"{finding.headline}, at prices of {days}", undated=finding.headline)
    yield finding
    flip = flip_price(section, row)
    if flip is not None:
        price, tie = flip
        when = f"{'on' if price.as_of.count('-') == 2 else 'in'} {price.as_of}{', inferred' if price.inferred else ''}"
        now = f"{fmt.usd_per_hour(price.usd_per_hour)} {when}"
        text = f"The order flips if {price.instance} falls below {fmt.usd_per_hour(tie)} ({now})."
        yield _about(section, row, base, Kind.FLIP, text)


def _changed(section: Section, row: ComparedJob, base: ComparedJob) -> Iterator[Finding]:
    ours, theirs = settings(row), settings(base)
    changed = [key for key in sorted(ours.keys() | theirs.keys()) if ours.get(key) != theirs.get(key)]
    if not changed or not ours or not theirs:
        return
    unset = str(Missing.NOT_SET)
    shown = [f"{key} {ours.get(key, unset)} against {theirs.get(key, unset)}" for key in changed[:4]]
    more = [f"{len(changed) - 4} more"] if len(changed) > 4 else []
    text = f"Not only the instances may differ: {row.label} against {base.label} has {fmt.listing([*shown, *more])}."
    yield _about(section, row, base, Kind.CHANGED, text)


def _spot(section: Section) -> Iterator[Finding]:
    for row in section.measured:
        whole, share = row.on_demand_usd, row.cost.spot_saving if row.cost else None
        if whole is None or share is None or row.cost is None:
            continue
        text = (
            f"Spot saved {row.label} {fmt.usd(whole - row.cost.usd)} of {fmt.usd(whole)} ({fmt.percent(share * 100)} of its "
            "training seconds were not billed)."
        )
        yield Finding(kind=Kind.SPOT, text=text, job=row.label, workload=section.workload)


def _runs(section: Section) -> Iterator[Finding]:
    """What the numbers stand on."""
    if not section.measured:
        return
    rates = [(row, rate) for row in section.measured if (rate := row.throughput(section.unit)) is not None]
    words = ["One run each" if len(section.measured) > 1 else "One run"]
    if any(rate.windows for _, rate in rates):
        words.append("throughput is the median of the log's windows, the first left out")
    if any(not rate.windows and not row.published for row, rate in rates):
        words.append("where a log has one rate only, it is the average with warm-up in it")
    if any(row.published for row, _ in rates):
        words.append("throughput as published")
    yield Finding(kind=Kind.RUNS, text="; ".join(words) + ".", workload=section.workload)


def _missing(section: Section) -> Iterator[Finding]:
    """What is missing, in words, with the thing to type."""

    def missing(row: ComparedJob, text: str) -> Finding:
        return Finding(kind=Kind.MISSING, text=f"{row.label}{text}", job=row.label, workload=section.workload)

    for row in section.rows:
        if row.completed and not (row.record.points or row.record.notes or row.published):
            yield missing(
                row,
                ": no number was found in its log. A MetricRule reads lines of the script's own, such as loss=0.28.",
            )
    for row in section.measured:
        if row.price is None and row.snapshot.instance:
            there = f" --region {row.region}" if row.region else ""
            price = no_price_for(row.snapshot.instance, row.region)
            yield missing(row, f": {price}; sm-trn catalog update{there} asks AWS for it.")
        if not row.completed and len(section.measured) > 1 and section.sweep is None:
            yield missing(row, f" {row.look.predicate}: its billable time and cost are not compared.")
