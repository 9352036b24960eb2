"""sm-trn import --run"""

from __future__ import annotations

import dataclasses
import io
import json
import os
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ...cli.shared import Number, emit, json_option, say
from ...core.archives import Member
from ...core.errors import SmTrnError
from ...core.formatting import numbers as fmt
from ...core.jobfile import dump_job
from ...core.jobfile.sweep_file import dump_sweep
from ...core.render import parse_request
from ...core.specs.job import JobSpec, Script
from ..launchers.read import read_launchers
from ..launchers.slice import sliced
from ..launchers.source import cells
from ..recorder import Recorded, RecordedCall, record
from ..recorder.isolation import ENDED, Isolation, chosen
from ..recorder.recording import LAUNCHING, STOOD_FOR
from ..recorder.searches import recorded_sweep
from ..recorder.verify import Reached, reached
from . import shown
from .giving import variables


@click.command("import --run", context_settings={"ignore_unknown_options": True})
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- PROGRAM…")
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("recorded"),
    show_default=True,
    help="Write the job files and their sources into this folder.",
)
@click.option("--stop-at-submit", is_flag=True, help="Refuse the first job, which ends most programs there.")
@click.option(
    "--timeout",
    "timeout_s",
    type=Number(min=0, min_open=True),
    default=600.0,
    show_default=True,
    help="End the program after this many seconds.",
)
@click.option(
    "--call",
    "called",
    metavar="CALL",
    default="",
    help="Import the file and call this, instead of running it: main, or 'Trainer().start(epochs=3)'.",
)
@click.option("--slice", "as_slice", is_flag=True, help="Run only the statements that the file's launches depend on.")
@click.option(
    "--env",
    "given",
    multiple=True,
    metavar="NAME[=VALUE]",
    help="Give the program a variable; without a value, that of your environment. Repeatable.",
)
@click.option(
    "--env-file",
    "files",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Give the program the variables of a file, a line NAME=VALUE each.",
)
@click.option(
    "--isolation",
    type=click.Choice(["auto", *(tier.value for tier in Isolation)]),
    default="auto",
    show_default=True,
    help="How the program is kept from your files and the network; none runs only code that you trust.",
)
@json_option
def command(
    program: tuple[str, ...],
    *,
    output: Path,
    given: tuple[str, ...],
    files: tuple[Path, ...],
    isolation: str,
    called: str,
    **how: Any,
) -> int:
    """Run a launcher as it is, without launching: a program, or a notebook whose cells are run one by one.

    It runs in a copy of this folder, from which it cannot write elsewhere or reach the network, where this machine can hold it.
    Every call of AWS is answered on this machine as if it had just ended well; nothing is started and nothing is billed. What
    follows PROGRAM are its arguments; of your environment it has what --env and --env-file give. Modules that are not installed
    are stood in for. Each training job becomes a job file, with its source; a tuning job becomes a sweep file beside the file of its
    training jobs. The exit code is the program's if it failed, and 1 if no job was sent.

    \b
    Example: sm-trn import --run --env EPOCHS=3 -- python launch.py small
    """
    environment = variables(given, files, os.environ)
    tier = chosen(isolation)
    if not how["as_json"]:
        say(f"Recording; nothing is started, nothing is billed. {tier.sentence}")
    program, code = _slice(program) if how["as_slice"] else (program, None)
    stop = bool(how["stop_at_submit"])
    recorded = record(
        program,
        timeout_s=how["timeout_s"],
        stop_at_submit=stop,
        code=code,
        environment=environment,
        isolation=tier.value,
        call=called,
    )
    places = reached(_file(program), recorded)
    if how["as_json"]:
        emit(_as_json(recorded, places))
        return _exit_code(recorded, stop_at_submit=stop)
    _say_end(recorded, places, how["timeout_s"], stop_at_submit=stop)
    paths, refused = saved(recorded, output)
    _say_calls(recorded)
    for path in paths:
        say(f"  {path}")
    _say_faults(recorded, refused)
    if told := _defaults():
        say(told)
    if paths:
        say(f"Next: sm-trn check {output}/*.toml")
    return _exit_code(recorded, stop_at_submit=stop) or int(bool(refused))


