"""sm-trn cost"""

from __future__ import annotations

from collections.abc import Callable

import click

from ..pricing import job_cost
from ..report import format as form
from ..report import published_record
from ..session import Session, known_prices
from ..specs import JobSnapshot
from .shared import connection_options, emit, json_option, say


@click.command("cost")
@click.argument("names", nargs=-1, required=True)
@click.option("--at", help="Prices of this date, e.g. 2022-12-31; default: the newest known.")
@json_option
@connection_options
def command(names: tuple[str, ...], *, at: str | None, as_json: bool, connection: Callable[[], Session]) -> None:
    """What the jobs NAMES cost: billable seconds × instances × dated price. No cost is ever guessed."""

    def snapshot(name: str) -> JobSnapshot:
        found = published_record(name)
        if found is not None:
            return found.snapshot
        return connection().attach(name).snapshot()

    rows = []
    for name in names:
        job = snapshot(name)
        price = known_prices().find(job.instance, job.region, at=at)
        cost = job_cost(job, price)
        rows.append(
            {
                "name": job.name,
                "emulated": job.emulated,
                "billable_s": job.billable_s,
                "instances": job.count,
                "usd_per_hour": price.usd_per_hour if price else None,
                "price_as_of": price.as_of if price else None,
                "price_inferred": price.inferred if price else None,
                "cost_usd": cost.rounded if cost else None,
            }
        )
        if not as_json:
            say(f"{job.name}  {cost or _why_not(job, priced=price is not None)}")
    if as_json:
        emit(rows)


def _why_not(job: JobSnapshot, *, priced: bool) -> str:
    if job.emulated:
        seconds = form.billable(job.billable_s, emulated=True) if job.billable_s else "nothing billed yet"
        return f"EMULATED on this machine, no cost ({seconds})"
    if job.billable_s is None:
        return "nothing billed yet"
    return "no cost" if priced else f"no price for {job.instance} in {job.region}; no cost is guessed"
