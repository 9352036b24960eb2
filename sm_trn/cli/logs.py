"""sm-trn logs"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import click

from ..logs import LogEvent, LogFilter, shown
from ..session import Session
from ..session.reading import JobLog
from ..session.saving import save_log
from .shared import connection_options, emit, json_option


@click.command("logs")
@click.argument("name")
@click.option("--follow", "-f", is_flag=True, help="Stay until the job has ended.")
@click.option("--host", help="Only this host, e.g. algo-1.")
@click.option("--rank", type=click.IntRange(min=0), help="Only this worker, as torchrun, MPI or SMDDP number it.")
@click.option("--grep", metavar="RE", help="Only lines that match this regular expression.")
@click.option("--since", metavar="AGE", help="Only lines of the last 5m, 2h, 1d, or since an ISO time (UTC).")
@click.option(
    "--save",
    metavar="FILE|DIR/",
    help="Write to a file, or one file a host to a folder; a second call goes on where the first ended.",
)
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
    save: str | None,
    as_json: bool,
    connection: Callable[[], Session],
) -> None:
    """The log of job NAME: all hosts in time order. With --json, one object a line.

    Of a progress bar the last state is shown; --json and --save keep every character. Ctrl-C stops the reading only.
    """
    wanted = LogFilter(host=host, rank=rank, matching=grep)
    job = connection().attach(name)
    log = JobLog(cloud=job.session, name=job.name)
    try:
        if save is not None:
            _save(log, save, follow=follow, wanted=wanted, since=since, as_json=as_json)
        else:
            _print(log.events(follow=follow, wanted=wanted, since=since, notice=_tell), as_json=as_json)
    except KeyboardInterrupt:
        again = f"sm-trn logs {name} --follow{f' --save {save}' if save else ''}"
        click.echo(f"Stopped reading. {name} is not affected; {again} goes on.", err=True)
        raise SystemExit(130) from None


def _tell(text: str) -> None:
    click.echo(text, err=True)


def _print(events: Iterable[LogEvent], *, as_json: bool) -> None:
    for event in events:
        if as_json:
            click.echo(json.dumps({"time_s": event.time_s, "host": event.host, "rank": event.rank, "text": event.text}))
        else:
            click.echo(f"{event.host}  {shown(event.text)}")


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
