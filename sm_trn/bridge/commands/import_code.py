"""sm-trn import"""

from __future__ import annotations

import dataclasses
import os
import shlex
from collections.abc import Sequence
from pathlib import Path

import click

from ...cli.shared import emit, json_option, say
from ...core.errors import SmTrnError
from ...core.formatting import numbers as fmt
from ...core.jobfile import dump_job, in_json, in_toml, in_yaml
from ...core.jobfile.sweep_file import dump_sweep
from ...core.preflight.data import PLACEHOLDER
from ...core.render import problems, render
from ...core.specs.destination import Destination
from ...core.specs.problems import Severity
from ...rules import check
from ..launchers.language.nodes import PLACEHOLDERS
from ..launchers.launches import Launch, LauncherJob, Launchers
from ..launchers.read import read_launchers
from ..launchers.survey import survey
from ..launchers.values import Given, Reason, Symbol
from ..launchers.write import python_source
from . import porting, shown
from .asking import answers, on_terminal, prompt, value_of

FORMS = ("job.toml", "python", "estimator-v2", "model-trainer-v3", "training-job-v3", "notebook")
_PARSERS = {".json": in_json.parse, ".toml": in_toml.parse, ".yaml": in_yaml.parse, ".yml": in_yaml.parse}
_SUFFIX = {"job.toml": ".toml"}


@click.command("import")
@click.argument("names", nargs=-1, required=True, metavar="FILE…")
@click.option(
    "--set", "given", multiple=True, metavar="NAME=VALUE", help="Give a value that the code leaves open. Repeatable."
)
@click.option(
    "--to", "form", type=click.Choice(FORMS), metavar="FORM", help=f"Write the jobs as one of {', '.join(FORMS)}."
)
@click.option(
    "--output", type=click.Path(file_okay=False, path_type=Path), help="Write a file for each job into this folder."
)
@click.option(
    "--verify", "verified", is_flag=True, help="Compare every field with what SDK v2 sends, without launching."
)
@click.option(
    "--isolation",
    metavar="WAY",
    default="auto",
    help="How --verify keeps the code from your files and the network; as sm-trn import --run has it.",
)
@click.option(
    "--run",
    is_flag=True,
    expose_value=False,
    help="Run the code instead, without launching, and keep the jobs that it sends: sm-trn import --run --help.",
)
@click.option(
    "--call",
    "called",
    metavar="NAME",
    default="",
    help="Read this function too, as if the file called it at its end: for launches that it does not reach by itself.",
)
@click.option("--diff", "as_diff", is_flag=True, help="Show each program written for SDK v3, as a diff.")
@click.option("--in-place", is_flag=True, help="Write that into the file, and keep the old one beside it as FILE.bak.")
@click.option(
    "--python",
    type=click.Path(dir_okay=False, exists=True, path_type=Path),
    metavar="PATH",
    help="A Python that has SDK v3, for --diff, --in-place and --to notebook. SM_TRN_SDK3_PYTHON names one too.",
)
@click.option(
    "--arguments",
    default="",
    metavar="TEXT",
    help="The command line of the program when these, or --verify, run it: '--epochs 3'.",
)
@click.option(
    "--survey",
    "survey_page",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="PAGE",
    help="Read every script and notebook below FILE…, which are folders, and write a page about them.",
)
@json_option
def command(  # noqa: PLR0913 - its options
    names: tuple[str, ...],
    *,
    given: tuple[str, ...],
    form: str | None,
    output: Path | None,
    survey_page: Path | None,
    python: Path | None,
    arguments: str,
    isolation: str,
    called: str,
    **how: bool,
) -> int:
    """Read the launch code that you have, without running it: scripts and notebooks that call SageMaker SDK v1 or v2.

    Every estimator becomes a checked job. What cannot be known without running the code is a hole: the line it comes from,
    why, and the name that --set takes; on a terminal you are asked for it. Nothing is written without --to. The exit code
    is 1 while a job has a hole or a file cannot be read.

    \b
    Example: sm-trn import train.ipynb --set epochs=3 --to job.toml
    """
    _refuse_others(names, folders=survey_page is not None)
    values = _values(given)
    as_json = how["as_json"]
    if survey_page is not None:
        return _survey(names, values, survey_page, as_json=as_json)
    if how["verified"]:
        return _verify(names, values, isolation, arguments, as_json=as_json)
    if how["as_diff"] or how["in_place"] or form == "notebook":
        ported = porting.ported(names, python, arguments, isolation)
        if form == "notebook":
            return porting.write_notebooks(ported, output)
        return porting.write_in_place(ported) if how["in_place"] else porting.show(ported)
    found = _read(names, values, called, asking=on_terminal() and not as_json)
    if as_json:
        emit([shown.as_json(each) for each in found])
    elif form is None:
        for name, each in zip(names, found, strict=True):
            say(shown.report(each))
            say(_next(name, each))
    elif not _write(found, form, output):
        return 1
    return int(any(_lacks(each) for each in found))


