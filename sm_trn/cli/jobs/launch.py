"""sm-trn launch"""

from __future__ import annotations

import dataclasses
import hashlib
import sys
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import click

from ...core.errors import InvalidJob, JobFailed
from ...core.formatting import numbers as fmt
from ...core.formatting.missing import EMULATED_COST, Missing
from ...core.jobfile.files import JobFile, dump_job
from ...core.render import render
from ...core.session.budget import refuse_over
from ...core.session.defaults import known_prices, known_region, state_folder
from ...core.session.launches import LaunchInterrupted, PartialLaunch
from ...core.session.observers import Watched
from ...core.specs.destination import Destination
from ...core.specs.job import JobSpec
from ...core.specs.services import Queue
from ...core.specs.sweeps import SWEEP_TAG, grid, parse_values
from ...rules import check
from ...wiring import Session, TrainingJob, estimated_cost, in_twin
from ..connection import connection_options, emulator_asked
from ..files import files, problems
from ..files.ceilings import ceiling_of
from ..files.problems import Located
from ..files.rules import ignore_option
from ..options import json_option
from ..shared import Number, bucket_name, cents, emit, role_arn, say
from . import facts
from .selection import queue_option
from .waiting import exit_code, take_as_ctrl_c, waited

Job = tuple[JobFile, int, JobSpec]
ASKED = 10  # jobs of a grid that start without a question
MOST = 1000  # jobs that a grid of the command line may have


@click.command("launch")
@click.argument("names", nargs=-1, required=True, metavar="FILE…")
@click.option(
    "--grid",
    "grids",
    multiple=True,
    metavar="NAME=VALUE,…",
    help="Start a job for each value of this hyperparameter. Repeat the option for each combination of several.",
)
@click.option("--yes", is_flag=True, help=f"Start a grid of more than {ASKED} jobs without a question.")
@click.option(
    "--wait",
    is_flag=True,
    help="Wait until the jobs end. The exit code is 1 if one failed, reached max_run_s, was deleted, or learned nothing.",
)
@click.option("--dry-run", is_flag=True, help="Check the jobs and print their requests. Upload and start nothing.")
@ignore_option
@click.option(
    "--max-usd", type=Number(min=0), metavar="USD", help="Start nothing if all jobs together can cost more than this."
)
@queue_option("Send the jobs to this training queue of AWS Batch. Default: the queue that a job file says, if any.")
@click.option(
    "--environment",
    type=click.Choice(["twin"]),
    help="Run in a twin of the image: its Python and published versions, with requirements.txt installed by pip. It is for the "
    "emulator, and needs uv.",
)
@click.option("--role", callback=role_arn, help="Execution role ARN. Default: SM_TRN_ROLE, else the notebook's own.")
@click.option(
    "--bucket",
    callback=bucket_name,
    help="Bucket for sources and models. Default: SM_TRN_BUCKET, else SageMaker's default bucket.",
)
@connection_options
@json_option
def command(  # noqa: PLR0913 - an argument for each option
    names: tuple[str, ...],
    *,
    grids: tuple[str, ...],
    yes: bool,
    wait: bool,
    dry_run: bool,
    ignore: tuple[str, ...],
    max_usd: float | None,
    queue: str | None,
    environment: str | None,
    as_json: bool,
    connection: Callable[[], Session],
) -> int:
    """Check all jobs of FILE…, then start them. If one job has an error, no job starts.

    FILE#NAME selects one job of a file. The command prints the highest possible cost of each job, then the names of the
    jobs.

    With --grid, each job of FILE… becomes one job for each combination of values; their names carry the values.

    With --queue, or a queue in the job file, AWS Batch starts the jobs when there is room for them. All jobs of one launch go
    to one queue.

    \b
    Examples: sm-trn launch bert.toml gpt2.toml --wait
              sm-trn launch bert.toml --grid learning_rate=1e-5,3e-5 --grid seed=1,2
    """
    jobs = _queued(_swept(files.all_jobs(names), grids), queue)
    destination = _queue_of([job for _, _, job in jobs])
    rehearsed = emulator_asked()
    found = {n: _problems(file, index, job, ignore, rehearsed) for n, (file, index, job) in enumerate(jobs)}
    for line in dict.fromkeys(problems.short(item) for items in found.values() for item in items):
        click.echo(line, err=True)
    if not all(problems.launchable(items) for items in found.values()):
        click.echo(f"Nothing was started, nothing is billed. Fixes: sm-trn check {' '.join(names)}", err=True)
        return 1
    refused = [] if rehearsed else problems.too_much_together([(file.name, job) for file, _, job in jobs], _region())
    if refused:
        raise InvalidJob(jobs[0][2].name if len(jobs) == 1 else fmt.jobs(len(jobs)), tuple(refused))
    if dry_run:
        return _preview(jobs, max_usd, as_json=as_json)
    if grids and len(jobs) > ASKED and not yes:
        _ask(jobs)
    take_as_ctrl_c("SIGTERM", "SIGHUP")
    session = connection()
    specs = _in_twins(session, jobs) if environment else [job for _, _, job in jobs]
    if not as_json:
        click.echo(_most(session, specs, max_usd), err=True)
    # The same jobs from the same folder, sent again, go on with what this launch writes down before it creates them.
    files_text = [dump_job(job, "json") for job in specs]
    key = "\n".join([session.region, session.bucket, session.role, str(Path.cwd()), *files_text])
    name = f"{hashlib.sha256(key.encode()).hexdigest()[:16]}.jsonl"
    journal = state_folder(click.get_current_context().params["state"]) / "launches" / name
    submit = partial(
        session.submit_all, specs, ignore=ignore, max_usd=max_usd, journal=journal, notice=partial(click.echo, err=True)
    )
    try:
        if destination is not None:
            return _wait_in_queue(session, submit(queue=destination), destination, journal, wait=wait, as_json=as_json)
        launched = submit()
    except (PartialLaunch, LaunchInterrupted) as error:
        if as_json:
            emit(
                [_entry(session, job) for job in error.launched]
                + [{**_entry(session, job), "launched": None} for job in error.unknown]
            )
        raise
    return _report(session, launched, journal, wait=wait, as_json=as_json)


