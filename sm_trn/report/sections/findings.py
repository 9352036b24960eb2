"""What a comparison says, as sentences: each names its base, its values and the dates of its prices. Lays nothing out."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

from ...core.formatting import numbers as fmt
from ...core.formatting.missing import Missing, no_price_for
from ...core.logs.throughput import Throughput
from ...core.pricing.book import Price, PriceBook
from .rows import LEAST_FILL, MOST_WAIT, Row, Work, settings
from .section import Delta, Section, dated_savings, flip_price, price_dates
from .sweep import Sweep, sweep_headline, sweep_rest, sweep_sentence

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
    REPRICED = "repriced"
    NOT_TRAINING = "not_training"
    SCALING = "scaling"
    PADDING = "padding"
    DATA_WAIT = "data_wait"
    COMPILES = "compiles"
    CHANGED = "changed"
    RUNS = "runs"
    MISSING = "missing"
    NOTE = "note"
    EMULATED = "emulated"


# What limits the other findings: below them, each with a mark.
LIMITS = frozenset({Kind.CHANGED, Kind.RUNS, Kind.MISSING, Kind.NOTE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """``text`` can be quoted alone. ``headline`` leaves its values out; ``undated`` is the headline without the days of
    its prices, and ``rest`` what the headline of a sweep leaves out.

    ``short`` and ``values`` are its two halves for a card. ``change_pct`` is unrounded, None where ``quantity`` does not differ.
    """

    kind: Kind
    text: str
    workload: str
    job: str = ""
    base: str = ""
    headline: str = ""
    undated: str = ""
    rest: str = ""
    quantity: str = ""
    short: str = ""
    values: str = ""
    change_pct: float | None = None

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class _Pair:
    """A measured job and its baseline."""

    section: Section
    row: Row
    base: Row

    @property
    def delta(self) -> Delta:
        return self.section.delta(self.row)

    def rates(self) -> tuple[Throughput | None, Throughput | None]:
        return self.row.rate(self.section.unit), self.base.rate(self.section.unit)

    def says(self, kind: Kind, text: str) -> Finding:
        return Finding(kind=kind, text=text, workload=self.section.workload, job=self.row.label, base=self.base.label)

    def differs(self, kind: Kind, change_pct: float, values: tuple[str, str], **blanks: str) -> Finding:
        """The template filled in."""
        names = {"job": self.row.label, "base": self.base.label}
        text = fmt.finding(**names, **blanks, change_pct=change_pct, values=values)
        dated = f", at prices of {blanks['prices']}" if "prices" in blanks else ""
        change = fmt.change(change_pct, blanks["quantity"])
        return replace(
            self.says(kind, text),
            headline=f"{self.row.label} {blanks['did']} {change} than {self.base.label}",
            short=fmt.change(change_pct, blanks["quantity"] or kind.value),
            values=fmt.against(values, blanks.get("unit", "")) + dated,
            change_pct=change_pct,
        )

    def same(self, kind: Kind, what: str, values: str) -> Finding:
        headline = f"{self.row.label} and {self.base.label}: no difference measured in {what}"
        short = f"no difference in {what}"
        finding = self.says(kind, f"{headline} ({values}).")
        return replace(finding, headline=headline, quantity=what, short=short, values=values)


def _pairs(section: Section) -> Iterator[_Pair]:
    if section.base is not None:
        yield from (_Pair(section, row, section.base) for row in section.others)


def section_findings(section: Section, book: PriceBook) -> Iterator[Finding]:
    """Every sentence about a section, job by job; what limits them comes after. Of a sweep the result is one sentence."""
    sweep = section.sweep
    if sweep is not None:
        yield from _swept(sweep)
    said = [
        finding
        for pair in (_pairs(section) if sweep is None else ())
        for told in (
            _throughput,
            _billable,
            _wall,
            _cost,
            _flip,
            partial(_repriced, book=book),
            _not_training,
            _changed,
        )
        for finding in told(pair)
    ]
    yield from _once(said)
    yield from _spot(section)
    yield from _scaling(section)
    yield from _wasted(section)
    yield from _runs(section)
    yield from _missing(section)
    for row in section.rows:
        for note in row.record.notes:
            yield Finding(kind=Kind.NOTE, text=f"{row.label}: {note}", job=row.label, workload=section.workload)
    if section.emulated and section.measured:
        names = fmt.listing([row.label for row in section.emulated])
        text = f"{names}: EMULATED on this machine; in no percentage, total or figure of measured jobs."
        yield Finding(kind=Kind.EMULATED, text=text, workload=section.workload)


def _swept(sweep: Sweep) -> Iterator[Finding]:
    headline, rest = sweep_headline(sweep), sweep_rest(sweep)
    yield Finding(
        kind=Kind.SWEEP,
        text=sweep_sentence(sweep),
        workload=sweep.workload,
        headline=headline.rstrip("."),
        rest=rest,
    )
    if not sweep.emulated:
        yield Finding(
            kind=Kind.SWEEP_DIFFERS,
            text=f"Only {fmt.listing(sweep.names)} differ{'s' if len(sweep.names) == 1 else ''} between the jobs.",
            workload=sweep.workload,
        )


_SEVERAL = 3  # jobs of which the same is said in one sentence


def _once(said: Sequence[Finding]) -> Iterator[Finding]:
    """The findings, but one sentence for several jobs that differ in nothing."""
    same: dict[tuple[Kind, str], list[Finding]] = {}
    for finding in said:
        if finding.quantity:
            same.setdefault((finding.kind, finding.quantity), []).append(finding)
    for finding in said:
        alike = same[finding.kind, finding.quantity] if finding.quantity else []
        if len(alike) < _SEVERAL:
            yield finding
        elif finding is alike[0]:
            headline = f"{fmt.jobs(len(alike))} and {finding.base}: no difference measured in {finding.quantity}"
            yield replace(
                finding,
                text=f"{headline}.",
                headline=headline,
                values=fmt.listing([each.job for each in alike]),
                job="",
            )


def _throughput(pair: _Pair) -> Iterator[Finding]:
    change, (ours, theirs) = pair.delta.speedup_pct, pair.rates()
    if change is None or ours is None or theirs is None:
        return
    unit = pair.section.unit
    values = (fmt.significant(ours.median), fmt.significant(theirs.median))
    gap = abs(ours.median - theirs.median)
    if abs(change) < NOISE_PCT or all(gap < _spread(rate) for rate in (ours, theirs)):
        yield pair.same(Kind.THROUGHPUT, QUANTITY[unit], f"{values[0]} against {values[1]} {unit}")
    else:
        yield pair.differs(Kind.THROUGHPUT, change, values, did="ran", quantity=QUANTITY[unit], unit=unit)


def _spread(rate: Throughput) -> float:
    """Length of the whisker; 0 when there is none."""
    return 0.0 if rate.low is None or rate.high is None else rate.high - rate.low


def _billable(pair: _Pair) -> Iterator[Finding]:
    saving, ours, theirs = pair.delta.billable_saving_pct, pair.row.billable_s, pair.base.billable_s
    if saving is None or ours is None or theirs is None:
        return
    values, unit = (fmt.count(ours), fmt.count(theirs)), "s per instance"
    if abs(saving) < NOISE_PCT:
        yield pair.same(Kind.BILLABLE, "billable time", f"{values[0]} against {values[1]} {unit}")
    else:
        yield pair.differs(Kind.BILLABLE, -saving, values, did="took", quantity="billable time", unit=unit)


def _wall(pair: _Pair) -> Iterator[Finding]:
    saving, ours, theirs = pair.delta.wall_saving_pct, pair.row.wall_s, pair.base.wall_s
    if saving is None or ours is None or theirs is None:
        return
    values, what = (fmt.count(ours), fmt.count(theirs)), "time from submit to end"
    if abs(saving) < NOISE_PCT:
        yield pair.same(Kind.BILLABLE, what, f"{values[0]} against {values[1]} s")
    else:
        yield pair.differs(Kind.BILLABLE, -saving, values, did="took", quantity=what, unit="s")


def _spot(section: Section) -> Iterator[Finding]:
    """What spot took off each job's price, of what its training seconds would have cost."""
    for row in section.measured:
        whole, share = row.on_demand_usd, row.cost.spot_saving if row.cost else None
        if whole is None or share is None or row.cost is None:
            continue
        text = (
            f"Spot saved {row.label} {fmt.usd(whole - row.cost.usd)} of {fmt.usd(whole)} ({fmt.percent(share * 100)} of its "
            "training seconds were not billed)."
        )
        yield Finding(kind=Kind.SPOT, text=text, job=row.label, workload=section.workload)


