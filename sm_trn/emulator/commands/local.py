"""sm-trn local"""

from __future__ import annotations

import dataclasses
import shlex
from pathlib import Path

import click

from ... import emulator
from ...cli.options import global_option, json_option, region_option
from ...cli.shared import emit, say
from ...core.formatting import numbers as fmt
from ...core.formatting.missing import Missing
from ...core.session.defaults import known_region, state_folder

state_option = global_option("state")


@click.group("local")
def command() -> None:
    """Control the emulator: an embedded SageMaker, one background process for each state folder.

    Jobs in it run as you, on this machine. It listens on 127.0.0.1 only and refuses unsigned requests.
    """


@command.command("up")
@state_option
@region_option
@click.option("--strict", is_flag=True, help="Fail jobs that need a substitute here: SMDDP, pytorchxla, MPI.")
@json_option
def up(state: Path | None, region: str | None, *, strict: bool, as_json: bool) -> None:
    """Start the emulator, or find the one that runs, and print KEY=VALUE lines for other programs.

    A running emulator keeps the options it was started with.

    \b
    Example: export $(sm-trn local up) && aws sagemaker list-training-jobs
    """
    endpoint = emulator.up(state, region=known_region(region), options=emulator.Options(strict=strict))
    environment = endpoint.environment()
    if as_json:
        emit(environment)
    else:
        say("\n".join(f"{key}={shlex.quote(value)}" for key, value in environment.items()))


@command.command("down")
@state_option
@json_option
def down(state: Path | None, *, as_json: bool) -> None:
    """Stop the emulator and the jobs in it. What they did stays in the state folder."""
    stopped = emulator.down(state)
    if as_json:
        emit({"stopped": stopped})
    else:
        say("stopped" if stopped else "was not up")


@command.command("status")
@state_option
@json_option
def status(state: Path | None, *, as_json: bool) -> int:
    """Show whether the emulator runs, its address, how it isolates jobs, and what it holds. The exit code is 1 if it is not
    running."""
    found = emulator.status(state)
    if as_json:
        emit(dataclasses.asdict(found))
    else:
        jobs = ", ".join(f"{number} {word}" for word, number in found.jobs.items()) or str(Missing.NONE_YET)
        rows = [
            ("emulator", "up" if found.alive else "down; sm-trn local up"),
            ("endpoint", f"{found.url}, process {found.pid}, {found.region}" if found.alive else ""),
            ("isolation", f"jobs run as you; {found.isolation}" if found.alive else ""),
            ("jobs", jobs if found.alive else ""),
            ("endpoints", ", ".join(f"{number} {word}" for word, number in found.endpoints.items())),
            ("refused", ", ".join(f"{name} {number} times" for name, number in found.refused.items())),
            ("state", f"{found.state}, {fmt.file_size(found.disk_bytes)}"),
        ]
        say("\n".join(f"{name:<10} {value}" for name, value in rows if value))
    return int(not found.alive)


@command.command("reset")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@state_option
def reset(state: Path | None, *, yes: bool) -> None:
    """Stop the emulator and delete everything it kept: jobs, logs, objects."""
    if not yes:
        click.confirm(f"Delete all jobs, logs and objects in {state_folder(state)}?", abort=True)
    emulator.reset(state)
    say("nothing is left")
