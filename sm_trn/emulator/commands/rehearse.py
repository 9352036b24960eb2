"""sm-trn rehearse"""

from __future__ import annotations

from pathlib import Path

import click

from ...cli.files import files
from ...cli.options import global_option, json_option
from ...cli.shared import Whole, emit, say
from ...wiring import connect
from ..options import DEVICE
from ..rehearsal import rehearse


@click.command("rehearse")
@click.argument("name", metavar="FILE")
@click.option(
    "--interruptions",
    type=Whole(1, 100),
    default=2,
    show_default=True,
    help="Interrupt the job this many times.",
)
@click.option("--device", type=click.Choice(["neuron"]), help="Simulate Trainium's device on the CPU.")
@click.option("--no-notice", is_flag=True, help="Do not send SIGTERM before the interruption.")
@global_option("state")
@json_option
def command(
    name: str, *, interruptions: int, device: str | None, no_notice: bool, state: Path | None, as_json: bool
) -> int:
    """Run the job of FILE twice on this machine, once with interruptions like those of spot capacity, and compare the final
    weights.

    FILE#NAME selects one job of several. The exit code is 1 if the weights differ, nothing was resumed, or a run fails.

    \b
    Example: sm-trn rehearse distilbert-spot.toml --interruptions 3
    """
    job = files.only(name)
    job = job.replace(environment={**job.environment, DEVICE: device}) if device else job
    session = connect("emulator", state=state)
    told: list[str] = []

    def tell(text: str) -> None:
        told.append(text)
        click.echo(text, err=True)

    try:
        found = rehearse(job, session, interruptions=interruptions, notice=not no_notice, state=state, tell=tell)
    except KeyboardInterrupt as stop:
        raise KeyboardInterrupt("Interrupted. Jobs that were started go on." if told else "") from stop
    if as_json:
        emit(
            {
                "identical": found.identical,
                "resumed": not found.doubt,
                "doubt": found.doubt,
                "interruptions": found.interruptions,
                "steps": found.steps,
                "redone_at_most": found.redone,
                "files": dict(found.files),
                "evaluations": dict(found.evaluations),
                "jobs": [found.plain, found.interrupted],
                "emulated": True,
                "simulated": found.simulated,
            }
        )
    else:
        say(str(found))
    return int(not (found.identical and not found.doubt))