def _cost(pair: _Pair) -> Iterator[Finding]:
    saving, ours, theirs = pair.delta.cost_saving_pct, pair.row.cost, pair.base.cost
    if saving is None or ours is None or theirs is None:
        return
    values, dates = (fmt.usd(ours.usd), fmt.usd(theirs.usd)), price_dates([ours.price, theirs.price])
    if abs(saving) < NOISE_PCT:
        yield pair.same(Kind.COST, "cost", f"{values[0]} against {values[1]}, at prices of {dates}")
    else:
        days = fmt.listing(list(dict.fromkeys(price.as_of for price in (ours.price, theirs.price))))
        found = pair.differs(Kind.COST, -saving, values, did="cost", quantity="", prices=dates)
        yield replace(found, headline=f"{found.headline}, at prices of {days}", undated=found.headline)


def _flip(pair: _Pair) -> Iterator[Finding]:
    found = flip_price(pair.section, pair.row)
    if found is None:
        return
    price, tie = found
    text = f"The order flips if {price.instance} falls below {fmt.usd_per_hour(tie)} ({_dated(price)})."
    yield pair.says(Kind.FLIP, text)


def _dated(price: Price) -> str:
    """``$25.25/h on 2026-09-01, inferred``; a month without a day is "in"."""
    when = "on" if price.as_of.count("-") == 2 else "in"
    return f"{fmt.usd_per_hour(price.usd_per_hour)} {when} {price.as_of}{', inferred' if price.inferred else ''}"


