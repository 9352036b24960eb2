"""Options that select jobs: by a part of their name, a tag, a sweep, or a queue of AWS Batch."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from ...core.errors import UnknownName
from ...core.formatting import numbers as fmt
from ...core.session.handles import Session, TrainingJob
from ...core.specs.sweeps import SWEEP_TAG

if TYPE_CHECKING:
    from ...wiring import Session as WholeSession

_QUEUED_ID = re.compile(r"(arn:.*/)?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
MOST = 1000  # jobs of a tag or a sweep
NONE = "No running job matches. List all jobs: sm-trn list"


def name_filter(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Refuse an empty text, as of a variable that is not set: every name contains it. Raises click.BadParameter."""
    if value == "":
        raise click.BadParameter("got '', wanted a name or a part of one", context, parameter)
    return value


def selection_options(command: Callable[..., Any]) -> Callable[..., Any]:
    command = click.option("--sweep", metavar="NAME", help="Select running jobs that launch --grid made of NAME.")(
        command
    )
    command = click.option("--tag", metavar="KEY=VALUE", help="Select running jobs with this tag.")(command)
    return click.option(
        "--contains", metavar="TEXT", callback=name_filter, help="Select running jobs whose name contains this."
    )(command)


def group_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """--tag and --sweep, for the commands that look at ended jobs too."""
    command = click.option("--sweep", metavar="NAME", help="Take the jobs that launch --grid made of NAME.")(command)
    return click.option("--tag", metavar="KEY=VALUE", help="Take the jobs with this tag.")(command)


def group(session: Session, tag: str | None, sweep: str | None) -> list[TrainingJob]:
    """The jobs of a tag or a sweep, ended ones too, oldest first. Raises UsageError where there are none."""
    wanted = pair(tag, sweep)
    jobs = session.jobs(tag=wanted, limit=MOST)
    if not jobs:
        raise click.UsageError(f"no job here has the tag {'='.join(wanted or ())}; sm-trn list shows the jobs")
    if len(jobs) == MOST:
        click.echo(f"Only the newest {fmt.jobs(MOST)} are looked at.", err=True)
    return jobs[::-1]


def pair(tag: str | None, sweep: str | None = None) -> tuple[str, str] | None:
    """The tag that was asked for, by itself or as that of a sweep. Raises UsageError."""
    if tag is not None and sweep is not None:
        raise click.UsageError("--tag and --sweep: wanted one of them")
    if sweep is not None:
        return SWEEP_TAG, sweep
    if tag is None:
        return None
    key, mark, value = tag.partition("=")
    if not key or not mark:
        raise click.UsageError(f"--tag: got {tag!r}, wanted KEY=VALUE")
    return key, value


def queue_option(text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add --queue to a command. An empty name is refused."""
    return click.option("--queue", metavar="QUEUE", callback=name_filter, help=text)


def queued_job(session: WholeSession, queue: str, name: str) -> Any:
    """Return the job of ``queue`` by its id, ARN or name. Raises UnknownName where the queue has none."""
    if _QUEUED_ID.fullmatch(name):
        return session.queued(name)
    job = session.queues.fetch_named(queue, name)
    if job is None:
        raise UnknownName(f"job: got {name!r}, wanted a job of {queue}; sm-trn list --queue {queue} lists them")
    return session.queued(job.id)
