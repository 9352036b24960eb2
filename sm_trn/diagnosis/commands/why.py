"""sm-trn why"""

from __future__ import annotations

import dataclasses
import math
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import click

from ...cli.connection import connection_options
from ...cli.jobs.selection import group, group_options
from ...cli.options import json_option
from ...cli.shared import emit, say
from ...core.errors import SmTrnError
from ...core.formatting import numbers as fmt
from ...core.specs.json import Json
from ...core.specs.problems import AnyOf, Change
from ..causes.cause import Cause, Diagnosis, Evidence
from ..causes.source import why
from ..handles import DiagnosedJob, GuardedSession
from ..text import diagnosis_text


@click.command("why")
@click.argument("name", metavar="NAME|LOGFILE|DESCRIBE.json|TEXT|-", required=False)
@group_options
@json_option
@connection_options
def command(
    name: str | None, *, tag: str | None, sweep: str | None, as_json: bool, connection: Callable[[], GuardedSession]
) -> int:
    """Explain why a job failed, stopped or hangs, and what to change.

    NAME is a job: its status and its log are read. A file is a saved log, a DescribeTrainingJob answer as JSON, or a worker's
    error file; - reads one from the standard input. A folder, with a slash in it, holds dumps of PyTorch's flight recorder, and
    TEXT is a message in quotes. These ask nobody. The exit code is 1 where a cause was found or
    looked for in vain, 0 where nothing went wrong.

    Example: sm-trn why "RuntimeError: CUDA error: out of memory"
    """
    name = name or None  # a variable of the shell that is not set
    if (name is None) == (tag is None and sweep is None):
        raise click.UsageError(
            "wanted either a NAME, or --tag or --sweep to find the jobs; sm-trn list shows the names"
        )
    if name is None:
        return _each(cast("list[DiagnosedJob]", group(connection(), tag, sweep)), as_json=as_json)
    given = _without_a_job(name)
    if given is not None:
        found, job, cost = given, "", ""
    else:
        handle = connection().attach(name)
        found, job = handle.why(), handle.name
        spent = handle.cost() if not handle.session.emulated else None
        cost = f"{fmt.usd(spent.usd)}" if spent is not None else ""
    if as_json:
        emit(as_tree(found))
    else:
        say(diagnosis_text(found, job=job, cost=cost))
    return int(found.cause is not None)


def _each(jobs: list[DiagnosedJob], *, as_json: bool) -> int:
    """Explain each job that has a cause or is not well; one line tells of the others."""
    found = [(job, job.why()) for job in jobs]
    sick = [(job, each) for job, each in found if each.cause is not None]
    if as_json:
        emit([as_tree(each) for _, each in found])
        return int(bool(sick))
    for job, each in sick:
        say(diagnosis_text(each, job=job.name, cost="") + "\n")
    say(f"{len(found) - len(sick)} of {len(found)} jobs have nothing that went wrong.")
    return int(bool(sick))


def _without_a_job(name: str) -> Diagnosis | None:
    """The diagnosis of a file, of the standard input or of a text; None for what can be the name or the ARN of a job."""
    if name == "-":
        with tempfile.TemporaryDirectory() as folder:  # a log may be larger than the memory
            path = Path(folder, "stdin")
            with path.open("wb") as file:
                shutil.copyfileobj(sys.stdin.buffer, file)
            return why(path)
    if any(sign.isspace() for sign in name):
        return why(name)
    if Path(name).is_file() or (Path(name).is_dir() and "/" in name):  # a folder may be called like a job
        path = Path(name)
        if path.suffix in {".toml", ".yaml", ".yml"}:
            raise SmTrnError(
                f"log: got {name!r}, wanted a log or a describe answer. A job file is read by sm-trn check, estimate and launch"
            )
        if path.is_file() and _binary(path):
            raise SmTrnError(
                f"log: got {name!r}, which holds bytes of a program or an archive, wanted a log, which is text"
            )
        return why(path)
    if not name.startswith("arn:") and ("/" in name or name.endswith((".log", ".txt", ".json"))):
        raise SmTrnError(
            f"log: got {name!r}, wanted a file that is there, or the name of a job; sm-trn list shows jobs"
        )
    return None


def _binary(path: Path) -> bool:
    """Whether a file begins with what no text has."""
    with path.open("rb") as file:
        return b"\0" in file.read(4096)


def as_tree(found: Diagnosis) -> dict[str, Json]:
    """The diagnosis as JSON can hold it."""
    return {
        "name": found.name,
        "status": found.status,
        "verdict": found.health.verdict.word if found.health is not None else None,
        "id": found.id,
        "confidence": found.confidence.value,
        "cause": _cause(found.cause) if found.cause is not None else None,
        "consequences": [_cause(each) for each in found.consequences],
        "unusual": [_evidence(each) for each in found.unusual],
        "network": found.network.name.lower(),
    }


def _cause(cause: Cause) -> dict[str, Json]:
    fixes = cause.fix.choices if isinstance(cause.fix, AnyOf) else (cause.fix,)
    return {
        "id": cause.id,
        "family": cause.family,
        "what": cause.what,
        "confidence": cause.confidence.value,
        "error": cause.error,
        "place": cause.place,
        "code": cause.code,
        "host": cause.host,
        "rank": cause.rank,
        "time_s": _number(cause.time_s),
        "facts": dict(cause.facts),
        "evidence": [_evidence(each) for each in cause.evidence],
        "fix": [
            {"change": _plain(each.fields)} if isinstance(each, Change) else {"advice": str(each)} for each in fixes
        ],
        "source": cause.source,
    }


def _evidence(each: Evidence) -> dict[str, Json]:
    return {
        "text": each.text,
        "stream": each.stream,
        "rank": each.rank,
        "time_s": _number(each.time_s),
        "line": each.line or None,
    }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _plain(value: Any) -> Json:
    """Fields of a spec as JSON can hold them."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value) if field.init}
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value if isinstance(value, (bool, int, float, str)) or value is None else str(value)
