"""A job's facts as every command and every other client shows them."""

from __future__ import annotations

from typing import Any

from ...core.formatting import numbers as fmt
from ...core.formatting.printable import printable
from ...core.specs.snapshot import JobSnapshot, JobStatus
from ...core.status import next_command, status_look


def facts(snapshot: JobSnapshot) -> dict[str, Any]:
    """The facts that any client of the API sees too, by their names there in snake case."""
    return {
        "name": snapshot.name,
        "arn": snapshot.arn,
        "status": snapshot.status_word,
        "secondary_status": snapshot.secondary,
        "emulated": snapshot.emulated,
        "instance": snapshot.instance,
        "instances": snapshot.count,
        "creation_time": snapshot.created,
        "training_start_time": snapshot.started,
        "training_end_time": snapshot.ended,
        "training_time_s": snapshot.training_s,
        "billable_time_s": snapshot.billable_s,
        "spot": snapshot.spot,
        "interruptions": snapshot.interruptions,
        "failure_reason": snapshot.failure_reason or None,
        "model": snapshot.model_s3_uri,
    }


def lines(snapshot: JobSnapshot) -> list[str]:
    """The same for people: one fact a line, absent ones left out."""
    mark = "  EMULATED on this machine" if snapshot.emulated else ""
    rows: list[tuple[str, object]] = [
        ("status", f"{status_look(snapshot).word} ({snapshot.status_word} / {snapshot.secondary}){mark}"),
        ("instances", fmt.instances(snapshot.instance, snapshot.count)),
        ("created", snapshot.created and fmt.stamp(snapshot.created)),
        ("started", snapshot.started and fmt.stamp(snapshot.started)),
        ("ended", snapshot.ended and fmt.stamp(snapshot.ended)),
        ("training", snapshot.training_s and fmt.billable(snapshot.training_s, emulated=snapshot.emulated)),
        (
            "billable",
            snapshot.billable_s and fmt.billable(snapshot.billable_s, emulated=snapshot.emulated) + " per instance",
        ),
        ("interrupted", snapshot.interruptions or None),
        ("reason", f"\n{' ' * 14}".join(printable(line) for line in snapshot.failure_reason.split("\n"))),
        ("next", next_command(snapshot.name, snapshot.status) if snapshot.status is JobStatus.FAILED else None),
        ("model", snapshot.model_s3_uri if snapshot.terminal else None),
        ("image", snapshot.image),
    ]
    return [snapshot.name, *(f"  {name:<11} {value}" for name, value in rows if value)]
