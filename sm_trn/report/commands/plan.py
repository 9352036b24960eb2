"""sm-trn plan"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from ...cli.files import files
from ...cli.shared import Number, Whole, emit, json_option, region_option, say
from ...core.extras import extra
from ...core.formatting.printable import printable
from ...core.session.defaults import known_prices, known_region
from ...forecast.commands.known import calibration_of, known_of, known_options
from ...forecast.planning import GOALS, Limits, Plan, plan

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


class Duration(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # generic in new releases alone
    """``90m``, ``3h``, ``1.5d``, or seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds. Raises click.BadParameter for anything else."""
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhd]?)", str(value).strip())
        if found is None or float(found[1]) <= 0:
            self.fail(f"got {value!r}, wanted a time such as 3h, 90m or 5400s", param, ctx)
        return float(found[1]) * SECONDS[found[2] or "s"]


@click.command("plan")
@click.argument("name", metavar="FILE")
@click.option(
    "--goal", type=click.Choice(GOALS), default="cheapest", show_default=True, help="Which choice comes first."
)
@click.option("--deadline", type=Duration(), help="The job must end in this time, such as 3h.")
@click.option("--max-usd", type=Number(min=0, min_open=True), help="The job must not cost more.")
@click.option(
    "--at", type=click.Choice(["upper", "likely"]), default="upper", show_default=True, help="Where limits hold."
)
@click.option(
    "--only", multiple=True, metavar="PATTERN", help="Only these instances, such as 'ml.trn1.*'. You can repeat it."
)
@click.option("--counts", default="1,2,4", show_default=True, metavar="N,…", help="Numbers of instances to look at.")
@click.option("--runs-on-xla", is_flag=True, help="The job's own script runs on Trainium and on GPUs: plan it on both.")
@click.option("--all", "everything", is_flag=True, help="List every choice that was excluded, with its reason.")
@click.option("--take", type=Whole(min=1), metavar="N", help="Save choice N as a job file (with --save).")
@click.option("--save", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Where to save it.")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Draw time against cost: .png or .svg.",
)
@known_options
@region_option("Use the prices of this region.")
@json_option
def command(
    *, name: str, as_json: bool, region: str | None, take: int | None, save: Path | None, **options: Any
) -> int:
    """Rank the machines that the job in FILE can run on by estimated time and cost, without an account.

    The global batch stays the same. Another accelerator may compute in another precision. Every choice passes sm-trn check. The
    exit code is 1 if no choice keeps the limits.

    \b
    Example: sm-trn plan squad.toml --deadline 3h --max-usd 50
    """
    if (take is None) != (save is None):
        raise click.UsageError("--take N and --save FILE go together")
    limits = Limits(goal=options["goal"], deadline_s=options["deadline"], max_usd=options["max_usd"], at=options["at"])
    found = plan(
        files.only(name),
        limits=limits,
        only=options["only"],
        counts=_counts(options["counts"]),
        prices=known_prices(),
        region=known_region(region),
        calibration=calibration_of(options),
        runs_on_xla=options["runs_on_xla"],
        **known_of(options),
    )
    if as_json:
        emit(found.to_dict())
    else:
        say(found.text(everything=options["everything"]))
    if options["output"] is not None:
        _draw(found, options["output"])
    if save is not None and take is not None:
        _save(found, take, save, name, as_json=as_json)
    elif not as_json and found.choices:
        say(f"Next: sm-trn plan {name} --take 1 --save chosen.toml")
    return 0 if found.choices else 1


def _counts(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and 0 < int(part) <= 1000 for part in parts):
        raise click.UsageError(f"--counts: got {text!r}, wanted numbers such as 1,2,4")
    return tuple(dict.fromkeys(map(int, parts)))


def _draw(found: Plan, path: Path) -> None:
    with extra("report", "the figure of a plan"):
        from ..plans import save_front  # noqa: PLC0415 - matplotlib is for those who ask for a figure

    try:
        save_front(found, path)
    except ValueError as error:
        raise click.UsageError(f"--{error}") from None


def _save(found: Plan, take: int, path: Path, name: str, *, as_json: bool) -> None:
    if take > len(found.front):
        raise click.UsageError(f"--take: got {take}, wanted at most {len(found.front)}, the choices of the table")
    chosen = found.front[take - 1]
    files.save(path, chosen.job)
    limit = f", with max_run_s = {chosen.job.max_run_s:_}, where {name} has {found.job.max_run_s:_}"
    told = f"Saved {path}: {chosen.name}{limit if found.retimed(chosen) else ''}. Next: sm-trn check {path}"
    click.echo(printable(told), err=as_json)