def _in_twins(session: Session, jobs: list[Job]) -> list[JobSpec]:
    """The jobs, to be rehearsed in twins of their images. Raises UsageError for AWS, which has the images themselves."""
    if not session.emulated:
        raise click.UsageError(
            "--environment twin is for rehearsals on this machine, got AWS, which has the image itself; add --backend emulator"
        )
    state = click.get_current_context().params["state"]
    return [in_twin(job, state, tell=partial(click.echo, err=True)) for _, _, job in jobs]


def _swept(jobs: list[Job], grids: tuple[str, ...]) -> list[Job]:
    """The jobs; with grids one for each combination. Raises UsageError for a grid that is none."""
    if not grids:
        return jobs
    try:
        pairs = [parse_values(text) for text in grids]
        values = dict(pairs)
        twice = next((name for name, given in pairs if values[name] is not given), None)
        if twice is None:
            return [(file, index, swept) for file, index, job in jobs for swept in grid(job, values, max_jobs=MOST)]
    except ValueError as error:
        raise click.UsageError(f"--grid: {str(error).removeprefix('grid: ')}") from error
    raise click.UsageError(f"--grid: got {twice} twice, wanted all of its values in one --grid")


def _queued(jobs: list[Job], name: str | None) -> list[Job]:
    """Give the jobs the queue of the command line, if any, in the place of their own."""
    if name is None:
        return jobs
    queued = []
    for file, index, job in jobs:
        queue = Queue(name=name) if job.queue is None else dataclasses.replace(job.queue, name=name)
        queued.append((file, index, job.replace(queue=queue)))
    return queued


def _queue_of(specs: Sequence[JobSpec]) -> Queue | None:
    """The queue of all jobs; None where they start at once. Raises UsageError for jobs of several places."""
    queues = [spec.queue for spec in specs]
    if any(queue != queues[0] for queue in queues):
        places = ", ".join(f"{spec.name}: {spec.queue.name if spec.queue else 'no queue'}" for spec in specs)
        raise click.UsageError(
            f"got jobs of several queues ({places}), wanted one queue a launch; launch them one by one, or add --queue"
        )
    return queues[0]


def _wait_in_queue(
    session: Session, jobs: Sequence[Any], queue: Queue, journal: Path, *, wait: bool, as_json: bool
) -> int:
    """Tell where the jobs of a queue are. The exit code is 1 where one was waited for and failed."""
    if as_json:
        emit([{**_entry(session, job), "queue": queue.name, "id": job.id} for job in jobs])
    else:
        say("\n".join(job.name for job in jobs))
        click.echo(f"They wait in {queue.name}: sm-trn list --queue {queue.name}", err=True)
    journal.unlink(missing_ok=True)
    if not wait:
        return 0
    code = 0
    for job in jobs:
        try:
            job.wait(progress=not as_json, stream=sys.stderr)
        except JobFailed as error:  # noqa: PERF203 - every one is waited for
            click.echo(str(error), err=True)
            code = 1
    return code


