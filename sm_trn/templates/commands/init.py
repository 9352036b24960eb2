"""sm-trn init"""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import click

from ...cli.options import global_option, json_option, region_option
from ...cli.shared import Duration, Number, emit, say
from ...core import _entry
from ...core.errors import EmulatorError, MissingLibrary, NotConfigured, UnknownName, expect_library
from ...core.session.defaults import known_prices, known_region
from ...core.specs.value import suggestion
from ...core.status import why_command
from ...wiring import connect
from ..first_steps import FirstSteps, take
from ..project import chosen_template, design
from ..reading import in_s3
from ..template import TEMPLATES, Project, ProjectRequest
from ..writing import JOB, copy_script, in_folder, write


@click.command("init")
@click.option("--data", metavar="PATH", help="A file or folder of this machine, or s3://bucket/prefix.")
@click.option("--template", type=click.Choice(list(TEMPLATES)), help="What to train. Default: what reads the data.")
@click.option("--model", metavar="NAME", help="A model of the Hugging Face hub, or a folder with one.")
@click.option(
    "--script", metavar="FILE|NAME", help="Your own script. With the name of a script of the package, only copy that."
)
@click.option(
    "--max-usd", "budget", type=Number(min=0, min_open=True), metavar="USD", help="The job must not cost more."
)
@click.option("--deadline", type=Duration(), help="The job must end in this time, such as 3h.")
@click.option("--instance", metavar="TYPE", help="Take this machine, such as ml.g5.xlarge, and look at no other.")
@click.option("--examples", type=Number(min=1), help="How many rows there are, where the data lies in S3.")
@click.option("--name", help="The job's name. Default: of model and template.")
@click.option(
    "--output",
    default=".",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Write the files to this folder.",
)
@click.option("--force", is_flag=True, help="Overwrite files that are there.")
@click.option("--no-run", is_flag=True, help="Do not try the first steps on the emulator.")
@global_option("state")
@region_option
@json_option
def command(  # noqa: PLR0913 - an argument for each option
    *,
    data: str | None,
    template: str | None,
    model: str | None,
    script: str | None,
    budget: float | None,
    deadline: float | None,
    instance: str | None,
    examples: float | None,
    name: str | None,
    output: Path,
    force: bool,
    no_run: bool,
    state: Path | None,
    region: str | None,
    as_json: bool,
) -> int:
    """Create a project: write a job file, its script and requirements for the cheapest machine that fits, and try its first
    steps on the emulator with a tiny model of the same architecture.

    On a terminal it asks for what is not given. The exit code is 1 if the first steps fail.

    \b
    Example: sm-trn init --model Qwen/Qwen3-8B --data ./chats.jsonl --max-usd 50
    """
    if script is not None and not Path(script).is_file():
        return _copy_shipped(script, output, as_json=as_json)
    asks = sys.stdin.isatty() and not as_json
    request = ProjectRequest(
        data=_place(data, asks=asks),
        template=template,
        model=model,
        budget_usd=budget,
        deadline_s=deadline,
        name=name,
        script=None if script is None else Path(script),
        instance=instance,
        examples=examples,
        region=known_region(region),
    )
    project = design(_answers(request) if asks else request, known_prices())
    written = write(project, output, force=force)
    if not as_json:
        _tell(project, written)
    steps, skipped = (None, "--no-run") if no_run else _first_steps(project, output, state, quiet=as_json)
    if as_json:
        emit(_in_json(project, written, steps, skipped))
    else:
        say(str(steps) if steps is not None else f"First steps were not tried: {skipped}")
        _next(project, output, steps)
    return int(steps is not None and not steps.completed)


def _copy_shipped(name: str, folder: Path, *, as_json: bool) -> int:
    """Copy a script of the package with the modules that it imports. Raises UnknownName."""
    names = _entry.shipped_scripts()
    if name not in names:
        raise UnknownName(f"script: got {name!r}, wanted a file, or one of {', '.join(names)}{suggestion(name, names)}")
    copy_script(name, folder)
    if as_json:
        emit({"script": name, "source_dir": folder})
    else:
        say(f"Copied {name} to {folder}. A job uses it with script.entry = {name!r} and source_dir = {str(folder)!r}.")
    return 0


