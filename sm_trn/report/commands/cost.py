"""sm-trn cost"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import click

from ...cli.connection import connection_options
from ...cli.jobs.selection import name_filter, pair
from ...cli.options import json_option
from ...cli.shared import Whole, ago, at_option, say
from ...core.formatting import numbers as fmt
from ...core.formatting.missing import Missing, missing_cost, no_price_for
from ...core.pricing.cost import JobCost
from ...core.session.defaults import known_prices
from ...core.specs.snapshot import JobSnapshot
from .. import fleet, published_record
from ..fleets.rows import namer
from ..fleets.search import MOST, moment
from ..handles import ReportingSession


@click.command("cost")
@click.argument("names", nargs=-1)
@at_option
@click.option("--all", "every", is_flag=True, help="Sum all jobs.")
@click.option("--contains", callback=name_filter, help="Sum jobs whose name contains this.")
@click.option("--tag", metavar="KEY=VALUE", help="Sum jobs with this tag.")
@click.option("--since", metavar="DATE", callback=ago, help="Sum jobs created on this date or later, or since 30d.")
@click.option("--until", metavar="DATE", callback=ago, help="Sum jobs created on this date or earlier.")
@click.option(
    "--by",
    default="instance",
    show_default=True,
    help="Group the sums by instance, status, month, day, name or tag:KEY.",
)
@click.option(
    "--limit",
    default=MOST,
    show_default=True,
    type=Whole(1),
    help="Look at no more than this many jobs, the newest first.",
)
@click.option(
    "--output", type=click.Path(file_okay=False, path_type=Path), help="Write fleet.html, figures, CSV and JSON here."
)
@json_option
@connection_options
def command(  # noqa: PLR0913 - one parameter an option
    names: tuple[str, ...],
    *,
    at: str | None,
    every: bool,
    contains: str | None,
    tag: str | None,
    since: str | None,
    until: str | None,
    by: str,
    limit: int,
    output: Path | None,
    as_json: bool,
    connection: Callable[[], ReportingSession],
) -> None:
    """Show what the jobs NAMES cost: billable seconds × instances × dated price. Or sum the costs of all jobs that a search
    finds.

    Costs are never estimated. Jobs without a known price are listed and left out of the totals.

    \b
    Example: sm-trn cost --since 2026-11-01 --by tag:team --output fleet/
    """
    searched = every or any((contains, tag, since, until))
    if bool(names) == searched:
        raise click.UsageError("wanted either NAMES or a search: --all, --contains, --tag, --since, --until")
    namer(by)
    try:
        wanted, first, last = pair(tag), moment(since), moment(until, end=True)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    if first is not None and last is not None and first > last:
        raise click.UsageError(f"--since: got {since}, wanted a date that is not after --until {until}")
    if names:
        records = {name: published_record(name) for name in names}
        jobs = [each.snapshot if each else connection().attach(name).snapshot() for name, each in records.items()]
        costs = fleet(jobs, book=known_prices(), at=at)
    else:
        costs = connection().fleet(
            contains or "", tag=wanted, after=since, before=until, tags=by.startswith("tag:"), at=at, limit=limit
        )
    written = costs.save(output, by=by) if output is not None else ()
    if as_json:
        click.echo(costs.to_json(by=by))
        return
    if names:
        say("\n".join(cost_line(row.snapshot, row.cost) for row in costs.rows))
    else:
        say(costs.text(max(80, shutil.get_terminal_size().columns), by=by))
    for path in written:
        say(f"wrote {path}")


def cost_line(job: JobSnapshot, cost: JobCost | None) -> str:
    """The job with its cost, or why it has none."""
    reason = missing_cost(emulated=job.emulated, billed=job.billable_s is not None, in_tokens=job.in_tokens)
    words = str(reason)
    if reason is Missing.EMULATED and job.billable_s is not None:
        price = known_prices().of(job.machines, job.region)
        words = f"{reason} ({fmt.billable(job.billable_s, emulated=True)})"
        words += f"; on AWS {fmt.instances(job.instance, job.count)} at {price} each" if price is not None else ""
    elif reason is Missing.NO_PRICE:
        words = f"{no_price_for(job.instance, job.region)}; none is guessed"
    return f"{job.name}  {cost or words}"