def _repriced(pair: _Pair, book: PriceBook) -> Iterator[Finding]:
    saving = pair.delta.cost_saving_pct
    if saving is None or pair.row.price is None or pair.base.price is None:
        return
    found = dated_savings(pair.section, pair.row, book)
    dated = [item for item in found if abs(item.saving_pct - saving) >= NOISE_PCT]
    if not dated:
        return  # the same at every date: nothing moves
    used = max(pair.row.price.as_of, pair.base.price.as_of)
    now = f"at {used} prices" if any(item.day > used for item in dated) else "at the newest"
    parts = [f"{_worded(item.saving_pct)} at {item.day} prices ({item.costs})" for item in dated]
    text = f"The difference moves with the prices: {', '.join(parts)}, {_worded(saving)} {now}."
    yield pair.says(Kind.REPRICED, text)


def _worded(saving: float) -> str:
    return f"{fmt.percent(abs(saving))} {'less' if saving >= 0 else 'more'}"


def _not_training(pair: _Pair) -> Iterator[Finding]:
    """How much of the billed time the rate cannot explain, where only rates and billable times are known."""
    if pair.row.not_training is not None or pair.base.not_training is not None:
        return
    delta, (ours, theirs) = pair.delta, pair.rates()
    billed, base_billed = pair.row.billable_s, pair.base.billable_s
    if delta.billable_saving_pct is None or ours is None or theirs is None or billed is None or base_billed is None:
        return
    work = theirs.median * base_billed
    rest = billed - work / ours.median
    if rest <= 0 or ours.median <= theirs.median:
        return
    noun = QUANTITY[pair.section.unit].split(" ")[0]
    text = (
        f"At its rate {pair.base.label} did at most {fmt.count(work)} {noun} in its billable time; if {pair.row.label} did as "
        f"many, at least {fmt.billable(rest)} of its {fmt.billable(billed)} went to something else than steady training."
    )
    yield pair.says(Kind.NOT_TRAINING, text)


def _changed(pair: _Pair) -> Iterator[Finding]:
    ours, theirs = settings(pair.row), settings(pair.base)
    changed = [key for key in sorted(ours.keys() | theirs.keys()) if ours.get(key) != theirs.get(key)]
    if not changed or not ours or not theirs:
        return
    unset = str(Missing.NOT_SET)
    shown = [f"{key} {ours.get(key, unset)} against {theirs.get(key, unset)}" for key in changed[:4]]
    more = [f"{len(changed) - 4} more"] if len(changed) > 4 else []
    text = f"Not only the instances may differ: {pair.row.label} against {pair.base.label} has {fmt.listing([*shown, *more])}."
    yield pair.says(Kind.CHANGED, text)


