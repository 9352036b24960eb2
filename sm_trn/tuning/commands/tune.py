"""sm-trn tune"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import click

from ...cli.connection import connection_options, emulator_asked
from ...cli.files import files
from ...cli.files.rules import ignore_option
from ...cli.options import json_option
from ...cli.shared import Number, bucket_name, emit, role_arn, say, terminal
from ...core.errors import JobFailed
from ...core.formatting import numbers as fmt
from ...core.formatting.missing import EMULATED_COST, Missing
from ...core.formatting.table import Align, Cell, Column, Row, Table, cells_of
from ...core.formatting.text import NAMES, table_lines
from ...core.session.budget import as_usd
from ...core.session.defaults import known_prices, known_region
from ...core.session.jobfiles import FORMAT_OF
from ...core.specs.destination import Destination
from ...core.specs.problems import Severity
from ...core.specs.tuning import Sweep
from ...forecast.rules import ALL_RULES
from ..aws import Trial
from ..files import SweepText, check_text, read_text
from ..handles import TuningSession
from ..job import TuningJob, progress_line
from ..request import tuning_request
from ..worst_case import refuse_over, worst_case, worst_case_line

_ROLES = {"Completed": "ok", "Failed": "err"}


@click.command("tune")
@click.argument("target", metavar="FILE|NAME")
@click.option(
    "--dry-run", is_flag=True, help="Check the sweep of FILE and print its request. Upload and start nothing."
)
@click.option("--wait", is_flag=True, help="Wait until the search is over. The exit code is 1 if it failed.")
@click.option("--name", help="Name of the tuning job, at most 32 characters: the same command starts it once.")
@click.option("--stop", is_flag=True, help="Stop the tuning job NAME, and the training jobs that run.")
@click.option(
    "--best",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Save the job with the best values as a job file: .toml, .json or .yaml.",
)
@click.option("--max-usd", type=Number(min=0), metavar="USD", help="Start nothing that can cost more than this.")
@ignore_option
@click.option("--role", callback=role_arn, help="Execution role ARN. Default: SM_TRN_ROLE, else the notebook's own.")
@click.option(
    "--bucket",
    callback=bucket_name,
    help="Bucket for sources and models. Default: SM_TRN_BUCKET, else SageMaker's default bucket.",
)
@connection_options
@json_option
def command(  # noqa: PLR0913 - an argument for each option
    target: str,
    *,
    dry_run: bool,
    wait: bool,
    name: str | None,
    stop: bool,
    best: Path | None,
    max_usd: float | None,
    ignore: tuple[str, ...],
    as_json: bool,
    connection: Callable[[], TuningSession],
) -> int:
    """Start the search of a sweep file, or show the tuning job NAME: its training jobs, their values and the best of them.

    A sweep file names the job that is tried, the ranges of its hyperparameters and the metric that decides. The highest possible
    cost of all training jobs is printed before anything starts.

    \b
    Examples: sm-trn tune sweep.toml --dry-run
              sm-trn tune sweep.toml --max-usd 50 --wait
              sm-trn tune bert-261120-101500-a1b2c3 --best best.toml
    """
    path = Path(target)
    if path.suffix not in FORMAT_OF:
        if dry_run or name is not None or max_usd is not None:
            raise click.UsageError("--dry-run, --name and --max-usd are for a sweep file: sm-trn tune FILE")
        return _show(connection().tuning_job(target), stop=stop, best=best, wait=wait, as_json=as_json)
    if stop:
        raise click.UsageError("--stop is for a tuning job that was started: sm-trn tune NAME --stop")
    if best is not None and not wait:
        raise click.UsageError("--best of a sweep file needs its end; add --wait")
    text = read_text(path)
    sweep = text.sweep
    if not _launchable(text, ignore):
        click.echo("Nothing was started, nothing is billed.", err=True)
        return 1
    if dry_run:
        return _preview(sweep, max_usd)
    session = connection()
    if not as_json:
        line = worst_case_line(sweep.name, sweep.jobs, session.worst_case(sweep))
        click.echo(f"{EMULATED_COST}." if session.emulated else line, err=True)
    job = session.tune(sweep, name=name, ignore=ignore, max_usd=max_usd)
    if wait:
        return _show(job, stop=False, best=best, wait=True, as_json=as_json)
    if as_json:
        emit({"name": job.name, "emulated": session.emulated})
    else:
        say(job.name)
        click.echo(f"Follow it: sm-trn tune {job.name} --wait", err=True)
    return 0


def _launchable(text: SweepText, ignore: Sequence[str]) -> bool:
    """Print the problems of the sweep. Whether none of them stops a launch."""
    given = click.get_current_context().params
    region = known_region(given["region"], profile=given["profile"])
    checked = check_text(text, region, rules=ALL_RULES, free=emulator_asked())
    problems = [problem for problem in checked.problems if problem.id not in ignore]
    for problem in problems:
        click.echo(str(problem), err=True)
    return not any(problem.severity is Severity.ERROR for problem in problems)


def _preview(sweep: Sweep, max_usd: float | None) -> int:
    """Print what would be sent, and the worst case. Raises OverBudget where the launch would, as far as prices are known here."""
    given = click.get_current_context().params
    region = known_region(given["region"], profile=given["profile"])
    named = {word: given[word] for word in ("role", "bucket") if given[word] is not None}
    at = Destination(region=region, job_name=given["name"], **named)
    emit(tuning_request(sweep, at))
    most = worst_case(sweep, partial(known_prices().of, region=region))
    click.echo(worst_case_line(sweep.name, sweep.jobs, most), err=True)
    click.echo("Nothing was started: what is missing of role, bucket and account is filled in at launch.", err=True)
    if max_usd is not None:
        refuse_over(sweep.name, sweep.jobs, most, as_usd(max_usd))
    return 0


def _show(job: TuningJob, *, stop: bool, best: Path | None, wait: bool, as_json: bool) -> int:
    """The tuning job as it is, or as it ended. The exit code is 1 for one that failed."""
    if stop:
        job.stop()
    if wait:
        try:
            job.wait(stream=sys.stderr)
        except JobFailed as error:
            click.echo(str(error), err=True)
    now, trials = job.snapshot(), job.trials()
    if best is not None:
        files.save(best, job.best_spec())
    if as_json:
        emit(
            {
                **dataclasses.asdict(now),
                "goal": now.goal.value,
                "trials": [dataclasses.asdict(trial) for trial in trials],
            }
        )
    else:
        say(progress_line(now))
        if trials:
            say("\n".join(table_lines(trials_table(trials, now.metric), terminal(), NAMES)))
        if best is not None:
            say(f"saved {best}")
    return 1 if now.status == "Failed" else 0


def trials_table(trials: Sequence[Trial], metric: str) -> Table:
    """A row for each training job, with its values."""
    columns = (
        Column(
            name="status",
            heading="Status",
            align=Align.LEFT,
            read=lambda trial: Cell(trial.status, role=_ROLES.get(trial.status, "info")),
        ),
        Column(
            name="objective",
            heading=metric,
            form=fmt.small,
            read=lambda trial: Missing.NOT_LOGGED if trial.objective is None else trial.objective,
        ),
        *(_column(name) for name in sorted({name for trial in trials for name in trial.values})),
    )
    rows = tuple(Row(name=trial.name, cells=cells_of(columns, trial)) for trial in trials)
    return Table(columns=columns, rows=rows, rows_are="Name")


def _column(name: str) -> Column:
    return Column(
        name=name,
        heading=name,
        read=lambda trial: _word(trial.values[name]) if name in trial.values else Missing.NOTHING,
    )


def _word(text: str) -> str:
    """A value as people write it: a text that the toolkit reads as JSON stands in quotes."""
    return str(json.loads(text)) if text.startswith('"') and text.endswith('"') else text
