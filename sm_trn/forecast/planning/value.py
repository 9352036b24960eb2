"""A plan: what was chosen and why the rest was not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...core.catalog.images import NEURON
from ...core.formatting.missing import Missing, no_price_for
from ...core.formatting.table import Align, Cell, Column, Mark, Row, Table
from ...core.formatting.text import WHOLE_NAMES, WIDE, Screen, table_lines
from ...core.specs.job import JobSpec
from ...core.specs.json import Json
from ..intervals import Interval
from ..jobs.value import Estimate, quantiles, span

OWN = " (the job's own)"
SHOWN = 5  # of what was not chosen, unless all are asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One way to run the job: a spec ready to submit, and what it is estimated to take."""

    job: JobSpec
    estimate: Estimate

    @property
    def wall_s(self) -> Interval:
        """From submit to end."""
        return self.estimate.wall_s

    @property
    def usd(self) -> Interval:
        """Dollars. Raises ValueError without a price."""
        if self.estimate.usd is None:
            raise ValueError(no_price_for(self.name))
        return self.estimate.usd

    @property
    def name(self) -> str:
        """``ml.p4d.24xlarge × 2 spot``."""
        return named(self.job)


@dataclass(frozen=True, slots=True)
class Excluded:
    """A choice that was not taken, and why."""

    name: str
    reason: str
    kind: str
    choice: Choice | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Choices that keep every limit, best first by ``goal``, and those excluded with their reasons.

    Limits hold at the upper end of the 80 % interval, or at the likely value where ``at`` is ``likely``. Each choice has the global batch
    of the job.

    >>> found = st.plan(job, only=["ml.trn1.*"], model="gpt2", batch=8, length=512, steps=1000)
    >>> found.best.job.compute.instance
    'ml.trn1.2xlarge'
    """

    job: JobSpec
    goal: str
    choices: tuple[Choice, ...]
    excluded: tuple[Excluded, ...]
    global_batch: float
    region: str
    deadline_s: float | None = None
    max_usd: float | None = None
    at: str = "upper"

    @property
    def best(self) -> Choice:
        """The first. Raises ValueError when nothing keeps the limits."""
        if not self.choices:
            raise ValueError(f"{self.job.name}: no choice keeps the limits; {len(self.excluded)} were looked at")
        return self.choices[0]

    @property
    def front(self) -> tuple[Choice, ...]:
        """Choices that no other one beats in both time and cost."""
        return tuple(each for each in self.choices if not any(beats(other, each) for other in self.choices))

    def retimed(self, choice: Choice) -> bool:
        """Whether the choice has another ``max_run_s`` than the job."""
        return choice.job.max_run_s != self.job.max_run_s

    def to_dict(self) -> dict[str, Json]:
        """The plan as JSON holds it."""
        front = self.front
        return {
            "estimated": True,
            "job": self.job.name,
            "goal": self.goal,
            "region": self.region,
            "global_batch": self.global_batch,
            "deadline_s": self.deadline_s,
            "max_usd": self.max_usd,
            "at": self.at,
            "choices": [{**_choice(each), "front": each in front} for each in self.choices],
            "excluded": [{"name": each.name, "reason": each.reason, "kind": each.kind} for each in self.excluded],
        }

    def text(self, *, everything: bool = False) -> str:
        """The table of ``sm-trn estimate --plan``; with ``everything`` each excluded choice has its line."""
        return "\n".join([*_title(self), "", *_table(self), *_rest(self, everything), "", *_notes(self)])

    def __str__(self) -> str:
        return self.text()


def named(job: JobSpec) -> str:
    """``ml.p4d.24xlarge × 2 spot``: instances, their number, and how they are paid."""
    return f"{job.compute.instances[0]} × {job.compute.hosts}{' spot' if job.spot is not None else ''}"


def beats(one: Choice, other: Choice) -> bool:
    """Whether ``one`` is no slower and no dearer than ``other``, and better in one of them."""
    mine, theirs = (one.wall_s.p50, one.usd.p50), (other.wall_s.p50, other.usd.p50)
    return mine != theirs and mine[0] <= theirs[0] and mine[1] <= theirs[1]


def _choice(each: Choice) -> dict[str, Json]:
    c = each.estimate.configuration
    return {
        "instance": each.job.compute.instances[0],
        "count": each.job.compute.hosts,
        "spot": each.job.spot is not None,
        "batch": c.micro_batch,
        "accumulation": c.micro_steps,
        "wall_s": list(quantiles(each.wall_s)),
        "usd": list(quantiles(each.usd)),
        "max_run_s": each.job.max_run_s,
        "distribution": each.job.distribution.name if each.job.distribution is not None else None,
    }


def _usd(amount: float) -> str:
    return f"{amount:,.2f}" if amount < 10 else f"{amount:,.1f}"


def _title(p: Plan) -> list[str]:
    keep = "keeps" if len(p.choices) == 1 else "keep"
    count, kept = len(p.choices) + len(p.excluded), len(p.choices)
    head = f"{count} choices, same global batch {p.global_batch:g}. {kept} {keep} every limit.  ESTIMATED"
    if not p.choices:
        return [head]
    best = p.best
    return [head, f"{p.goal.capitalize()}: {best.name}, about ${_usd(best.usd.p50)} in {span(best.wall_s.p50)}."]


def plan_table(p: Plan) -> Table:
    """The choices that no other one beats, best first: time and cost, each with its interval."""
    columns = [
        Column(name="batch", heading="Batch", short="BATCH × ACCUM"),
        Column(name="time", heading="Time", form=span),
        Column(name="time_range", heading="Time, 80 %", short="80 %", align=Align.LEFT, form=_range_of(span)),
        Column(name="usd", heading="USD", form=_usd),
        Column(name="usd_range", heading="USD, 80 %", short="80 %", align=Align.LEFT, form=_range_of(_usd)),
    ]
    ages = {each.estimate.price.as_of for each in p.choices if each.estimate.price is not None}
    if len(ages) > 1:
        columns.append(Column(name="price_of", heading="Price of", align=Align.LEFT))
    rows = []
    for at, each in enumerate(p.front, 1):
        price = each.estimate.price
        cells = {
            "batch": Cell(f"{each.estimate.configuration.micro_batch:g} × {each.estimate.configuration.micro_steps:g}"),
            "time": Cell(each.wall_s.p50),
            "time_range": Cell(each.wall_s),
            "usd": Cell(each.usd.p50),
            "usd_range": Cell(each.usd),
            "price_of": Cell(Missing.NO_PRICE if price is None else f"{price.as_of}{' i' * price.inferred}"),
        }
        mark = Mark(glyph="→" if at == 1 else " ", ascii=">" if at == 1 else " ")
        rows.append(Row(name=each.name, rank=at, mark=mark, cells=cells))
    return Table(columns=tuple(columns), rows=tuple(rows), rows_are="Instances", ranked=True)


def _range_of(form: Callable[[float], str]) -> Callable[[Interval], str]:
    return lambda interval: f"{form(interval.p10)}-{form(interval.p90)}"


def _table(p: Plan) -> list[str]:
    return table_lines(plan_table(p), Screen(width=WIDE), WHOLE_NAMES) if p.choices else []


@dataclass(frozen=True, slots=True)
class _Other:
    """A machine that is no choice of the table: why, in words, and the kind of an exclusion."""

    name: str
    why: str
    kind: str | None = None


def _others(p: Plan) -> list[_Other]:
    """Choices that another one beats, then those that are excluded; the job's own machine before all."""
    front, found = p.front, []
    for each in p.choices:
        if each not in front:
            better = next(at for at, other in enumerate(front, 1) if beats(other, each))
            what = f"${_usd(each.usd.p50)} in {span(each.wall_s.p50)}: choice {better} is cheaper and quicker"
            found.append(_Other(each.name, what))
    found += [_Other(each.name, each.reason, each.kind) for each in p.excluded]
    own = named(p.job)
    return sorted(found, key=lambda other: other.name != own)


