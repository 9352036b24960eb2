"""sm-trn resubmit"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import click

from ...core.jobfile.changes import change_job
from ...core.render import problems
from ...core.render.differences import diff
from ...core.session.handles import Session
from ...core.specs.job import JobSpec
from ...rules import check
from ..connection import connection_options
from ..files.rules import ignore_option
from ..options import json_option
from ..shared import emit, say
from . import waiting


@click.command("resubmit")
@click.argument("name")
@click.option(
    "--set", "settings", multiple=True, metavar="PATH=VALUE", help="Change a field, by its path in a job file."
)
@click.option("--unset", multiple=True, metavar="PATH", help="Reset a field to its default.")
@click.option(
    "--resume",
    is_flag=True,
    help="Go on from the checkpoints of job NAME, which has ended. The new job writes its checkpoints to the same place.",
)
@click.option("--dry-run", is_flag=True, help="Show the changes and start nothing.")
@click.option(
    "--wait",
    is_flag=True,
    help="Wait until the job ends. The exit code is 1 if it failed, reached max_run_s, was deleted, or learned nothing.",
)
@ignore_option
@json_option
@connection_options
def command(  # noqa: PLR0913 - one argument per option of the command line
    name: str,
    settings: tuple[str, ...],
    unset: tuple[str, ...],
    *,
    resume: bool,
    dry_run: bool,
    wait: bool,
    ignore: tuple[str, ...],
    as_json: bool,
    connection: Callable[[], Session],
) -> int:
    """Launch the job NAME again with the same source, role and fields, apart from your changes. Somebody else may have
    launched it first.

    A value is read as in a job file: a number, true, false, or a text. The command shows what differs from NAME.

    --resume refuses a job that still runs, that has no checkpoint location in S3, or that wrote no checkpoint.

    \b
    Examples: sm-trn resubmit bert-261120-101500-a1b2c3 --set compute.count=2 --set hyperparameters.epochs=3
              sm-trn resubmit bert-spot-261120-101500-a1b2c3 --resume --wait
    """
    if resume and (settings or unset or dry_run):
        raise click.UsageError("--resume starts the same job again, got --set, --unset or --dry-run beside it")
    session = connection()
    job = session.attach(name)
    if resume:
        stored = job.checkpoints()
        if stored is not None and not as_json:
            click.echo(f"checkpoints: {stored}", err=True)
        more = {"checkpoints": {"uri": stored.uri, "objects": stored.count, "newest": stored.newest}} if stored else {}
        return waiting.answer(session, job.name, job.resume(ignore=ignore), as_json=as_json, wait=wait, more=more)
    spec = change_job(job.spec, settings, unset=unset)
    if dry_run:
        return _preview(job.spec, spec, name, as_json=as_json)
    if not as_json:
        for problem in (*check(spec), *problems(spec, "request")):
            click.echo(str(problem), err=True)
    return waiting.answer(session, name, job.resubmit(spec, ignore=ignore), as_json=as_json, wait=wait, more={})


def _preview(before: JobSpec, after: JobSpec, name: str, *, as_json: bool) -> int:
    found = diff(before, after, names=(name, "resubmitted"))
    found_out = [str(problem) for problem in (*check(after), *problems(after, "request"))]
    if as_json:
        emit({"of": name, "changes": [dataclasses.asdict(item) for item in found], "problems": found_out})
    else:
        say("\n".join([*found_out, str(found), "Nothing was started."]))
    return 0
