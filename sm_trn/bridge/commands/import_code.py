"""sm-trn import"""

from __future__ import annotations

import ast
import dataclasses
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from ...cli.options import json_option
from ...cli.shared import Number, emit, say
from ...core.formatting import numbers as fmt
from ...core.jobfile import dump_job
from ...core.specs.problems import Severity
from ...sandbox import SEALED, TRUST, available
from ...wiring import check
from ..jobs import Launch
from ..launchers import Imported, import_launcher
from ..recorder import Recorded
from ..trainers import KNOWN_DIFFERENCES
from .saving import Saved, save

_CHANGES = ("Create", "Put", "Delete", "Start", "Stop", "Add")  # calls whose answers say nothing


@click.command("import", context_settings={"ignore_unknown_options": True})
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[-- ARGUMENTS…]")
@click.option(
    "--call", metavar="CALL", default="", help="Import the file and call this: main, or 'Trainer().start(epochs=3)'."
)
@click.option(
    "--set",
    "pairs",
    multiple=True,
    metavar="NAME=VALUE",
    help="Replace what the file assigns to a name, or what the account answers: role, bucket, region, account. Repeatable.",
)
@click.option(
    "--env",
    "given",
    multiple=True,
    metavar="NAME[=VALUE]",
    help="Give the program a variable; without a value, that of your environment. Repeatable.",
)
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("recorded"),
    show_default=True,
    help="Write the job files, programs for SDK v3 and sources into this folder.",
)
@click.option("--no-run", is_flag=True, help="Run nothing: list the launch sites and their literal arguments.")
@click.option(
    "--python",
    type=click.Path(dir_okay=False, exists=True, path_type=Path),
    metavar="PATH",
    help="A Python that has SDK v3, for a program of SDK v3. SM_TRN_SDK3_PYTHON names one too.",
)
@click.option(
    "--timeout",
    "timeout_s",
    type=Number(min=0, min_open=True),
    default=600.0,
    show_default=True,
    help="End the program after this many seconds.",
)
@click.option(
    "--trust", is_flag=True, help="Run the program also where nothing keeps it from your files and the network."
)
@json_option
def command(  # noqa: PLR0913 - its options
    file: Path,
    arguments: tuple[str, ...],
    *,
    call: str,
    pairs: tuple[str, ...],
    given: tuple[str, ...],
    output: Path,
    no_run: bool,
    python: Path | None,
    timeout_s: float,
    trust: bool,
    as_json: bool,
) -> int:
    """Run a launcher without launching, and write each of its jobs as a job file and as a program for SDK v3.

    FILE is a script or notebook of SageMaker SDK v2 or v3, or of boto3. It runs in a sandbox: in a copy of this folder, without
    network and without your credentials. Every AWS call is answered on this machine as if it had just ended well; nothing is started
    and nothing is billed. All launch sites of the file are listed, reached or not, and each request is compared with the one
    of its job file, field by field. Arguments of the program follow --. The exit code is 1 while a launch is open.

    \b
    Example: sm-trn import launch.py --env EPOCHS=3 -- --model bert
    """
    if file.suffix not in {".py", ".ipynb"}:
        job_file = file.suffix in {".toml", ".yaml", ".yml", ".json"}
        known = ", a job file already: sm-trn check reads it" if job_file else ""
        raise click.UsageError(f"got {file}{known}; wanted Python or a notebook")
    asked = not (trust or no_run or available() or as_json) and sys.stdin.isatty()
    trusted = trust or (asked and click.confirm(f"{TRUST} Run it?", default=False, err=True))
    imported = import_launcher(
        file,
        arguments,
        call=call,
        environment=dict(_variable(pair) for pair in given),
        values=dict(_pair(pair) for pair in pairs),
        python=python,
        run=not no_run,
        trusted=trusted,
        timeout_s=timeout_s,
    )
    if as_json:
        emit(_as_json(imported))
        return int(not imported.complete)
    saved = [save(launch, output) for launch in imported.launches]
    _say_run(imported)
    _say_launches(imported, saved)
    _say_sites(imported)
    if imported.recorded is not None:
        _say_end(imported.recorded)
        _say_doubts(imported.recorded)
    if any(each.paths for each in saved):
        say(f"Next: sm-trn check {output}/*.toml")
    return int(not imported.complete or any(each.refusal for each in saved))


def _variable(text: str) -> tuple[str, str]:
    """Return a variable that is given as NAME=VALUE, or as NAME for its value here. No message holds a value."""
    name, equals, value = text.partition("=")
    if not name or (not equals and name not in os.environ):
        raise click.UsageError(
            f"--env: got {name!r}, which is no variable of this environment; wanted NAME or NAME=VALUE"
        )
    return name, value if equals else os.environ[name]


def _pair(text: str) -> tuple[str, object]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise click.UsageError(f"--set: got {text!r}, wanted NAME=VALUE, such as --set epochs=3")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return name, value


def _say_run(imported: Imported) -> None:
    sites = fmt.counted(len(imported.sites), "launch site")
    recorded = imported.recorded
    if recorded is None:
        say(f"{imported.file}: {sites}. Not run: {imported.not_run}. What stands in the file:")
    else:
        calls = fmt.counted(len(recorded.calls), "call")
        say(
            f"{imported.file}: {sites}, {fmt.jobs(len(imported.launches))} sent. Nothing was started, nothing is billed. "
            f"{SEALED if recorded.sealed else TRUST} It ran {recorded.seconds:.1f} s, {calls}, exit code {recorded.exit_code}."
        )
    for place, why in imported.unread:
        say(f"✗ {place}: {why}")