def _rest(p: Plan, everything: bool) -> list[str]:
    others, own = _others(p), named(p.job)
    if not others:
        return []
    shown = others if everything else others[:SHOWN]
    found = ["", "Not chosen"]
    found += [f"  {each.name:<28} {each.why}{OWN if each.name == own else ''}" for each in shown]
    if len(shown) < len(others):
        kinds = Counter(each.kind for each in others[SHOWN:] if each.kind is not None)
        more = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
        found += [f"  {len(others) - len(shown)} more{': ' if more else ''}{more}. --all lists them"]
    return found


def _alike(p: Plan) -> list[str]:
    """Choices that the estimate cannot tell from the first: their intervals overlap in what the goal is about."""

    def reach(each: Choice) -> Interval:
        return each.usd if p.goal == "cheapest" else each.wall_s

    alike = [at for at, each in enumerate(p.front, 1) if reach(each).p10 <= reach(p.front[0]).p90]
    if len(alike) < 2:
        return []
    which = f"{', '.join(map(str, alike[:-1]))} and {alike[-1]}"
    return [f"The intervals of choices {which} overlap: which is {p.goal}, a trial tells: sm-trn estimate --measure."]


def _notes(p: Plan) -> list[str]:
    lines = _alike(p)
    lines += [
        f"Choice {at} is the job's own machine." for at, each in enumerate(p.front, 1) if each.name == named(p.job)
    ]
    if p.deadline_s is not None or p.max_usd is not None:
        where = "at the upper end of the 80 % interval" if p.at == "upper" else "at the likely value"
        lines.append(f"Limits hold {where}.")
    longer = [f"{at}: max_run_s = {each.job.max_run_s:_}" for at, each in enumerate(p.front, 1) if p.retimed(each)]
    if longer:
        lines.append(f"Choice {', '.join(longer)} where the job has {p.job.max_run_s:_}: what it is estimated to need.")
    dates = sorted({each.estimate.price.as_of for each in p.choices if each.estimate.price is not None})
    if dates:
        lines.append(
            f"Prices of {', '.join(dates)} in {p.region}. Wait for capacity: not known. Spot saving: 50 to 75 % assumed."
        )
        if len(dates) > 1:
            lines.append(
                "The ranking mixes prices of different days: see PRICE OF; i is inferred. sm-trn catalog update renews them."
            )
    if any(isinstance(each.job.framework, NEURON) for each in p.choices):
        lines.append(
            "Trainium: AWS ended PyTorch/XLA training there in 2026; the images up to Neuron 2.29.1 still run (IMG009)."
        )
    return lines


def ordered(choices: Sequence[Choice], goal: str) -> tuple[Choice, ...]:
    """Best first: by cost then time, or by time then cost; names decide ties."""

    def first(each: Choice) -> tuple[float, float, str]:
        time, cost = each.wall_s.p50, each.usd.p50
        return (cost, time, each.name) if goal == "cheapest" else (time, cost, each.name)

    return tuple(sorted(choices, key=first))
