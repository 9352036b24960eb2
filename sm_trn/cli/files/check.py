"""sm-trn check"""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import Any

import click

from ...core.errors import InvalidJobFile, UnknownName
from ...core.jobfile.files import JobFile
from ...core.session.defaults import known_region
from ...core.specs.job import JobSpec
from ...rules import check, check_sweep_file
from ..options import json_option, region_option
from ..shared import cents, emit, say
from . import ceilings, files, problems, rules
from .ceilings import Ceiling, Most
from .problems import Located
from .rules import ignore_option


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """One job of a file, or a sweep, with what was found; or – without either – a file that is no job file."""

    label: str
    found: list[Located]
    most: Most | None = None
    invalid: InvalidJobFile | None = None


@click.command("check")
@click.argument("names", nargs=-1, metavar="FILE…")
@click.option(
    "--format",
    "style",
    type=click.Choice([*problems.SHOWN, "json"]),
    default="long",
    show_default=True,
    help="Choose how problems are shown: github as annotations of a workflow.",
)
@ignore_option
@region_option
@click.option(
    "--explain",
    metavar="[ID]",
    is_flag=False,
    flag_value="",
    help="Explain the rule ID and its evidence; of a FILE, what its jobs leave out. With neither, list what check does not look at.",
)
@click.option(
    "--run",
    "runs",
    is_flag=True,
    help="Ask the script's own parser: the script runs here, sealed in a sandbox, until its parser has answered.",
)
@click.option(
    "--resolve",
    "resolves",
    is_flag=True,
    help="Ask uv, over the network, for versions of the job's requirements that its image can have; print them as constraints.",
)
@click.option(
    "--install",
    "installs",
    is_flag=True,
    help="Install the job's requirements in a twin of its image on this machine, with pip, and run the script's imports. It runs what "
    "packages run when they are built and imported.",
)
@click.option("--schema", "show_schema", is_flag=True, help="Print the JSON Schema of job files, for editors.")
@click.option("--rules", "show_rules", is_flag=True, help="Print all rules as a Markdown page.")
@json_option
def command(  # noqa: PLR0913 - an argument for each option
    names: tuple[str, ...],
    *,
    style: str,
    ignore: tuple[str, ...],
    region: str | None,
    explain: str | None,
    runs: bool,
    resolves: bool,
    installs: bool,
    show_schema: bool,
    show_rules: bool,
    as_json: bool,
) -> int:
    """Check the jobs of FILE… without an account, and show every problem with its line and its fix.

    FILE is a job file or a sweep file: TOML, JSON or YAML. FILE#NAME selects one of its jobs. The exit code is 1 if a job cannot be
    launched, and 2 if a file is neither.

    \b
    Example: sm-trn check bert.toml --format short
    """
    alone = {"--schema": show_schema, "--rules": show_rules, "--explain": bool(explain)}
    for option in [option for option, asked in alone.items() if asked and names]:
        raise click.UsageError(f"{option} takes no FILE, got {names[0]}; check it by itself: sm-trn check {names[0]}")
    if show_schema:
        from ...core.jobfile.json_schema import json_schema  # noqa: PLC0415 - a check needs none of it

        emit(json_schema())
        return 0
    if show_rules:
        click.echo(rules.page(), nl=False)
        return 0
    if explain is not None:
        explained = files.all_jobs(names or ([explain] if files.looks_like_a_file(explain) else []))
        inferred = [f"{files.label(file, job)}: {line}" for file, at, job in explained for line in file.inferred(at)]
        say("\n".join(inferred) or (rules.explain(explain) if explain else rules.unseen()))
        return 0
    if not names:
        raise click.UsageError("no FILE; sm-trn check bert.toml")
    if resolves or installs:
        jobs = [job for _, _, job in files.all_jobs(names)]
        return max([*map(_resolved, jobs if resolves else ()), *map(_installed, jobs if installs else ())])
    priced_in = known_region(region)
    began = time.perf_counter()
    checked = [entry for name in names for entry in _checked(name, ignore, priced_in, runs=runs)]
    if as_json or style == "json":
        emit([_entry(entry) for entry in checked])
    else:
        _show(checked, style, (time.perf_counter() - began) * 1000)
    if any(entry.invalid for entry in checked):
        return 2
    return int(not all(problems.launchable(entry.found) for entry in checked))


