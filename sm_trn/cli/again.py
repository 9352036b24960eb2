"""How commands that launch a job once more answer: what differs, what it can cost, what it is called."""

from __future__ import annotations

import dataclasses
from typing import Any

import click

from ..formatting import numbers as fmt
from ..session import Session, TrainingJob
from ..specs import JobStatus
from . import facts
from .ceilings import cents
from .shared import emit, say
from .watch import waited


def told(session: Session, original: str, job: TrainingJob, *, as_json: bool, wait: bool, more: dict[str, Any]) -> int:
    """Show what was launched, and stay until it has ended where that was asked; 1 when it failed."""
    most = session.ceiling(job.spec)
    if not as_json:
        if job.changes:
            click.echo(str(job.changes), err=True)
        cost = (
            "EMULATED: no cost."
            if session.emulated
            else "no price, no ceiling"
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
    final = waited(session, [job], entry, as_json=as_json)[0] if wait else None
    if as_json:
        emit({**entry, **(facts.facts(final) if final is not None else {})})
    elif final is None:
        click.echo(f"Follow it: sm-trn watch {job.name}", err=True)
    return int(final is not None and final.status is JobStatus.FAILED)
