"""sm-trn estimate"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ...cli.connection import connection_options
from ...cli.files import files
from ...cli.shared import Number, emit, json_option, role_arn, say
from ...core.errors import SmTrnError
from ...core.formatting import numbers as fmt
from ...core.formatting.missing import Missing
from ...core.logs.saved import read_log
from ...core.session.defaults import known_prices, known_region
from ...core.session.handles import Session, TrainingJob
from ...core.specs.job import JobSpec
from ..jobs import Calibration, estimate
from ..jobs.estimate import calibration_from
from ..jobs.facts import Known
from ..trial import MAX_RUN_S, STEPS, measure_steps, trial_spec
from .known import calibration_of, known_of, known_options


@click.command("estimate")
@click.argument("name", metavar="FILE")
@known_options
@click.option(
    "--log",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="Use the seconds of a step that this log of the job tells, instead of estimated ones.",
)
@click.option(
    "--measure",
    is_flag=True,
    help=f"Start the job on AWS, time {STEPS} of its steps, and stop it. The command asks first, and says the highest possible cost.",
)
@click.option(
    "--trial-max-run",
    type=Number(min=60),
    default=MAX_RUN_S,
    show_default=True,
    metavar="SECONDS",
    help="The longest time that the trial of --measure may run.",
)
@click.option("--yes", is_flag=True, help="Start the trial of --measure without a question.")
@click.option(
    "--keep",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Keep what --log or --measure taught in this file, for --calibration.",
)
@click.option("--role", callback=role_arn, help="Execution role ARN of the trial. Default: SM_TRN_ROLE.")
@connection_options
@json_option
def command(  # noqa: PLR0913 - an argument for each option
    *,
    name: str,
    log: str | None,
    measure: bool,
    trial_max_run: float,
    yes: bool,
    keep: Path | None,
    as_json: bool,
    connection: Callable[[], Session],
    **options: Any,
) -> int:
    """Estimate memory, speed, time and cost of the job in FILE before it runs, without an account.

    FILE#NAME selects one of several jobs. What the file does not say is asked for by name. The exit code is 1 if the job does not
    fit the memory whatever its script does.

    An estimate assumes how fast a step is. --log and --measure replace that by a measurement. A trial writes and reads no checkpoint.

    \b
    Examples: sm-trn estimate squad.toml --examples 88524
              sm-trn estimate squad.toml --measure --keep squad.json
    """
    if log is not None and measure:
        raise click.UsageError("got --log and --measure, wanted one of them")
    if keep is not None and log is None and not measure:
        raise click.UsageError("--keep: nothing is measured; add --log FILE or --measure")
    job, known, taught = files.only(name), known_of(options), calibration_of(options)
    if log is not None:
        taught = calibration_from(read_log(log, rules=job.metrics), job, taught, **known)
    if measure:
        estimate(job, **known)  # asks for what is missing before anything is paid for
        ran = _trial(connection(), trial_spec(job, int(trial_max_run)), yes=yes)
        measure_steps(ran, job, known)
        _say_cost(ran)
        taught = calibration_from(ran, job, taught, **known)
    if keep is not None and taught is not None:
        taught.save(keep)
    return _show(name, job, known, taught, as_json=as_json)


def _show(name: str, job: JobSpec, known: Known, taught: Calibration | None, *, as_json: bool) -> int:
    given = click.get_current_context().params
    region = known_region(given["region"], profile=given["profile"])
    found = estimate(job, prices=known_prices(), region=region, calibration=taught, **known)
    if as_json:
        emit(found.to_dict())
    else:
        say(str(found))
        say(f"Next: sm-trn plan {name}")
    return 0 if found.fits or found.may_fit else 1


def _trial(session: Session, trial: JobSpec, *, yes: bool) -> TrainingJob:
    """Start the trial after a yes. Raises UsageError where nobody can answer, Abort for a no, SmTrnError on the emulator."""
    if session.emulated:
        raise SmTrnError(
            "--measure: got the emulator, wanted AWS: an emulated step has the speed of this machine. Nothing was started"
        )
    most = session.ceiling(trial)
    cost = str(Missing.NO_PRICE) if most is None else f"at most {fmt.usd(most)}"
    words = f"{trial.name}: {cost}, for {trial.max_run_s:,} s of {fmt.instances(trial.compute.instances[0], trial.compute.hosts)}"
    click.echo(f"{words}. It is stopped after {STEPS} steps.", err=True)
    if not yes and not sys.stdin.isatty():
        raise click.UsageError("--measure starts a job that is billed, wanted a yes; add --yes")
    if not yes:
        click.confirm("Start it?", abort=True, err=True)
    job = session.submit(trial)
    click.echo(f"{job.name} runs; Ctrl-C stops it.", err=True)
    return job


def _say_cost(trial: TrainingJob) -> None:
    cost = trial.cost()
    told = str(Missing.NOT_BILLED_YET) if cost is None else f"cost {fmt.usd(cost.usd)}"
    click.echo(f"{trial.name}: {told}.", err=True)