def _refuse_others(names: tuple[str, ...], *, folders: bool) -> None:
    """Raises UsageError for what is neither Python nor a notebook; ``folders`` may be surveyed."""
    for name in names:
        if Path(name).suffix in {".toml", ".yaml", ".yml"}:
            raise click.UsageError(
                f"got {name}, a job file already: sm-trn check reads it; wanted Python or a notebook"
            )
        if Path(name).is_dir() and not folders:
            raise click.UsageError(
                f"got {name}, a folder; --survey PAGE.html lists all launches in it; wanted Python or a notebook"
            )


def _lacks(found: Launchers) -> bool:
    """Whether a job has a hole, or the file is not read: a script with a part that cannot be, a notebook without any launch."""
    unread = found.unread and not (found.file.endswith(".ipynb") and found.launches)
    return bool(unread) or any(launch.holes for launch in found.launches)


def _read(names: tuple[str, ...], values: Given, called: str, *, asking: bool) -> list[Launchers]:
    """Each file, read; while somebody answers for holes, read again with the answers."""
    asked: set[str] = set(values)
    while True:
        found = [read_launchers(name, given=values, check=check, call=called) for name in names]
        said = answers(found, asked, prompt) if asking else Given()
        if not said:
            return found
        asked |= {hole.give for each in found for launch in each.launches for hole in (*launch.holes, *launch.asked)}
        values = Given({**values, **said}, {**values.texts, **said.texts})


def _survey(names: tuple[str, ...], values: dict[str, object], page: Path, *, as_json: bool) -> int:
    """Read every file below the folders, and write one page; --json prints the same in numbers."""
    found = survey([Path(name) for name in names], values, check)
    page.write_text(found.html(), "utf-8")
    if as_json:
        emit(found.numbers())
    else:
        say(f"{found.sentence()}\n{page}")
    return 0


def _verify(names: tuple[str, ...], values: Given, isolation: str, arguments: str, *, as_json: bool) -> int:
    """Read and record each file, and compare the two launch by launch; 1 if one differs, or was not reached."""
    from ..recorder.verify import verify  # noqa: PLC0415 - reading needs no recorder

    words = shlex.split(arguments)
    results = [verify(Path(name), given=values, arguments=words, isolation=isolation) for name in names]
    if as_json:
        emit([shown.verified_json(*each) for each in results])
    else:
        for found, verified, recorded in results:
            say(shown.verified(found, verified, recorded))
    return int(any(not each.equal for _, verified, _ in results for each in verified))


def _values(given: Sequence[str]) -> Given:
    """What --set gives: ``name=value``, ``name=@file``, and ``name.key=value`` for a key of a mapping that is given before."""
    values = Given()
    for pair in given:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise click.UsageError(f"--set: got {pair!r}, wanted NAME=VALUE, such as --set epochs=3")
        value = _of_file(name, Path(text[1:])) if text.startswith("@") else value_of(text)
        head, *inner = name.split(".")
        if not inner:
            values[name] = value
            if not text.startswith("@"):
                values.texts[name] = text
            continue
        place = values.get(head)
        for key in inner[:-1]:
            place = place.get(key) if isinstance(place, dict) else None
        if not isinstance(place, dict):
            above = name.rpartition(".")[0]
            raise click.UsageError(
                f"--set: got {name!r}, a key of {above}, which no --set before it gives as a mapping; wanted --set {head}=@FILE, or "
                f"--set \"{head}={{'{inner[-1]}': …}}\", first"
            )
        place[inner[-1]] = value
    return values


def _of_file(name: str, path: Path) -> object:
    """The value in a file: JSON, TOML or YAML by its suffix, else a Python literal or the text itself."""
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "not UTF-8 text"
        raise click.UsageError(
            f"--set: got {name}=@{path}, which cannot be read ({why}); wanted a file that is there. A value that begins with @ is "
            f"given in quotes: --set {name}='\"@…\"'"
        ) from None
    try:
        if path.suffix in _PARSERS:
            return _PARSERS[path.suffix](text)[0]
    except (ValueError, RecursionError) as error:
        raise click.UsageError(f"--set: got {name}=@{path}, which is no {path.suffix[1:].upper()}: {error}") from None
    return value_of(text.strip())


def _write(found: list[Launchers], form: str, output: Path | None) -> bool:
    """Write every job that the form can say, name the others, and say whether there are none."""
    jobs = [(launch, job) for each in found for launch in each.launches if launch.complete for job in launch.jobs]
    left = sum(not launch.complete for each in found for launch in each.launches)
    if not jobs:
        raise SmTrnError(
            f"import: got no complete job, wanted at least one; sm-trn import {found[0].file} shows the holes"
        )
    taken: set[str] = set()
    refused = 0
    for launch, job in jobs:
        placed = _placed(job, output or Path.cwd())
        text = _written(placed, form, launch)
        if text is None:
            refused += 1
            continue
        text = _told(launch, job, text, form) + text
        if output is None:
            say((f"# {job.spec.name}: {launch.place}\n" if len(jobs) > 1 else "") + text)
            continue
        output.mkdir(parents=True, exist_ok=True)
        path = output / f"{_unique(job.spec.name, taken)}{_SUFFIX.get(form, '.py')}"
        path.write_text(text, "utf-8")
        say(str(path))
        if job.search is not None and form == "job.toml":
            beside = path.with_suffix(".sweep.toml")
            beside.write_text(dump_sweep(job.search.sweep, path.name, "toml"), "utf-8")
            say(str(beside))
    if left:
        told = f"{fmt.counted(left, 'launch', 'launches')} {'is' if left == 1 else 'are'} not complete and"
        click.echo(f"{told} {'was' if left == 1 else 'were'} not written.", err=True)
    return not refused