def _say_launches(imported: Imported, saved: Sequence[Saved]) -> None:
    for launch, files in zip(imported.launches, saved, strict=True):
        where = launch.site.place if launch.site else launch.place
        cls = f"{launch.site.cls}(…)" if launch.site else "a job"
        say(f"{'✗' if files.refusal else '✓'} {cls}, {where}: {launch.name}, {launch.region}")
        if files.refusal:
            say(f"   not written: {files.refusal}")
        if launch.job is not None:
            machines = " + ".join(f"{count} × {name}" for name, count in launch.job.compute.machines)
            say(f"   {machines}" + (f"; {launch.proof}" if launch.proof else ""))
        for note in launch.notes:
            say(f"   ▲ {note}")
        for path in files.paths:
            say(f"   {path}")
        if files.reason:
            say(f"   as TrainingJob.create, for ModelTrainer cannot say it: {files.reason}")
        for problem in check(files.job) if files.job is not None else ():
            if problem.severity is not Severity.INFO:
                say(f"   {problem.severity.word}[{problem.id}] {problem.where}: {problem.what}")


def _say_sites(imported: Imported) -> None:
    """List each site that sent nothing: how it is reached, and what the file says of it."""
    for site, arguments in imported.arguments:
        say(f"· {site.cls}(…), {site.place}{': not reached' if imported.recorded else ''}")
        if imported.recorded and site.call:
            say(f"   --call {site.call} runs it, where nothing in the file does")
        for name, value in arguments.known.items():
            say(f"   {name} = {value!r}")
        for unknown in arguments.unknown:
            say(f"   {unknown}")


def _say_end(recorded: Recorded) -> None:
    """Say how the program ended: the limit, the lines that failed, or its last words."""
    if recorded.limit:
        say(f"✗ The program was ended: {recorded.limit}.")
    for failure in recorded.failures:
        say(f"✗ {failure}")
        for part, sentence in KNOWN_DIFFERENCES.items():
            if part in failure.error:
                say(f"  {sentence}")
    if recorded.exit_code and not any(not each.error.startswith("SystemExit") for each in recorded.failures):
        say(f"Its exit code is {recorded.exit_code}, its last lines are:")
        say("\n".join(recorded.output.splitlines()[-8:]))


def _say_doubts(recorded: Recorded) -> None:
    """Say what the program lacked, and what in its answers was made up."""
    for name in recorded.swallowed:
        say(f"✗ {name}")
    for call in recorded.calls:
        for secret in call.secrets:
            say(f"✗ {secret} was sent in clear text by {call.operation}. Its value is not kept.")
    for refused in recorded.refused[:10]:
        say(f"▲ refused: {refused}")
    if recorded.stand_ins:
        say(
            f"▲ not here, a stub replaced them: {', '.join(recorded.stand_ins)}. --env PYTHONPATH=src finds packages of yours"
        )
    if recorded.variables:
        say(f"▲ variables that it looked for and did not find: {', '.join(recorded.variables)}. --env gives them")
    answers = [call for call in recorded.calls if call.direct and not call.operation.startswith(_CHANGES)]
    if names := dict.fromkeys(f"{call.service}.{call.operation}" for call in answers):
        say(f"▲ answered by stubs, your account may answer otherwise: {', '.join(names)}")
    if defaults := _defaults():
        say(f"▲ The SDK's defaults in {' and '.join(defaults)} are not applied here; a real launch takes them.")


def _defaults() -> list[str]:
    """Return the SDK's own files of defaults on this machine: the program does not see them."""
    own = os.environ.get("SAGEMAKER_USER_CONFIG_OVERRIDE") or "~/.config/sagemaker/config.yaml"
    admin = os.environ.get("SAGEMAKER_ADMIN_CONFIG_OVERRIDE") or "/etc/xdg/sagemaker/config.yaml"
    return [name for name in (admin, own) if name.startswith("s3://") or Path(name).expanduser().exists()]


def _as_json(imported: Imported) -> dict[str, object]:
    recorded = imported.recorded
    return {
        "file": imported.file,
        "complete": imported.complete,
        "not_run": imported.not_run,
        "sites": [{**dataclasses.asdict(site.place), "class": site.cls, "call": site.call} for site in imported.sites],
        "launches": [_launch_json(launch) for launch in imported.launches],
        "not_reached": [
            {
                **dataclasses.asdict(site.place),
                "class": site.cls,
                "known": dict(arguments.known),
                "unknown": [dataclasses.asdict(each) for each in arguments.unknown],
            }
            for site, arguments in imported.arguments
        ],
        "unread": [{**dataclasses.asdict(place), "why": why} for place, why in imported.unread],
        "run": None if recorded is None else _run_json(recorded),
    }


def _run_json(recorded: Recorded) -> dict[str, object]:
    row = dataclasses.asdict(dataclasses.replace(recorded, uploads={}, calls=()))
    secrets = [secret for call in recorded.calls for secret in call.secrets]
    return {**row, "calls": [f"{call.service}.{call.operation}" for call in recorded.calls], "secrets": secrets}


def _launch_json(launch: Launch) -> dict[str, object]:
    return {
        "name": launch.name,
        "site": dataclasses.asdict(launch.site.place) if launch.site else None,
        "place": dataclasses.asdict(launch.place) if launch.place else None,
        "region": launch.region,
        "request": dict(launch.request),
        "job": dump_job(launch.job, "json") if launch.job is not None else None,
        "sweep": launch.sweep is not None,
        "fields": launch.proof.fields if launch.proof else None,
        "differences": [dataclasses.asdict(each) for each in launch.proof.differences] if launch.proof else None,
        "notes": list(launch.notes),
        "refusal": launch.refusal,
    }
