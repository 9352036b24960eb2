"""sm-trn why"""

from __future__ import annotations

import dataclasses
import enum
import math
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from ...cli.connection import connection_options
from ...cli.options import json_option
from ...cli.shared import emit, say
from ...core.errors import SmTrnError
from ...core.formatting import numbers as fmt
from ...core.specs.json import Json
from ...core.specs.problems import Advice, AnyOf, Change
from ..causes.cause import Diagnosis
from ..causes.source import why
from ..handles import GuardedSession
from ..text import diagnosis_text


@click.command("why")
@click.argument("name", metavar="NAME|LOGFILE|DESCRIBE.json|TEXT|-")
@json_option
@connection_options
def command(name: str, *, as_json: bool, connection: Callable[[], GuardedSession]) -> int:
    """Explain why a job failed, stopped or hangs, and what to change.

    NAME is a job: its status and its log are read. A file is a saved log, a DescribeTrainingJob answer as JSON, or a worker's
    error file; - reads one from the standard input. TEXT is a message in quotes. These ask nobody. The exit code is 1 where a
    cause was found or looked for in vain, 0 where nothing went wrong.

    Example: sm-trn why "RuntimeError: CUDA error: out of memory"
    """
    if not name:
        raise click.UsageError("got an empty NAME, wanted that of a job; sm-trn list shows the names")
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


def _without_a_job(name: str) -> Diagnosis | None:
    """The diagnosis of a file, of the standard input or of a text; None for what can be the name or the ARN of a job."""
    if name == "-":
        return why(sys.stdin.buffer.read().decode("utf-8", "replace") + "\n")
    if any(sign.isspace() for sign in name):
        return why(name)
    if Path(name).is_file():
        path = Path(name)
        if path.suffix in {".toml", ".yaml", ".yml"}:
            raise SmTrnError(
                f"log: got {name!r}, wanted a log or a describe answer. A job file is read by sm-trn check, estimate and launch"
            )
        if b"\0" in path.read_bytes()[:4096]:
            raise SmTrnError(
                f"log: got {name!r}, which holds bytes of a program or an archive, wanted a log, which is text"
            )
        return why(path)
    if not name.startswith("arn:") and ("/" in name or name.endswith((".log", ".txt", ".json"))):
        raise SmTrnError(
            f"log: got {name!r}, wanted a file that is there, or the name of a job; sm-trn list shows jobs"
        )
    return None


def as_tree(found: Diagnosis) -> dict[str, Json]:
    """The diagnosis as JSON can hold it."""
    return {
        "name": found.name,
        "status": found.status,
        "verdict": found.health.verdict.word if found.health is not None else None,
        "id": found.id,
        "confidence": found.confidence.value,
        "cause": _plain(found.cause),
        "consequences": [_plain(each) for each in found.consequences],
        "tail": [_plain(each) for each in found.tail],
    }


def _plain(value: Any) -> Json:  # noqa: PLR0911 - a kind of value each
    """A value as JSON can hold it: NaN is null, a fix a list of changes of the spec and of advice."""
    if isinstance(value, AnyOf):
        return [_plain(each) for each in value.choices]
    if isinstance(value, Change):
        return {"change": _plain(value.fields)}
    if isinstance(value, Advice):
        return {"advice": str(value)}
    if isinstance(value, enum.Enum):
        return str(value.value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value) if field.init}
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, (bool, int, str)) or value is None else str(value)
