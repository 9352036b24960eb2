"""sm-trn compare"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from ...cli.connection import connection_options
from ...cli.jobs.selection import group, group_options
from ...cli.options import Region, json_option
from ...cli.shared import Completed, at_option, say
from ...core.catalog import limits
from ...core.session.handles import Session
from ...core.session.names import LAST
from ...core.specs.record import JobRecord
from ..comparing import as_record
from ..comparison.compare import compare
from ..published import published_names, published_record


@click.command("compare")
@click.argument("names", nargs=-1, type=Completed(published_names, files=True))
@group_options
@click.option(
    "--baseline",
    help="Compute percentages against this job. Default: the first completed measured job of each workload.",
)
@at_option
@click.option(
    "--in-region",
    "priced_in",
    type=Region(),
    metavar="REGION",
    help="Use prices of this region. Default: the region where each job ran.",
)
@click.option(
    "--output", type=click.Path(file_okay=False, path_type=Path), help="Write report.html, figures, CSV and JSON here."
)
@json_option
@connection_options
def command(  # noqa: PLR0913 - an argument for each option
    names: tuple[str, ...],
    *,
    tag: str | None,
    sweep: str | None,
    baseline: str | None,
    at: str | None,
    priced_in: str | None,
    output: Path | None,
    as_json: bool,
    connection: Callable[[], Session],
) -> None:
    """Compare throughput, loss, billable time and cost of jobs.

    NAMES are training jobs, files saved by list --record, or published pairs. --sweep compares the jobs of a grid, --tag those
    with a tag.

    \b
    Example: sm-trn compare published/bert-p4d published/bert-trn1 --baseline bert-p4d --output report/
    """
    if bool(names) == (tag is not None or sweep is not None):
        raise click.UsageError("wanted either NAMES, or --tag or --sweep to find the jobs")
    records = [_record(name, connection) for name in names] or [
        as_record(job) for job in group(connection(), tag, sweep)
    ]
    named = dict(zip(names, records, strict=False))
    chosen = named[baseline].label if baseline in named else baseline
    result = compare(records, baseline=chosen, at=at, region=priced_in)
    written = result.save(output) if output is not None else ()
    if as_json:
        click.echo(result.to_json())
        return
    say(str(result))
    if output is None:
        say("Wrote nothing. Add --output report/ for HTML, CSV and figures.")
    else:
        say("\n".join(f"wrote {path}" for path in written))


def _record(name: str, connection: Callable[[], Session]) -> JobRecord:
    """The record of what a name means. Asks the account only for what is neither published nor a file. Raises SmTrnError."""
    own = published_record(name) is None and not Path(name).is_file()
    if own and (name == LAST or limits.matches("TrainingJobName", name.rsplit("/", 1)[-1])):
        return as_record(connection().attach(name))
    return as_record(name)
