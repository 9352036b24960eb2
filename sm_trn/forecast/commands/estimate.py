"""sm-trn estimate"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ...cli.files import files
from ...cli.files.ceilings import ceiling_of
from ...cli.options import global_option, json_option
from ...cli.shared import Duration, Number, Whole, emit, say
from ...core.formatting.printable import printable
from ...core.logs.saved import read_log
from ...core.preflight import reading, source
from ...core.session.defaults import known_prices, known_region
from ...core.specs.job import JobSpec
from ..configure import machine
from ..estimate import estimate, span
from ..facts import KNOWN, Known, MissingFact
from ..phases import SAVING, surroundings
from ..plan import GOALS, Limits, Plan, plan

_PLAN_OPTIONS = ("goal", "deadline", "max_usd", "only", "take", "save")
_FILE = click.Path(exists=True, dir_okay=False)


def _training_data(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    del context, parameter
    if value is not None and value.endswith((".toml", ".yaml", ".yml", ".py", ".ipynb")):
        wanted = "wanted the training data: .jsonl, .json, .csv, .tsv, .txt, .parquet or a folder"
        raise click.UsageError(f"--data: got {value}, a job file or code; {wanted}")
    return value


@click.command("estimate")
@click.argument("name", metavar="FILE")
@click.option("--examples", type=Number(min=1), help="Number of training examples.")
@click.option("--data", type=click.Path(exists=True), callback=_training_data, metavar="PATH", help="Count this file.")
@click.option("--length", type=Number(min=1), help="Tokens per training example.")
@click.option("--batch", type=Number(min=1), help="Per-device batch size.")
@click.option("--epochs", type=Number(min=0, min_open=True), help="Number of epochs.")
@click.option("--steps", type=Number(min=1), help="Number of optimizer steps.")
@click.option("--model", metavar="NAME", help="Exact hub id, size such as 7b, or folder with a config.json.")
@click.option("--log", type=_FILE, metavar="FILE", help="Use the step times in this log of the job.")
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
@global_option("region")
@global_option("profile")
@json_option
def command(
    *, name: str, log: str | None, ranked: bool, region: str | None, profile: str | None, as_json: bool, **options: Any
) -> int:
    """Estimate memory, time and cost of the job in FILE before it runs, without an account.

    FILE#NAME selects one of several jobs. The command names the facts that it lacks. --log replaces the estimated speed by a
    measured one. The exit code is 1 if the job does not fit in memory, or no machine of --plan is within the limits.

    \b
    Examples: sm-trn estimate squad.toml --examples 88524
              sm-trn estimate squad.toml --plan --deadline 3h --max-usd 50
    """
    if not ranked and any(options[option] for option in _PLAN_OPTIONS):
        raise click.UsageError("--goal, --deadline, --max-usd, --only, --take and --save are for --plan")
    if (options["take"] is None) != (options["save"] is None):
        raise click.UsageError("--take N and --save FILE go together")
    job = files.only(name)
    known: Known = {key: options[key] for key in KNOWN if options.get(key) is not None}  # type: ignore[assignment]  # the options' names
    if log is not None and ranked:
        raise click.UsageError("--log measures the job on its own machine, and is not for --plan")
    measured = read_log(log, rules=job.metrics) if log is not None else None
    there = known_region(region, profile=profile)
    if not ranked:
        try:
            result = estimate(job, prices=known_prices(), region=there, measured=measured, **known)
        except MissingFact as missing:
            if missing.fact != "model" or as_json or reading.of_transformers(job):
                raise
            say(f"{_without_model(job, there)}\nNext: sm-trn estimate {name} --model 110m, or what else it trains")
            return 0
        if as_json:
            emit(result.to_dict())
        else:
            say(f"{result}\nNext: sm-trn estimate {name} --plan")
        return 0 if result.fits or result.may_fit else 1
    limits = Limits(goal=options["goal"] or "cheapest", deadline_s=options["deadline"], max_usd=options["max_usd"])
    choices = plan(job, limits=limits, only=options["only"], prices=known_prices(), region=there, **known)
    if as_json:
        emit(choices.to_dict())
    else:
        say(str(choices))
    if options["save"] is not None:
        _save_choice(choices, options["take"], options["save"], name, as_json=as_json)
    elif not as_json and choices.choices:
        say(f"Next: sm-trn estimate {name} --plan --take 1 --save chosen.toml")
    return 0 if choices.choices else 1


def _without_model(job: JobSpec, region: str) -> str:
    """What is known of a job whose script trains no model of transformers. Raises MissingFact."""
    around = (*surroundings(job, machine(job)[1]), SAVING)
    phases = ", ".join(f"{each.name} {span(each.seconds.p10)} to {span(each.seconds.p90)}" for each in around)
    what = (
        f"{job.name}: {source.entry_name(job)} is no transformers script, so its memory and its steps are not estimated"
    )
    return f"{what}\n  Cost    {ceiling_of(job, region)}\n  Phases  {phases}"


def _save_choice(result: Plan, take: int, path: Path, name: str, *, as_json: bool) -> None:
    if take > len(result.front):
        raise click.UsageError(f"--take: got {take}, wanted at most {len(result.front)}, the choices of the table")
    choice = result.front[take - 1]
    files.save(path, choice.job)
    limit = ""
    if choice.job.max_run_s != result.job.max_run_s:
        limit = f", with max_run_s {choice.job.max_run_s:,} s, where {name} has {result.job.max_run_s:,} s"
    message = f"Saved {path}: {choice.name}{limit}. Next: sm-trn check {path}"
    click.echo(printable(message), err=as_json)
