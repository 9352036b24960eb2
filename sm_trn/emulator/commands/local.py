"""sm-trn local"""

from __future__ import annotations

import dataclasses
import shlex
from pathlib import Path
from typing import Any

import click

from ... import emulator
from ...cli.shared import Number, emit, json_option, region_option, say
from ...core.errors import EmulatorError
from ...core.formatting import numbers as fmt
from ...core.formatting.missing import Missing
from ...core.session.defaults import known_region

HELP = "State folder; default: SM_TRN_STATE, else ~/.local/state/sm-trn."
TIERS = ("auto", "namespace", "bubblewrap", "folder", "portable")
state_option = click.option("--state", type=click.Path(path_type=Path), help=HELP)


@click.group("local")
def command() -> None:
    """Control the emulator: an embedded SageMaker, one background process for each state folder.

    Jobs in it run as you, on this machine. It listens on 127.0.0.1 only and refuses unsigned requests.
    """


def _environment(endpoint: emulator.Endpoint, *, as_json: bool) -> None:
    if as_json:
        emit(endpoint.environment())
        return
    say("\n".join(f"{key}={shlex.quote(value)}" for key, value in endpoint.environment().items()))


def _running(state: Path | None) -> emulator.Endpoint:
    endpoint = emulator.find(state)
    if endpoint is None:
        raise EmulatorError(f"the emulator of {state or emulator.default_state()} is not up; sm-trn local up")
    return endpoint


@command.command("up")
@state_option
@region_option("Emulate this region.")
@click.option("--strict", is_flag=True, help="Fail jobs that need a substitute here: SMDDP, pytorchxla, MPI.")
@click.option(
    "--isolation", type=click.Choice(TIERS), default="auto", show_default=True, help="Choose how jobs are isolated."
)
@click.option(
    "--capacity",
    "capacities",
    multiple=True,
    metavar="TYPE=NUMBER",
    help="Start with so many instances of this type for training jobs, such as ml.p4d.24xlarge=0. Others are without limit.",
)
@json_option
def up(
    state: Path | None, region: str | None, *, strict: bool, isolation: str, capacities: tuple[str, ...], as_json: bool
) -> None:
    """Start the emulator, or find the one that runs, and print KEY=VALUE lines for other programs.

    A running emulator keeps the options it was started with.

    \b
    Example: export $(sm-trn local up) && aws sagemaker list-training-jobs
    """
    options = emulator.Options(strict=strict, isolation=isolation, capacity=dict(map(_capacity, capacities)))
    _environment(emulator.up(state, region=known_region(region), options=options), as_json=as_json)


def _capacity(text: str) -> tuple[str, int]:
    """``ml.p4d.24xlarge=0``. Raises UsageError for any other text."""
    kind, _, number = text.partition("=")
    if not kind or not number.isdecimal():
        raise click.UsageError(
            f"--capacity: got {text!r}, wanted an instance type and a number, such as ml.p4d.24xlarge=0"
        )
    return kind, int(number)


@command.command("env")
@state_option
@json_option
def env(state: Path | None, *, as_json: bool) -> None:
    """Print the KEY=VALUE lines of a running emulator."""
    _environment(_running(state), as_json=as_json)


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
            ("isolation", f"{found.isolation}; jobs run as you" if found.alive else ""),
            ("jobs", jobs if found.alive else ""),
            ("endpoints", ", ".join(f"{number} {word}" for word, number in found.endpoints.items())),
            ("refused", ", ".join(f"{name} {number} times" for name, number in found.refused.items())),
            ("state", f"{found.state}, {_disk(found)}"),
        ]
        say("\n".join(f"{name:<10} {value}" for name, value in rows if value))
    return int(not found.alive)


def _disk(found: emulator.Status) -> str:
    size = fmt.file_size(found.disk_bytes)
    if found.limit_bytes is None:
        return size
    return f"{size} of at most {fmt.file_size(found.limit_bytes)}, {fmt.file_size(found.object_bytes)} of it S3 objects"


@command.command("interrupt")
@click.argument("name")
@click.option("--no-notice", is_flag=True, help="Do not send SIGTERM before the interruption.")
@state_option
def interrupt(name: str, state: Path | None, *, no_notice: bool) -> None:
    """Interrupt spot job NAME as AWS would. The job restarts by itself."""
    emulator.interrupt(name, state, notice=not no_notice)
    say(f"interrupted {name}; sm-trn watch {name}")


@command.command("fault")
@click.argument("kind", type=click.Choice([*emulator.FAULTS, "none"]))
@click.option(
    "--operation", default="*", show_default=True, help="Fail only this operation, such as CreateTrainingJob."
)
@click.option("--times", type=int, default=1, show_default=True, help="Fail this many requests. 0 means without end.")
@click.option(
    "--probability",
    type=Number(0, 1),
    default=1.0,
    show_default=True,
    help="Fail each such request with this probability.",
)
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Choose the failing requests with this random seed."
)
@click.option(
    "--delay",
    "delay_s",
    type=Number(min=0),
    default=5.0,
    show_default=True,
    help="Delay a slow-start by this many seconds.",
)
@click.option(
    "--rank",
    type=int,
    default=0,
    show_default=True,
    help="Choose the worker that a hang, NaN, … befalls. -1 means all.",
)
@click.option(
    "--after",
    "after_s",
    type=Number(min=0),
    default=5.0,
    show_default=True,
    help="Wait this many seconds of the worker's life first.",
)
@state_option
def fault(kind: str, state: Path | None, *, times: int, rank: int, **options: Any) -> None:
    """Inject faults into the emulator to test your own code. KIND none removes them all.

    \b
    Example: sm-trn local fault throttling --operation CreateTrainingJob --times 3
    """
    if kind == "none":
        emulator.clear_faults(state)
    else:
        try:
            asked = emulator.Fault(kind=kind, times=times or None, rank=None if rank < 0 else rank, **options)
        except ValueError as error:
            raise click.UsageError(str(error)) from error
        emulator.add_fault(asked, state)
    for one in emulator.active_faults(state):
        often = "without end" if one.times is None else f"{one.times} times"
        say(f"{one.kind}  {one.operation}  {often}, probability {one.probability:g}, seed {one.seed}")


@command.command("logs")
@state_option
def logs(state: Path | None) -> None:
    """Show the emulator's own log."""
    path = emulator.log_file(state)
    say(path.read_text("utf-8", errors="replace") if path.exists() else f"no log yet in {path.parent}")


@command.command("reset")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@state_option
def reset(state: Path | None, *, yes: bool) -> None:
    """Stop the emulator and delete everything it kept: jobs, logs, objects."""
    if not yes:
        click.confirm(f"Delete all jobs, logs and objects in {state or emulator.default_state()}?", abort=True)
    emulator.reset(state)
    say("nothing is left")
