"""How commands that launch or watch jobs wait for them, and how those that launch a job once more answer."""

from __future__ import annotations

import dataclasses
import signal
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import click

from ...core.formatting import numbers as fmt
from ...core.formatting.missing import EMULATED_COST, Missing
from ...core.session.handles import Session, TrainingJob
from ...core.specs.snapshot import JobSnapshot
from ...core.status import Verdict
from ..shared import cents, emit, say
from . import facts


def take_as_ctrl_c(*names: str) -> None:
    """Take signals – a cancelled CI run, a closed terminal – as Ctrl-C, which names the jobs; not those that nohup ignores."""
    for number in (getattr(signal, name) for name in names if hasattr(signal, name)):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)


def answer(
    session: Session, original: str, job: TrainingJob, *, as_json: bool, wait: bool, more: dict[str, Any]
) -> int:
    """Show what was launched, and stay until it has ended where that was asked; the exit code."""
    most = session.ceiling(job.spec)
    if not as_json:
        if job.changes:
            click.echo(str(job.changes), err=True)
        cost = (
            f"{EMULATED_COST}."
            if session.emulated
            else f"{Missing.NO_PRICE}, no ceiling"
            if most is None
            else f"at most {fmt.usd(most)}"
        )
        click.echo(cost, err=True)
        say(job.name)
    entry = {
        "name": job.name,
        "spec": job.label,
        "emulated": session.emulated,
        "most_usd": cents(most),
        "of": original,
        **more,
        "changes": [dataclasses.asdict(item) for item in job.changes or ()],
    }
    final = waited(session, [job], entry, as_json=as_json) if wait else []
    if as_json:
        emit({**entry, **(facts.facts(final[0]) if final else {})})
    elif not final:
        click.echo(f"Follow it: sm-trn watch {job.name}", err=True)
    return exit_code([job], final)


def exit_code(jobs: Sequence[TrainingJob], final: Sequence[JobSnapshot]) -> int:
    """1 when one of ``jobs``, whose last snapshots are ``final``, ended badly: it failed, was deleted, or learned nothing."""
    if not final:  # nobody waited
        return 0
    ended = (job.ending(snapshot) for job, snapshot in zip(jobs, final, strict=True))
    return int(any(verdict is Verdict.ENDED_BADLY for verdict in ended))


def waited(session: Session, jobs: Sequence[TrainingJob], launched: Any, *, as_json: bool) -> list[JobSnapshot]:
    """``watching`` jobs that were launched just now: with JSON nothing has named them yet, so whatever ends the wait does."""
    try:
        return watching(session.wait, jobs, as_json=as_json)
    except BaseException:
        if as_json:
            emit(launched)
        raise


def watching(
    wait: Callable[..., list[JobSnapshot]], jobs: Sequence[TrainingJob], *, as_json: bool, **limits: Any
) -> list[JobSnapshot]:
    """``wait`` – that of a session, with its ``limits`` – for ``jobs``; Ctrl-C leaves them running and exits with 130. With
    JSON, what there is to say goes to stderr."""
    try:
        return wait(jobs, progress=not as_json, notice=partial(click.echo, err=True) if as_json else None, **limits)
    except KeyboardInterrupt:  # the wait has said how to come back
        raise SystemExit(130) from None