def _scaling(section: Section) -> Iterator[Finding]:
    """What more instances of one type brought: the rate against the smallest job's, per instance."""
    unit = section.unit
    for instance in dict.fromkeys(row.snapshot.instance for row in section.measured):
        alike = [row for row in section.measured if row.snapshot.instance == instance and row.rate(unit) is not None]
        smallest = min(alike, key=lambda row: row.snapshot.count, default=None)
        for row in alike:
            if smallest is None or row.snapshot.count <= smallest.snapshot.count:
                continue
            ours, theirs = row.rate(unit), smallest.rate(unit)
            if ours is None or theirs is None or theirs.median <= 0:
                continue
            times = row.snapshot.count / smallest.snapshot.count
            share = ours.median / theirs.median / times * 100
            values = f"{fmt.significant(ours.median)} against {fmt.significant(theirs.median)} {unit} × {times:g}"
            text = f"{row.label} reached {fmt.percent(share)} of linear scaling from {smallest.label} ({values})."
            yield Finding(
                kind=Kind.SCALING,
                text=text,
                workload=section.workload,
                job=row.label,
                base=smallest.label,
                change_pct=share - 100,
            )


def _wasted(section: Section) -> Iterator[Finding]:
    """Work that taught nothing, job by job: what it was, and what to change."""
    for row in section.measured:
        for kind, text in _waste(row.work):
            yield Finding(kind=kind, text=f"{row.label} {text}", job=row.label, workload=section.workload)


def _waste(work: Work) -> Iterator[tuple[Kind, str]]:
    if work.padding_fill is not None and work.padding_fill < LEAST_FILL:
        filled = fmt.percent(work.padding_fill * 100)
        fix = "give it more --shapes" if work.shapes else "pad each batch to its own longest text, not to one length"
        yield Kind.PADDING, f"filled {filled} of its batches with text, the rest is padding; {fix}."
    if work.data_wait is not None and work.data_wait > MOST_WAIT:
        share = fmt.percent(work.data_wait * 100)
        yield (
            Kind.DATA_WAIT,
            f"waited for data {share} of its training time; read it with more workers, or from memory.",
        )
    seconds = f" in {fmt.duration(work.compile_s)}" if work.compile_s is not None else ""
    if work.needless_compiles:
        wanted = f"{work.shapes} shape{'s' if work.shapes != 1 else ''}"
        yield (
            Kind.COMPILES,
            f"compiled {work.compiles} times{seconds} for {wanted}: some tensor's shape changes from step to step.",
        )
    elif work.late_compiles:
        share = f"{work.late_compiles} of {work.compiles} times{seconds}"
        yield Kind.COMPILES, f"compiled {share} after its first epoch: late shapes stop it again."


def _runs(section: Section) -> Iterator[Finding]:
    """What the numbers stand on."""
    if not section.measured:
        return
    rates = [(row, rate) for row in section.measured if (rate := row.rate(section.unit)) is not None]
    said = ["One run each" if len(section.measured) > 1 else "One run"]
    if any(rate.windows for _, rate in rates):
        said.append("throughput is the median of the log's windows, the first left out")
    if any(not rate.windows and not row.published for row, rate in rates):
        said.append("where a log has one rate only, it is the average with warm-up in it")
    if any(row.published for row, _ in rates):
        said.append("throughput as published")
    yield Finding(kind=Kind.RUNS, text="; ".join(said) + ".", workload=section.workload)


def _missing(section: Section) -> Iterator[Finding]:
    """What is missing, in words, with the thing to type."""
    for row in section.rows:
        if row.completed and not (row.record.points or row.record.notes or row.published):
            text = f"{row.label}: no number was found in its log. A MetricRule reads lines of the script's own, such as loss=0.28."
            yield Finding(kind=Kind.MISSING, text=text, job=row.label, workload=section.workload)
    for row in section.measured:
        if row.price is None and row.snapshot.instance:
            there = f" --region {row.region}" if row.region else ""
            fix = f"sm-trn catalog update{there} asks AWS for it"
            text = f"{row.label}: {no_price_for(row.snapshot.instance, row.region)}; {fix}."
            yield Finding(kind=Kind.MISSING, text=text, job=row.label, workload=section.workload)
        if not row.completed and len(section.measured) > 1 and section.sweep is None:
            text = f"{row.label} {row.status.predicate}: its billable time and cost are not compared."
            yield Finding(kind=Kind.MISSING, text=text, job=row.label, workload=section.workload)


def section_headline(section: Section, kind: Kind) -> str:
    """The headline of the largest difference of one kind, without days of prices; or nothing."""
    if section.sweep is not None:
        return ""  # its figures say a range
    stated = {Kind.THROUGHPUT: _throughput, Kind.BILLABLE: _billable, Kind.COST: _cost}[kind]
    found = list(_once([item for pair in _pairs(section) for item in stated(pair)]))
    if not found:
        return ""
    largest = max(found, key=lambda item: abs(item.change_pct or 0.0))
    return largest.undated or largest.headline
