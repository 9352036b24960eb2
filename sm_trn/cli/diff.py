"""sm-trn diff"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from typing import Any

import click

from ..render import render
from ..session import Session
from ..specs import JobSpec
from . import files
from .differences import Difference, destination_from, destination_of, differences, placed_as
from .shared import connection_options, emit, json_option, say

OWN_TAGS = "sm_trn:"  # what the emulator, or submit, wrote on the job


@click.command("diff")
@click.argument("before", metavar="FILE-OR-JOB")
@click.argument("after", metavar="FILE-OR-JOB")
@json_option
@connection_options
def command(before: str, after: str, *, as_json: bool, connection: Callable[[], Session]) -> int:
    """Show where two jobs differ: two job files, a job file and a job that was launched, or two such jobs.

    What is compared is the request: every field of CreateTrainingJob, hyperparameters by value. A job file is compared with a
    job as if it had gone to the same account and bucket; what is in its source and local data is not compared. Exit code 1
    when they differ.

    \b
    Example: sm-trn diff bert.toml bert-trn1-261120-101500-a1b2c3
    """
    specs = {name: files.only(name) for name in (before, after) if files.looks_like_a_file(name)}
    answers = {name: _answer(connection(), name) for name in (before, after) if name not in specs}
    one, two = (_request(name, specs, answers) for name in (before, after))
    found = differences(one, two, names_matter=not answers)
    if as_json:
        emit({"before": before, "after": after, "differences": [dataclasses.asdict(item) for item in found]})
    else:
        say(_text(before, after, found))
    return int(bool(found))


def _answer(session: Session, name: str) -> Mapping[str, Any]:
    """What DescribeTrainingJob says, with the tags, which it leaves out."""
    snapshot = session.attach(name).snapshot()
    tags = session.backend.fetch_tags(snapshot.arn)
    own = [{"Key": key, "Value": value} for key, value in tags.items() if not key.startswith(OWN_TAGS)]
    return {**snapshot.raw, "Tags": own}


def _request(name: str, specs: Mapping[str, JobSpec], answers: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    if name in answers:
        return answers[name]
    job, answer = specs[name], next(iter(answers.values()), None)
    request: Mapping[str, Any]
    if answer is None:
        request = render(job, "request", at=destination_of(job))
    else:
        request = render(placed_as(job, answer), "request", at=destination_from(answer))
    return request


def _text(before: str, after: str, found: list[Difference]) -> str:
    if not found:
        return f"No difference between {before} and {after}."
    lines = [f"--- {before}", f"+++ {after}"]
    for item in found:
        lines.append(item.field)
        lines += [
            f"{sign} {_shown(value)}" for sign, value in (("-", item.before), ("+", item.after)) if value is not None
        ]
    lines.append(f"{len(found)} field{'s' if len(found) > 1 else ''} differ{'' if len(found) > 1 else 's'}.")
    return "\n".join(lines)


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
