"""sm-trn local"""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from .. import emulator
from ..errors import EmulatorError
from .shared import emit, json_option, say

HELP = "State folder; default: SM_TRN_STATE, else ~/.local/state/sm-trn."
state_option = click.option("--state", type=click.Path(path_type=Path), help=HELP)


@click.group("local")
def command() -> None:
    """The emulator: an embedded SageMaker, one background process per state folder.

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
@click.option("--region", default="us-west-2", show_default=True, help="The region it plays.")
@json_option
def up(state: Path | None, region: str, *, as_json: bool) -> None:
    """Start the emulator unless it is up; print KEY=VALUE lines for other programs.

    \b
    Example: export $(sm-trn local up) && aws sagemaker list-training-jobs
    """
    _environment(emulator.up(state, region=region), as_json=as_json)


@command.command("env")
@state_option
@json_option
def env(state: Path | None, *, as_json: bool) -> None:
    """The KEY=VALUE lines of an emulator that is up."""
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
    """Whether it is up, where, how jobs are isolated, what it holds. Exit code 1 when it is down."""
    found = emulator.status(state)
    if as_json:
        emit(found)
    else:
        for key, value in found.items():
            shown = (
                ", ".join(f"{number} {word}" for word, number in value.items()) or "none"
                if isinstance(value, dict)
                else value
            )
            say(f"{key.replace('_', ' '):<12} {shown}")
    return int(not found["alive"])