def _defaults() -> str:
    """A sentence about the SDK's own file of defaults, where this machine has one: the program does not see it."""
    own = os.environ.get("SAGEMAKER_USER_CONFIG_OVERRIDE") or "~/.config/sagemaker/config.yaml"
    admin = os.environ.get("SAGEMAKER_ADMIN_CONFIG_OVERRIDE") or "/etc/xdg/sagemaker/config.yaml"
    found = [name for name in (admin, own) if name.startswith("s3://") or Path(name).expanduser().exists()]
    return (
        f"▲ The SDK's defaults in {' and '.join(found)} are not applied here; a real launch takes them."
        if found
        else ""
    )


def _exit_code(recorded: Recorded, *, stop_at_submit: bool) -> int:
    return recorded.exit_code if _failed(recorded, stop_at_submit=stop_at_submit) else int(not _sent(recorded))


def _sent(recorded: Recorded) -> bool:
    """Whether a training job or a tuning job was sent."""
    return bool(recorded.jobs or recorded.searches)


def _say_end(recorded: Recorded, places: Reached, timeout_s: float, *, stop_at_submit: bool) -> None:
    """What failed first, then which launches were reached and which were not, then how much was recorded."""
    failures = [failure for failure in recorded.failures if not failure.stopped]
    for failure in failures:
        say(f"✗ {failure}")
    if any("No module named 'sagemaker" in failure.error for failure in failures):
        say("  It needs another SDK: pip install 'sm_trn[sdk]' brings version 2, pip install 'sm_trn[sdk3]' version 3.")
    if recorded.exit_code == ENDED:
        say(f"✗ The program was ended after {timeout_s:g} s.")
    elif not failures and _failed(recorded, stop_at_submit=stop_at_submit):
        say(f"✗ The program ended with exit code {recorded.exit_code}.")
    explained = any(not failure.error.startswith("SystemExit") for failure in failures)
    if not explained and (not _sent(recorded) or _failed(recorded, stop_at_submit=stop_at_submit)):
        say("Its last lines:\n" + "\n".join(recorded.output.splitlines()[-8:]))
    if not _sent(recorded) and any("FileNotFoundError" in failure.error for failure in failures):
        say("  --slice runs only the statements that its launches depend on.")
    for place in places.reached:
        say(f"✓ reached: {place}")
    for place in places.missed:
        say(f"· not reached: {place}")
    counted = [fmt.jobs(len(recorded.jobs))] if recorded.jobs else []
    counted += [fmt.counted(len(recorded.searches), "tuning job")] if recorded.searches else []
    told = f"{' and '.join(counted)} recorded" if counted else "No training job was sent"
    say(
        f"{told} in {recorded.seconds:.1f} s, {fmt.counted(len(recorded.calls), 'call')}, exit code {recorded.exit_code}."
    )


def _say_calls(recorded: Recorded) -> None:
    for call in recorded.calls:
        if call.operation in LAUNCHING:
            say(f"  {call.service}.{call.operation:<30} {_name(call)}{_place(call)}")


def _say_faults(recorded: Recorded, refused: Sequence[str]) -> None:
    """Secrets that were sent, addresses that were refused, modules that are not here, jobs that were not written."""
    for call in recorded.calls:
        for secret in call.secrets:
            say(f"✗ {secret} was sent in clear text by {call.operation}. Its value is not kept.")
    for each in recorded.refused[:10]:
        say(f"▲ refused: {each}")
    if recorded.stand_ins:
        say(f"▲ not here, something stood for them: {', '.join(recorded.stand_ins)}")
    for why in refused:
        say(f"✗ not written: {why}")


def _failed(recorded: Recorded, *, stop_at_submit: bool) -> bool:
    """Whether the program, or a cell, ended otherwise than well. The refusal of the first job, as asked, is no fault of theirs."""
    if recorded.exit_code == 0:
        return False
    if recorded.failures:
        return not all(failure.stopped for failure in recorded.failures)
    return not (stop_at_submit and _sent(recorded))


def _file(program: Sequence[str]) -> Path | None:
    """The script or notebook of the program, if it is one of this folder."""
    name = next((word for word in program if word.endswith((".py", ".ipynb"))), None)
    return Path(name) if name is not None and Path(name).is_file() else None


def _slice(program: tuple[str, ...]) -> tuple[tuple[str, ...], list[tuple[int | None, str]]]:
    """The file of the program, and the statements of it that its launches depend on."""
    path = _file(program)
    if path is None:
        raise click.UsageError(f"--slice: got {' '.join(program)!r}, wanted a .py or .ipynb file that is here")
    places = [place for launch in read_launchers(path).launches for place in (launch.place, launch.started) if place]
    text = path.read_text("utf-8-sig", errors="replace").replace("\r\n", "\n")
    return (str(path), *program[program.index(str(path)) + 1 :]), sliced(cells(path.name, text), places)


