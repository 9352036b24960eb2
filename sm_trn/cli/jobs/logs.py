"""sm-trn logs"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import click

from ...core.jobfile.in_toml import dump
from ...core.logs import shown
from ...core.logs.selection import LogFilter
from ...core.logs.suggestions import Suggester, Suggestion
from ...core.ports import LogCursor
from ...core.session.handles import Session
from ...core.session.log_files import save_log
from ...core.session.log_reader import JobLog
from ..connection import connection_options
from ..options import json_option
from ..shared import Whole, emit


@click.command("logs")
@click.argument("name")
@click.option("--follow", "-f", is_flag=True, help="Show new lines until the job ends.")
@click.option("--host", help="Show only this host, e.g. algo-1.")
@click.option("--rank", type=Whole(min=0), help="Show only this worker, as torchrun, MPI or SMDDP number it.")
@click.option("--grep", metavar="RE", help="Show only lines that match this regular expression.")
@click.option("--tail", type=Whole(min=0), help="Show only this many last lines, then with --follow new ones.")
@click.option("--toolkit", is_flag=True, help="Show the training toolkit's lines too, such as pip's.")
@click.option("--since", metavar="AGE", help="Show only lines of the last 5m, 2h, 1d, or since an ISO time (UTC).")
@click.option(
    "--save",
    metavar="FILE|DIR/",
    help="Write to a file, or to a folder with one file for each host. A second call continues where the first ended.",
)
@click.option("--suggest", is_flag=True, help="Show rules for the numbers that the script prints in its own way.")
@json_option
@connection_options
def command(  # noqa: PLR0913 - one a flag
    name: str,
    *,
    follow: bool,
    host: str | None,
    rank: int | None,
    grep: str | None,
    since: str | None,
    tail: int | None,
    toolkit: bool,
    save: str | None,
    suggest: bool,
    as_json: bool,
    connection: Callable[[], Session],
) -> None:
    """Show what the script of job NAME printed, on all hosts in time order. With --json, each line is one JSON object.

    Progress bars are reduced to their last line. --json keeps them whole, and --save every line. Ctrl-C ends this command and never
    stops the job.
    """
    if save is not None and tail is not None:
        raise click.UsageError("--save writes the whole log: got --tail beside it, wanted one or the other")
    if suggest and (save is not None or follow or toolkit or tail is not None or since is not None):
        raise click.UsageError("--suggest looks through the whole log: wanted it alone, or with --json")
    wanted = LogFilter(host=host, rank=rank, matching=grep)
    job = connection().attach(name)
    log = JobLog(cloud=job.session, name=job.name)
    if suggest:
        suggester = Suggester()
        for part in log.batches(LogCursor(), follow=False):
            suggester.hear(part.events)
        _suggest(suggester.suggestions(), as_json=as_json)
        return
    try:
        if save is not None:
            _save(log, save, follow=follow, wanted=wanted, since=since, as_json=as_json)
        else:
            if not toolkit:
                _tell("The script's own lines; --toolkit shows all.")
            for event in log.events(
                follow=follow, wanted=wanted, since=since, tail=tail, script=not toolkit, notice=_tell
            ):
                row = {"time_s": event.time_s, "host": event.host, "rank": event.rank, "text": event.text}
                click.echo(json.dumps(row) if as_json else f"{event.host}  {shown(event.text)}")
    except KeyboardInterrupt:
        again = f"sm-trn logs {name} --follow{f' --save {save}' if save else ''}"
        click.echo(f"Stopped reading. {name} is not affected; {again} goes on.", err=True)
        raise SystemExit(130) from None


def _suggest(found: Sequence[Suggestion], *, as_json: bool) -> None:
    """Rules as a job file has them; nothing reads with them before they stand there."""
    if as_json:
        emit([dataclasses.asdict(each) for each in found])
        return
    if not found:
        click.echo("No line of the script looks like a number of its own that changes.", err=True)
    for each in found:
        click.echo(f"# {each.lines} lines such as: {shown(each.example)}\n# there it reads {each.value:g}")
        click.echo("[[metrics]]\n" + dump({"name": each.rule.name, "regex": each.rule.regex}))


_tell = partial(click.echo, err=True)


def _save(
    log: JobLog, target: str, *, follow: bool, wanted: LogFilter, since: str | None, as_json: bool
) -> None:  # fmt: skip
    by_host = target.endswith("/") or Path(target).is_dir()
    begin = log.start(since)
    paths = save_log(log, Path(target), by_host=by_host, follow=follow, wanted=wanted, begin=begin, notice=_tell)
    if as_json:
        emit({"job": log.name, "files": [str(path) for path in paths]})
    for path in paths if not as_json else ():
        click.echo(f"{path}  {path.stat().st_size:,} bytes")