def _resolved(job: JobSpec) -> int:
    """Print the pins of a job's requirements, or why there are none. Raises SmTrnError."""
    from ...wiring import resolve  # noqa: PLC0415 - sessions stay out of a check

    solution = resolve(job)
    for line in solution.unread:
        click.echo(f"{job.name}: not looked at, because only a build tells: {line}", err=True)
    if solution.conflict:
        click.echo(
            f"{job.name}: its requirements cannot be installed into {solution.image}: {solution.conflict}", err=True
        )
        return 1
    for name, there, wanted in solution.replaced:
        click.echo(f"{job.name}: pip replaces {name} {there} of {solution.image} by {wanted}", err=True)
    if solution.reason:
        click.echo(f"{job.name}: what {solution.image} is built for cannot stay: {solution.reason}", err=True)
    for sentence in solution.warnings:
        click.echo(f"{job.name}: {sentence}", err=True)
    if solution.pins:
        click.echo("\n".join(solution.pins))
    return 0


def _installed(job: JobSpec) -> int:
    """Print what fails when a job's requirements are installed and its script's imports run. Raises SmTrnError."""
    from ...wiring import install  # noqa: PLC0415 - as above

    failure = install(job, tell=lambda line: click.echo(line, err=True))
    if failure is not None:
        click.echo(f"{job.name}: {failure}", err=True)
    return int(failure is not None)


def _checked(name: str, ignore: tuple[str, ...], region: str, *, runs: bool) -> list[Checked]:
    try:
        file = files.read_file(name)
    except InvalidJobFile as error:
        return [_sweep(name, ignore, region, error)]
    return [_one(file, index, ignore, region, runs=runs) for index in range(len(file.jobs))]


def _one(file: JobFile, index: int, ignore: tuple[str, ...], region: str, *, runs: bool) -> Checked:
    job = file.jobs[index]
    every = list(check(job))
    if runs:
        from ...wiring import ask_parser  # noqa: PLC0415 - sessions stay out of a check

        answer = ask_parser(job)
        told = {problem.id for problem in answer} | {"SCRIPT023"}
        every = [*(problem for problem in every if problem.id not in told), *answer]
    found = [problems.located(file, index, problem) for problem in every if problem.id not in ignore]
    found += [problems.located(file, index, problem) for problem in problems.forbidden(file.name, job, region)]
    return Checked(label=files.label(file, job), found=problems.ordered(found), most=ceilings.ceiling_of(job, region))


def _sweep(name: str, ignore: tuple[str, ...], region: str, invalid: InvalidJobFile) -> Checked:
    """A file that is no job file: a sweep file, or none either."""
    try:
        sweep = check_sweep_file(Path(name), region)
    except InvalidJobFile as error:
        return Checked(label=name, found=[], invalid=error)
    except UnknownName:
        sweep = None
    if sweep is None:
        return Checked(label=name, found=[], invalid=invalid)
    found = []
    for problem in sweep.problems:
        if problem.id not in ignore:
            file, where = sweep.text.place(problem.where)
            found.append(problems.located(file, 0, dataclasses.replace(problem, where=where)))
    return Checked(label=name, found=problems.ordered(found), most=sweep)


def _show(checked: list[Checked], style: str, milliseconds: float) -> None:
    for entry in checked:
        if entry.invalid is not None and style == "github":
            say("\n".join(map(problems.github_fault, entry.invalid.faults)))
        elif entry.invalid is not None:
            click.echo(f"error: {entry.invalid}", err=True)
        for item in entry.found:
            say(problems.SHOWN[style](item), paint=None if style == "github" else problems.paint(item))
    if style != "long":
        return
    for entry in checked:
        if entry.invalid is None and problems.launchable(entry.found):
            say(f"✓ {entry.label}  {problems.counts(entry.found)}, {entry.most}")
        elif entry.invalid is None:
            say(f"{problems.counts(entry.found)} in {entry.label}. Not launchable.")
    first = next((item.problem.id for entry in checked for item in entry.found), None)
    if first is not None:
        say(f"Checked in {milliseconds:.0f} ms, offline. Why: sm-trn check --explain {first}")


def _entry(entry: Checked) -> dict[str, Any]:
    if entry.invalid is not None:
        faults = [_fault(fault) for fault in entry.invalid.faults]
        return {"file": entry.label, "job": None, "launchable": False, "faults": faults, "problems": []}
    most = entry.most
    return {
        "file": entry.label,
        "job": most.name if most else None,
        "launchable": problems.launchable(entry.found),
        "most_usd": cents(most.usd) if most else None,
        "price_as_of": most.price.as_of if isinstance(most, Ceiling) and most.price else None,
        "problems": [problems.as_json(item) for item in entry.found],
    }


def _fault(fault: Any) -> dict[str, Any]:
    place = fault.place
    shown = {name: getattr(fault, name) for name in ("what", "got", "wanted", "fix")}
    return {"field": fault.field, "line": place.line if place else None, **shown, "keys": list(fault.keys)}