def _name(call: RecordedCall) -> str:
    return next((str(value) for key, value in call.request.items() if key.endswith("Name")), "")


def _place(call: RecordedCall) -> str:
    if not call.places:
        return ""
    place = call.places[-1]
    file = f"cell {place.cell}" if place.cell is not None else Path(place.file).name
    return f"  {file}, line {place.line}"


def saved(recorded: Recorded, output: Path) -> tuple[list[Path], list[str]]:
    """A job file for each job, and its source beside it, a sweep file for each tuning job; and why the others have none."""
    paths, refused = list[Path](), list[str]()
    for call in (*recorded.jobs, *recorded.searches):
        try:
            _expect_known(call)
            if call.operation == "CreateTrainingJob":
                paths += _saved(recorded, parse_request(call.request), output)
            else:
                paths += _saved_search(recorded, call, output)
        except SmTrnError as error:  # noqa: PERF203 - one job that cannot be written keeps no other
            refused.append(f"{_name(call)!r}{_place(call)}: {error}")
    return paths, refused


def _saved_search(recorded: Recorded, call: RecordedCall, output: Path) -> list[Path]:
    """The file of the training jobs, and the sweep beside it."""
    sweep = recorded_sweep(call.request)
    paths = _saved(recorded, sweep.job, output)
    beside = paths[-1].with_suffix(".sweep.toml")
    beside.write_text(dump_sweep(sweep, paths[-1].name, "toml"), "utf-8")
    return [*paths, beside]


def _expect_known(call: RecordedCall) -> None:
    """Raises SmTrnError for a request with a text that a module would have made which is not installed."""
    if found := STOOD_FOR.search(json.dumps(dict(call.request), ensure_ascii=False, default=str)):
        raise SmTrnError(f"got {found[0]} in the request, wanted its value; install it and record again")


def _saved(recorded: Recorded, spec: JobSpec, output: Path) -> list[Path]:
    paths, name = list[Path](), _free(output, spec.name)
    source = _unpacked(recorded, spec, output / name)
    if source is not None and spec.script is not None:
        paths.append(source)
        spec = spec.replace(script=Script(spec.script.entry, source_dir=f"{name}/source"))
    output.mkdir(parents=True, exist_ok=True)
    path = output / f"{name}.toml"
    path.write_text(dump_job(spec, "toml"), "utf-8")
    return [*paths, path]


def _free(output: Path, name: str) -> str:
    """A file name for a job's name, which may hold anything: it is no path, and nothing of this name is there."""
    word = shown.file_name(name)
    free, number = word, 1
    while os.path.lexists(output / f"{free}.toml"):
        number += 1
        free = f"{word}-{number}"
    if (output / free).resolve().parent != output.resolve():
        raise SmTrnError(f"{output / free}: got a link, wanted a folder or nothing; choose another --output")
    return free


def _unpacked(recorded: Recorded, spec: JobSpec, folder: Path) -> Path | None:
    """The source that was uploaded for the job; None where it lies elsewhere. Raises SmTrnError for a member that leaves the folder."""
    uri = spec.script.source_dir if spec.script is not None else None
    body = recorded.uploads.get(uri or "")
    if body is None:
        return None
    target = folder / "source"
    target.mkdir(parents=True, exist_ok=True)
    try:
        with tarfile.open(fileobj=io.BytesIO(body), mode="r:*", tarinfo=Member) as archive:
            archive.extractall(target, filter="data")
    except (tarfile.TarError, OSError) as error:
        raise SmTrnError(
            f"source of {spec.name}: got an archive that cannot be unpacked ({error}), wanted the SDK's sourcedir.tar.gz"
        ) from None
    return target


def _as_json(recorded: Recorded, places: Reached) -> dict[str, object]:
    return {
        "exit_code": recorded.exit_code,
        "seconds": round(recorded.seconds, 2),
        "calls": [dataclasses.asdict(call) for call in recorded.calls],
        "uploads": {uri: len(body) for uri, body in recorded.uploads.items()},
        "refused": list(recorded.refused),
        "failures": [dataclasses.asdict(failure) for failure in recorded.failures],
        "reached": list(places.reached),
        "not_reached": list(places.missed),
        "stand_ins": list(recorded.stand_ins),
        "isolation": recorded.isolation,
    }
