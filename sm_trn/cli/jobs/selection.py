"""Running jobs by a part of their name or by a tag, for the commands that take several."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

NONE = "No running job matches. List all jobs: sm-trn list"


def part_of_a_name(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """The text; an empty one, as of a variable that is not set, would be part of every name. Raises click.BadParameter."""
    if value == "":
        raise click.BadParameter("got '', wanted a part of a name", context, parameter)
    return value


def selection_options(command: Callable[..., Any]) -> Callable[..., Any]:
    command = click.option("--tag", metavar="KEY=VALUE", help="Select running jobs with this tag.")(command)
    return click.option(
        "--containing", metavar="TEXT", callback=part_of_a_name, help="Select running jobs whose name contains this."
    )(command)


def pair(tag: str | None) -> tuple[str, str] | None:
    """Raises UsageError."""
    if tag is None:
        return None
    key, mark, value = tag.partition("=")
    if not key or not mark:
        raise click.UsageError(f"--tag: got {tag!r}, wanted KEY=VALUE")
    return key, value
