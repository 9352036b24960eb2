"""sm-trn render"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import click

from ...core.render import TARGETS, problems, render
from ...core.session.defaults import known_region
from ...core.specs.destination import Destination
from ...core.specs.problems import Severity
from ...rules import check
from ..options import json_option, region_option
from ..shared import bucket_name, emit, role_arn, say
from . import files


@click.command("render")
@click.argument("name", metavar="FILE")
@click.option(
    "--to", "target", default="request", show_default=True, metavar="TARGET", help=f"One of {', '.join(TARGETS)}."
)
@click.option("--role", callback=role_arn, help="Execution role ARN; default: a visible placeholder.")
@click.option("--bucket", callback=bucket_name, help="Bucket for sources and models; default: a visible placeholder.")
@click.option("--host", help="The instance type that answers, for model-v2; default: ml.c5.xlarge.")
@region_option
@json_option
def command(name: str, *, target: str, as_json: bool, region: str | None, **where: str | None) -> int:
    """Show the request that the jobs of FILE make, without sending it. You need no account.

    Several jobs are printed as a JSON list, or one after the other. FILE#NAME selects one of them.

    \b
    Example: sm-trn render bert.toml --to estimator-v2
    """
    given = {key: value for key, value in where.items() if value is not None}
    at = Destination(region=known_region(region), **given)
    jobs = files.read_file(name).jobs
    rendered = [render(job, target, at=at) for job in jobs]
    if as_json or all(isinstance(body, dict) for body in rendered):
        plain = [_plain(body) for body in rendered]
        emit(plain[0] if len(plain) == 1 else plain)
    else:
        say(
            "\n\n".join(
                f"# {job.name}\n{body}" if len(jobs) > 1 else str(body)
                for job, body in zip(jobs, rendered, strict=True)
            )
        )
    for problem in (found for job in jobs for found in problems(job, target)):
        click.echo(str(problem), err=True)
    wrong = sum(problem.severity is Severity.ERROR for job in jobs for problem in check(job))
    if wrong:
        click.echo(f"{wrong} error{'s' if wrong > 1 else ''}, not launchable: sm-trn check {name}", err=True)
    return 0


def _plain(value: Any) -> Any:
    """Calls, tuples and read-only mappings as what JSON has."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
