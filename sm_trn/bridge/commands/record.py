"""sm-trn import --run"""

from __future__ import annotations

import dataclasses
import io
import json
import os
import tarfile
from collections.abc import Sequence
from pathlib import Path

import click

from ...cli.shared import Number, emit, json_option, say
from ...core.archives import Member
from ...core.errors import SmTrnError
from ...core.formatting import numbers as fmt
from ...core.jobfile import dump_job
from ...core.render import parse_request
from ...core.specs.job import JobSpec, Script
from ..launchers.read import read_launchers
from ..launchers.slice import sliced
from ..launchers.source import cells
from ..recorder import Recorded, RecordedCall, record
from ..recorder.recording import LAUNCHING
from . import shown


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
@click.option("--slice", "as_slice", is_flag=True, help="Run only the statements that the file's launches depend on.")
@json_option
def command(
    program: tuple[str, ...], *, output: Path, stop_at_submit: bool, timeout_s: float, as_slice: bool, as_json: bool
) -> int:
    """Run a launcher as it is, without launching: a Python program, or a notebook whose cells are run one by one.

    It runs in a copy of this folder. Every call of AWS is answered on this machine as if it had just ended well; nothing is
    started, nothing is billed, nothing leaves this machine. Each training job becomes a job file, with its source. The exit code is 1 if
    no job was sent, or if the program or a cell of it failed, which is then named.

    \b
    Example: sm-trn import --run -- python launch.py
    """
    if not as_json:
        say("Recording. Nothing is started, nothing is billed, nothing leaves this machine.")
    program, code = _slice(program) if as_slice else (program, None)
    recorded = record(program, timeout_s=timeout_s, stop_at_submit=stop_at_submit, code=code)
    if as_json:
        emit(_as_json(recorded))
        return int(not recorded.jobs or _failed(recorded, stop_at_submit=stop_at_submit))
    _say_calls(recorded)
    if told := shown.defaults():
        say(told)
    paths, refused = saved(recorded, output)
    for path in paths:
        say(f"  {path}")
    failed = _failed(recorded, stop_at_submit=stop_at_submit)
    _say_faults(recorded, refused)
    if not recorded.jobs or (failed and not recorded.failures):
        head = "No training job was sent." if not recorded.jobs else "The program did not end well."
        say(f"{head} The program's last lines:\n" + "\n".join(recorded.output.splitlines()[-8:]))
    if paths:
        say(f"Next: sm-trn check {output}/*.toml")
    return int(not recorded.jobs or failed or bool(refused))


def _say_calls(recorded: Recorded) -> None:
    for call in recorded.calls:
        if call.operation in LAUNCHING:
            say(f"  {call.service}.{call.operation:<30} {_name(call)}{_place(call)}")
    say(
        f"\n{fmt.jobs(len(recorded.jobs))} in {recorded.seconds:.1f} s, {fmt.counted(len(recorded.calls), 'call')}, "
        f"exit code {recorded.exit_code}."
    )


def _say_faults(recorded: Recorded, refused: Sequence[str]) -> None:
    """Secrets that were sent, what the recorder refused, jobs that were not written, cells that failed."""
    for call in recorded.calls:
        for secret in call.secrets:
            say(f"✗ {secret} was sent in clear text by {call.operation}. Its value is not kept.")
    for each in recorded.refused[:10]:
        say(f"▲ refused: {each}")
    for why in refused:
        say(f"✗ not written: {why}")
    for failure in recorded.failures:
        if not failure.stopped:
            say(f"✗ {failure}")


def _failed(recorded: Recorded, *, stop_at_submit: bool) -> bool:
    """Whether the program, or a cell, ended otherwise than well. The refusal of the first job, as asked, is no fault of theirs."""
    if recorded.failures:
        return not all(failure.stopped for failure in recorded.failures)
    return recorded.exit_code != 0 and not (stop_at_submit and recorded.jobs)


def _slice(program: tuple[str, ...]) -> tuple[tuple[str, ...], list[tuple[int | None, str]]]:
    """The file of the program, and the statements of it that its launches depend on."""
    name = next((word for word in program if word.endswith((".py", ".ipynb"))), None)
    if name is None or not Path(name).is_file():
        raise click.UsageError(f"--slice: got {' '.join(program)!r}, wanted a .py or .ipynb file that is here")
    places = [place for launch in read_launchers(name).launches for place in (launch.place, launch.started) if place]
    text = Path(name).read_text("utf-8-sig", errors="replace").replace("\r\n", "\n")
    return (name,), sliced(cells(Path(name).name, text), places)


def _name(call: RecordedCall) -> str:
    return next((str(value) for key, value in call.request.items() if key.endswith("Name")), "")


def _place(call: RecordedCall) -> str:
    if not call.places:
        return ""
    place = call.places[-1]
    file = f"cell {place.cell}" if place.cell is not None else Path(place.file).name
    return f"  {file}, line {place.line}"


def saved(recorded: Recorded, output: Path) -> tuple[list[Path], list[str]]:
    """A job file for each job, and its source beside it; and why the others have none."""
    paths, refused = list[Path](), list[str]()
    for call in recorded.jobs:
        try:
            paths += _saved(recorded, parse_request(call.request), output)
        except SmTrnError as error:  # noqa: PERF203 - one job that cannot be written keeps no other
            refused.append(f"{_name(call)!r}{_place(call)}: {error}")
    return paths, refused


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


def _as_json(recorded: Recorded) -> dict[str, object]:
    return {
        "exit_code": recorded.exit_code,
        "seconds": round(recorded.seconds, 2),
        "calls": [
            {
                "service": call.service,
                "operation": call.operation,
                "request": json.loads(json.dumps(dict(call.request), default=str)),
                "places": [{"file": place.file, "line": place.line} for place in call.places],
                "secrets": list(call.secrets),
            }
            for call in recorded.calls
        ],
        "uploads": {uri: len(body) for uri, body in recorded.uploads.items()},
        "refused": list(recorded.refused),
        "failures": [dataclasses.asdict(failure) for failure in recorded.failures],
    }