def _ask(jobs: list[Job]) -> None:
    """Whether so many jobs are meant. Raises UsageError where nobody can answer, Abort for a no."""
    click.echo("\n".join(job.name for _, _, job in jobs), err=True)
    if not sys.stdin.isatty():
        raise click.UsageError(f"--grid makes {len(jobs)} jobs, wanted a yes for more than {ASKED}; add --yes")
    click.confirm(f"Start {len(jobs)} jobs?", abort=True, err=True)


def _problems(file: JobFile, index: int, job: JobSpec, ignore: tuple[str, ...], rehearsed: bool) -> list[Located]:
    """What is wrong with a job, and what of it the team's policy does not allow: a rehearsal costs nothing."""
    found = [problem for problem in check(job) if problem.id not in ignore]
    if not rehearsed:
        found += problems.forbidden(file.name, job, _region())
    return problems.ordered([problems.located(file, index, problem) for problem in found])


def _region() -> str:
    given = click.get_current_context().params
    return known_region(given["region"], profile=given["profile"])


def _preview(jobs: list[Job], max_usd: float | None, *, as_json: bool) -> int:
    """Print what would be sent. Raises OverBudget where the launch would, as far as that can be known without an account."""
    given, region = click.get_current_context().params, _region()
    named = {name: given[name] for name in ("role", "bucket") if given[name] is not None}
    requests = [render(job, "request", at=Destination(region=region, **named)) for _, _, job in jobs]
    emit(requests[0] if len(requests) == 1 else requests)
    emulated = emulator_asked()
    if not as_json:
        for file, _, job in jobs:
            name = f"{file.name}#{job.name}" if SWEEP_TAG in job.tags else files.label(file, job)
            click.echo(f"{name}: {estimated_cost(job, known_prices(), region)}{ceiling_of(job, region)}", err=True)
        if emulated:
            click.echo(_no_cost(max_usd), err=True)
        lacking = [name for name in ("role", "bucket", "account") if name not in named]
        click.echo(f"Nothing was started. Filled in at launch: {', '.join(lacking)}.", err=True)
    if max_usd is not None and not emulated:
        refuse_over(max_usd, [job for _, _, job in jobs], partial(known_prices().of, region=region))
    return 0


def _no_cost(max_usd: float | None) -> str:
    return EMULATED_COST + ("." if max_usd is None else ", so --max-usd has nothing to refuse.")


def _report(session: Session, jobs: list[TrainingJob], journal: Path, *, wait: bool, as_json: bool) -> int:
    if not as_json:
        say("\n".join(job.name for job in jobs))
    journal.unlink(missing_ok=True)  # all have been created, and named
    entries = [_entry(session, job) for job in jobs]
    final = waited(session, jobs, entries, as_json=as_json) if wait else None
    if as_json:
        emit(entries if final is None else [facts.facts(snapshot) for snapshot in final])
    elif final is None:
        sweeps = {job.asked.tags.get(SWEEP_TAG) for job in jobs if job.asked is not None}
        one = next(iter(sweeps)) if len(sweeps) == 1 else None
        which = " ".join(job.name for job in jobs) if one is None else f"--sweep {one}"
        click.echo(f"Follow them: sm-trn watch {which}", err=True)
        if any(sweeps):
            click.echo(f"Compare them when they have ended: sm-trn compare {which} --output report/", err=True)
    return exit_code(jobs, final or ())


def _most(session: Session, specs: list[JobSpec], max_usd: float | None) -> str:
    if session.emulated:
        return _no_cost(max_usd)
    each = [(spec, session.ceiling(spec)) for spec in specs]  # two files may hold jobs of one name
    lines = [
        f"{spec.name}: {estimated_cost(spec, session.prices, session.region)}at most {fmt.usd(usd)}"
        if usd is not None
        else f"{spec.name}: {Missing.NO_PRICE if not spec.serverless else Missing.IN_TOKENS}, no ceiling"
        for spec, usd in each
    ]
    known = [usd for _, usd in each if usd is not None]
    if len(specs) > 1 and known:
        total = fmt.usd(sum(known, Decimal(0)))
        lacking = len(each) - len(known)
        lines.append(
            f"together no ceiling: the {len(known)} with a price at most {total}, and {lacking} without one"
            if lacking
            else f"together at most {total}"
        )
    return "\n".join(lines)


def _entry(session: Session, job: Watched) -> dict[str, Any]:
    most = session.ceiling(job.asked) if job.asked is not None else None
    return {"name": job.name, "spec": job.label, "emulated": session.emulated, "most_usd": cents(most)}