def _place(data: str | None, *, asks: bool) -> str:
    """Where the data lies, as said or answered. Raises click.UsageError."""
    if data is None and not asks:
        raise click.UsageError("--data is missing: --data ./chats.jsonl, or s3://bucket/prefix with --template")
    place: str = data if data is not None else click.prompt("Data (a file or folder, or s3://…)")
    if not in_s3(place) and not Path(place).exists():
        raise click.UsageError(
            f"--data: got {place!r}, which is not there; wanted a file or folder, or s3://bucket/prefix"
        )
    return place


def _answers(request: ProjectRequest) -> ProjectRequest:
    """The same with the answers to a few questions."""
    if request.script is None and request.template is None:
        try:
            default = chosen_template(request).name
        except NotConfigured:
            default = None
        chosen = click.prompt("Train", type=click.Choice(list(TEMPLATES)), default=default)
        request = dataclasses.replace(request, template=chosen)
    template = chosen_template(request)
    if template.head and request.model is None:
        request = dataclasses.replace(request, model=click.prompt("Model", default=template.model))
    if request.budget_usd is None:
        request = dataclasses.replace(
            request, budget_usd=click.prompt("Budget in US dollars", type=Number(min=0, min_open=True))
        )
    return request


def _tell(project: Project, written: tuple[Path, ...]) -> None:
    """Print what was written and chosen."""
    say(f"Wrote {', '.join(map(str, written))}")
    say(f"\nChosen for {project.job.name}: {project.template.title}")
    say("\n".join(f"  {reason}" for reason in project.reasons))
    if project.others:
        say("Not chosen")
        say("\n".join(f"  {other}" for other in project.others))
    if project.most_usd is not None:
        say(f"SageMaker ends the job after {project.job.max_run_s:,} s: it costs at most ${project.most_usd:,.2f}.")
    say()


def _first_steps(project: Project, output: Path, state: Path | None, *, quiet: bool) -> tuple[FirstSteps | None, str]:
    """The first steps; or None, and why they were not tried."""
    try:
        for library in ("moto", "torch", *(["transformers"] if project.template.head else [])):
            expect_library(library, "local", "the emulator")
        if not quiet:
            click.echo("First steps on the emulator …", err=True)
        return take(project, in_folder(project, output), connect("emulator", state=state)), ""
    except (NotConfigured, MissingLibrary, EmulatorError) as error:
        return None, str(error)


def _next(project: Project, output: Path, steps: FirstSteps | None) -> None:
    """The commands that follow."""
    file = output / JOB
    limit = f" --max-usd {project.request.budget_usd:g}" if project.request.budget_usd else ""
    lines = [] if steps is None or steps.completed else [(why_command(steps.name), "why the first steps failed")]
    lines += [
        (f"sm-trn check {file}", "every problem, offline"),
        (f"sm-trn doctor {file}", "what of login, role and quota is ready"),
        (f"sm-trn launch {file}{limit} --wait", "train on AWS"),
    ]
    width = max(len(command) for command, _ in lines)
    say("\nNext\n" + "\n".join(f"  {text:<{width}}  {why}" for text, why in lines))


def _in_json(project: Project, written: tuple[Path, ...], steps: FirstSteps | None, skipped: str) -> object:
    tried = None if steps is None else {**dataclasses.asdict(steps), "completed": steps.completed, "emulated": True}
    return {
        "template": project.template.name,
        "written": list(written),
        "instance": project.job.compute.instance,
        "count": project.job.compute.count,
        "most_usd": project.most_usd,
        "reasons": list(project.reasons),
        "not_chosen": list(project.others),
        "first_steps": tried,
        "not_tried": skipped,
    }