def _written(job: LauncherJob, form: str, launch: Launch) -> str | None:
    """The text of a job; None for one that no form can say, which keeps no other from being written. What ModelTrainer refuses is
    written as TrainingJob.create, which sends the same request."""
    try:
        return written(job, form)
    except SmTrnError as error:
        if form != "model-trainer-v3":
            click.echo(f"{job.spec.name}, {launch.place}: not written. {error}", err=True)
            return None
        told = str(error).partition("\n")[0]
        click.echo(
            f"{job.spec.name}, {launch.place}: written as training-job-v3, for ModelTrainer cannot say it. {told}",
            err=True,
        )
        return _written(job, "training-job-v3", launch)


def _told(launch: Launch, job: LauncherJob, text: str, form: str) -> str:
    """Comments about what the text does not say, or says by a placeholder, and what keeps a program with one from running."""
    lines = []
    if "region" not in launch.placeholders:
        lines.append(f"# The launcher starts it in {job.at.region}: launch it there, with --region {job.at.region}.")
    words = list(dict.fromkeys(PLACEHOLDER.findall(text)))
    if words:
        lines.append(
            f"# {', '.join(words)}: fill {'it' if len(words) == 1 else 'them'} in; sm-trn check refuses the job until then."
        )
    if "account" in launch.placeholders and (account := PLACEHOLDERS[Symbol.ACCOUNT]) in text:
        lines.append(f"# {account} stands for your account: fill it in.")
        words.append(account)
    if words and form != "job.toml":
        lines.append(f'raise SystemExit("fill in {", ".join(words)}, then delete this line")')
    return "".join(f"{line}\n" for line in lines)


def _placed(job: LauncherJob, target: Path) -> LauncherJob:
    """The job, and the sweep of it, with its source's path as it is seen from where it is written to."""
    spec, folder = job.spec if job.search is None else job.search.sweep.job, job.folder
    if spec.script is not None and folder is not None:
        spec = spec.replace(script=spec.script.moved(lambda path: os.path.relpath(folder / path, target.resolve())))
    search = job.search and dataclasses.replace(job.search, sweep=job.search.sweep.replace(job=spec))
    return dataclasses.replace(job, spec=spec, search=search)


def _unique(name: str, taken: set[str]) -> str:
    number, word = 1, shown.file_name(name)
    while word in taken:
        number += 1
        word = f"{shown.file_name(name)}-{number}"
    taken.add(word)
    return word


def written(job: LauncherJob, form: str) -> str:
    """The text of a job in one of the forms. Raises InvalidJob where the form refuses it."""
    if form == "job.toml":
        return dump_job(job.spec, "toml")
    if form == "python":
        return python_source(job.spec if job.search is None else job.search.sweep)
    spec = job.spec
    if job.search is not None:
        click.echo(
            f"{spec.name}: this form says a training job of the search alone; job.toml and python say the search",
            err=True,
        )
    if form == "model-trainer-v3" and (spec.profiler or spec.debugger):
        click.echo(f"{spec.name}: SDK v2's profiler and debugger hook are left out; ModelTrainer has neither", err=True)
        spec = spec.replace(profiler=False, debugger=False)
        spec = spec.replace(
            kept=tuple(part for part in spec.kept if not part.at.startswith(("/ProfilerConfig", "/DebugHookConfig")))
        )
    at = Destination(role=job.at.role, region=job.at.region, bucket=job.at.bucket)
    for problem in problems(spec, form):
        if problem.severity is not Severity.ERROR:
            click.echo(str(problem), err=True)
    return str(render(spec, form, at=at))


def _next(name: str, found: Launchers) -> str:
    """What to do next, in one line: give all that is asked for, or run the file where no value would help."""
    holes = [hole for launch in found.launches for hole in launch.holes if hole.reason is not Reason.REFUSED]
    if holes and all(hole.give for hole in holes):
        given = dict.fromkeys(f"--set {hole.give}=…" for hole in holes)
        return f"Next: sm-trn import {name} {' '.join(given)}"
    if holes:
        called = next((f"--call {hole.call} " for hole in holes if hole.call), "")
        return f"Next: sm-trn import --run {called}-- {'python ' if name.endswith('.py') else ''}{name}"
    return f"Next: sm-trn import {name} --to job.toml --output jobs" if found.jobs else ""
