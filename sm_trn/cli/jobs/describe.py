"""sm-trn describe"""

from __future__ import annotations

from collections.abc import Callable

import click

from ...core.formatting import numbers as fmt
from ...core.session.handles import Session
from ...core.specs.snapshot import JobSnapshot
from ...core.status import phase_word
from ..connection import connection_options
from ..shared import emit, json_option, say
from . import facts


@click.command("describe")
@click.argument("name")
@json_option
@connection_options
def command(name: str, *, as_json: bool, connection: Callable[[], Session]) -> None:
    """Show status, phases, times, hyperparameters and final metrics of job NAME.

    With --json, print the unchanged DescribeTrainingJob response.
    """
    session = connection()
    snapshot = session.attach(name).snapshot()
    if as_json:
        emit(dict(snapshot.raw))
        return
    say("\n".join(facts.lines(snapshot)))
    if snapshot.transitions:
        say("\nphases")
        for phase in snapshot.transitions:
            took = fmt.compact((phase.ended - phase.started).total_seconds()) if phase.ended else "now"
            say(f"  {fmt.stamp(phase.started)}  {phase_word(phase.status):<12} {took:>7}  {phase.message}")
    for title, values in (("hyperparameters", snapshot.hyperparameters), ("final metrics", final_metrics(snapshot))):
        if values:
            say(f"\n{title}")
            say("\n".join(f"  {key} = {value}" for key, value in sorted(values.items())))


def final_metrics(snapshot: JobSnapshot) -> dict[str, str]:
    """The numbers that the service kept, to the digits that its 32 bits hold."""
    return {name: f"{value:.7g}" for name, value in snapshot.final_metrics.items()}
