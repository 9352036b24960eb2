"""sm-trn guard"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import click

from ...cli.connection import connection_options
from ...cli.jobs import facts
from ...cli.jobs.selection import NONE
from ...cli.jobs.waiting import exit_code, watching
from ...cli.options import json_option
from ...cli.shared import Duration, Number, emit, say
from ...core.formatting import numbers as fmt
from ...core.specs.guard import ACTS, Guard
from ...core.specs.snapshot import JobSnapshot
from ...core.status import next_command, status_look
from ..guard.live import Alarm
from ..handles import DiagnosedJob, GuardedSession
from ..health.health import Health


@click.command("guard")
@click.argument("names", nargs=-1)
@click.option("--once", is_flag=True, help="Look once and end, for cron or CI. Nothing is stopped.")
@click.option("--stall", type=Duration(), help="Find jobs that log no new step for this long. Default: 20m.")
@click.option("--max-usd", type=Number(min=0), metavar="USD", help="Find jobs that have cost this much.")
@click.option("--act", type=click.Choice(ACTS), default="tell", show_default=True, help="Choose what is done about it.")
@json_option
@connection_options
def command(
    names: tuple[str, ...],
    *,
    once: bool,
    stall: float | None,
    max_usd: float | None,
    act: str,
    as_json: bool,
    connection: Callable[[], GuardedSession],
) -> int:
    """Watch jobs for stalls, NaN and cost: the ones you name, or all running ones.

    --act stop stops only jobs that you name, and for silence alone only with --stall: the script gets SIGTERM and saves.
    Other limits stand in the [guard] table of a job file. The exit code is 1 if a job needs you.
    """
    if act != "tell" and not names:
        raise click.UsageError(
            f"--act {act} stops jobs: wanted the names of those that it may stop; sm-trn list shows them"
        )
    limits: dict[str, Any] = {"stall_s": None if stall is None else int(stall), "max_usd": max_usd}
    limits["silence_suffices"] = stall is not None  # whoever names the time that is too long needs no other proof
    guard = Guard(act=act, **{name: value for name, value in limits.items() if value is not None})
    session = connection()
    jobs = [session.attach(name) for name in names] or session.running()
    if not jobs and not as_json:
        say(NONE)
        return 0
    if once:
        return _once(session, jobs, guard, as_json=as_json)
    final = watching(session.wait, jobs, as_json=as_json, guard=guard)
    if as_json:
        emit([facts.facts(snapshot) for snapshot in final])
    return exit_code(jobs, final)


def _once(session: GuardedSession, jobs: Sequence[DiagnosedJob], guard: Guard, *, as_json: bool) -> int:
    found = [(job.snapshot(), *job.guarded(guard)) for job in jobs]
    wrong = sum(state.needs_you or bool(alarms) for _, state, alarms in found)
    if as_json:
        emit([_tree(*each) for each in found])
    else:
        now = datetime.fromtimestamp(session.clock.now()).astimezone()
        say(f"{len(jobs)} job{'s' * (len(jobs) != 1)} watched once, {fmt.iso(now)}. Acts: tell.")
        for each in found:
            say("\n".join(_lines(*each)))
        say(f"{wrong} of {len(jobs)} need{'s' * (wrong == 1)} you." if wrong else "None of them needs you.")
    return int(wrong > 0)


def _lines(job: JobSnapshot, state: Health, alarms: Sequence[Alarm]) -> list[str]:
    look = status_look(job, state.verdict)
    told = [f"{look.glyph if state.needs_you else '✓'} {job.name}  {state.verdict.word}, {state.what}"]
    told += [f"✗ {job.name}  {alarm.what}" for alarm in alarms if alarm.what != state.what]
    if not state.needs_you and not alarms:
        return told
    proof = [f"  proof     {state.proof}"] if state.proof else []
    return [*told, *proof, f"  next      {next_command(job.name, job.status, state.verdict)}"]


def _tree(job: JobSnapshot, state: Health, alarms: Sequence[Alarm]) -> dict[str, object]:
    return {
        "name": job.name,
        "status": job.status_word,
        "secondary_status": job.secondary,
        **dataclasses.asdict(state),
        "verdict": state.verdict.word,
        "since_s": state.since_s if math.isfinite(state.since_s) else None,
        "alarms": [{**dataclasses.asdict(alarm), "verdict": alarm.verdict.word} for alarm in alarms],
    }
