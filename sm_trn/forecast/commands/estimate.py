"""sm-trn estimate"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ...cli.connection import connection_options
from ...cli.files import files
from ...cli.options import json_option
from ...cli.shared import Duration, Number, Whole, emit, say
from ...core.errors import SmTrnError
from ...core.formatting import numbers as fmt
from ...core.formatting.missing import Missing
from ...core.formatting.printable import printable
from ...core.logs.saved import read_log
from ...core.session.defaults import known_prices, known_region
from ...core.session.handles import Session, TrainingJob
from ...core.specs.job import JobSpec
from ..jobs import Calibration, estimate, read_calibration
from ..jobs.estimate import calibration_from
from ..jobs.facts import Known
from ..planning import GOALS, Limits, Plan, plan
from ..trial import MAX_RUN_S, STEPS, measure_steps, trial_spec

_PLAN_OPTIONS = ("goal", "deadline", "max_usd", "only", "take", "save")


def _training_data(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    del context, parameter
    if value is not None and value.endswith((".toml", ".yaml", ".yml", ".py", ".ipynb")):
        raise click.UsageError(
            f"--data: got {value}, a job file or code; wanted the training data: .jsonl, .json, .csv, .tsv, .txt, .parquet or a folder"
        )
    return value


@click.command("estimate")
@click.argument("name", metavar="FILE")
@click.option("--examples", type=Number(min=1), help="Number of training examples.")
@click.option(
    "--data",
    type=click.Path(exists=True),
    callback=_training_data,
    metavar="PATH",
    help="Count the examples of this local file or folder.",
)
@click.option("--length", type=Number(min=1), help="Tokens per training example.")
@click.option("--batch", type=Number(min=1), help="Per-device batch size.")
@click.option("--epochs", type=Number(min=0, min_open=True), help="Number of epochs.")
@click.option("--steps", type=Number(min=1), help="Number of optimizer steps.")
@click.option("--model", metavar="NAME", help="Public name, size such as 7b, or folder with a config.json.")
@click.option(
    "--calibration",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="Use measurements of your own jobs (st.calibrate).",
)
@click.option(
    "--log",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="Use the step times in this log of the job.",
)
@click.option(
    "--measure",
    is_flag=True,
    help=f"Start the job on AWS, time {STEPS} of its steps, and stop it. The command asks first and shows the highest possible cost.",
)
@click.option("--yes", is_flag=True, help="Start the trial of --measure without a question.")
@click.option("--plan", "ranked", is_flag=True, help="Rank the machines that the job can run on by time and cost.")
@click.option("--goal", type=click.Choice(GOALS), help="With --plan: which choice comes first. Default: cheapest.")
@click.option("--deadline", type=Duration(), help="With --plan: the job must end in this time, such as 3h.")
@click.option(
    "--max-usd", type=Number(min=0, min_open=True), metavar="USD", help="With --plan: the job must not cost more."
)
@click.option(
    "--only", multiple=True, metavar="PATTERN", help="With --plan: only these instances, such as 'ml.trn1.*'."
)
@click.option("--take", type=Whole(min=1), metavar="N", help="With --plan: save choice N as a job file, with --save.")
@click.option("--save", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Where --take saves it.")
@connection_options
@json_option
def command(
    *,
    name: str,
    log: str | None,
    measure: bool,
    yes: bool,
    ranked: bool,
    as_json: bool,
    connection: Callable[[], Session],
    **options: Any,
) -> int:
    """Estimate memory, speed, time and cost of the job in FILE before it runs, without an account.

    FILE#NAME selects one of several jobs. The command names the facts that it lacks. --log and --measure replace the estimated
    speed by a measured one. The exit code is 1 if the job does not fit in memory, or no machine of --plan is within the limits.

    \b
    Examples: sm-trn estimate squad.toml --examples 88524
              sm-trn estimate squad.toml --plan --deadline 3h --max-usd 50
    """
    if log is not None and measure:
        raise click.UsageError("got --log and --measure, wanted one of them")
    if not ranked and any(options[option] for option in _PLAN_OPTIONS):
        raise click.UsageError("--goal, --deadline, --max-usd, --only, --take and --save are for --plan")
    if (options["take"] is None) != (options["save"] is None):
        raise click.UsageError("--take N and --save FILE go together")
    job = files.only(name)
    known: Known = {key: options[key] for key in Known.__annotations__ if options.get(key) is not None}  # type: ignore[assignment]  # the options' names
    calibration = read_calibration(options["calibration"]) if options["calibration"] else None
    if log is not None:
        calibration = calibration_from(read_log(log, rules=job.metrics), job, calibration, **known)
    if measure:
        estimate(job, **known)  # names missing facts before anything is paid for
        trial = _run_trial(connection(), trial_spec(job, MAX_RUN_S), yes=yes)
        measure_steps(trial, job, known)
        _print_cost(trial)
        calibration = calibration_from(trial, job, calibration, **known)
    if ranked:
        return _show_plan(name, job, known, calibration, options, as_json=as_json)
    return _show_estimate(name, job, known, calibration, as_json=as_json)


def _region() -> str:
    given = click.get_current_context().params
    return known_region(given["region"], profile=given["profile"])


def _show_estimate(name: str, job: JobSpec, known: Known, calibration: Calibration | None, *, as_json: bool) -> int:
    result = estimate(job, prices=known_prices(), region=_region(), calibration=calibration, **known)
    if as_json:
        emit(result.to_dict())
    else:
        say(str(result))
        say(f"Next: sm-trn estimate {name} --plan")
    return 0 if result.fits or result.may_fit else 1


def _show_plan(
    name: str, job: JobSpec, known: Known, calibration: Calibration | None, options: dict[str, Any], *, as_json: bool
) -> int:
    limits = Limits(goal=options["goal"] or "cheapest", deadline_s=options["deadline"], max_usd=options["max_usd"])
    region = _region()
    result = plan(
        job, limits=limits, only=options["only"], prices=known_prices(), region=region, calibration=calibration, **known
    )
    if as_json:
        emit(result.to_dict())
    else:
        say(str(result))
    if options["save"] is not None:
        _save_choice(result, options["take"], options["save"], name, as_json=as_json)
    elif not as_json and result.choices:
        say(f"Next: sm-trn estimate {name} --plan --take 1 --save chosen.toml")
    return 0 if result.choices else 1


def _save_choice(result: Plan, take: int, path: Path, name: str, *, as_json: bool) -> None:
    if take > len(result.front):
        raise click.UsageError(f"--take: got {take}, wanted at most {len(result.front)}, the choices of the table")
    choice = result.front[take - 1]
    files.save(path, choice.job)
    limit = f", with max_run_s = {choice.job.max_run_s:_}, where {name} has {result.job.max_run_s:_}"
    message = f"Saved {path}: {choice.name}{limit if result.retimed(choice) else ''}. Next: sm-trn check {path}"
    click.echo(printable(message), err=as_json)


def _run_trial(session: Session, trial: JobSpec, *, yes: bool) -> TrainingJob:
    """Start the trial after a yes. Raises UsageError where nobody can answer, Abort for a no, SmTrnError on the emulator."""
    if session.emulated:
        raise SmTrnError(
            "--measure: got the emulator, wanted AWS: an emulated step has the speed of this machine. Nothing was started"
        )
    most = session.ceiling(trial)
    cost = str(Missing.NO_PRICE) if most is None else f"at most {fmt.usd(most)}"
    machines = fmt.instances(trial.compute.instances[0], trial.compute.hosts)
    click.echo(
        f"{trial.name}: {cost}, for {trial.max_run_s:,} s of {machines}. It is stopped after {STEPS} steps.", err=True
    )
    if not yes and not sys.stdin.isatty():
        raise click.UsageError("--measure starts a job that is billed, wanted a yes; add --yes")
    if not yes:
        click.confirm("Start it?", abort=True, err=True)
    job = session.submit(trial)
    click.echo(f"{job.name} runs; Ctrl-C stops it.", err=True)
    return job


def _print_cost(trial: TrainingJob) -> None:
    cost = trial.cost()
    text = str(Missing.NOT_BILLED_YET) if cost is None else f"cost {fmt.usd(cost.usd)}"
    click.echo(f"{trial.name}: {text}.", err=True)
