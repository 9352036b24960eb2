"""Job files, programs for SDK v3 and sources of imported launches, written into a folder."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ...core.errors import SmTrnError
from ...core.jobfile import dump_job
from ...core.jobfile.sweep_file import dump_sweep
from ...core.specs.job import JobSpec
from ..jobs import Launch

_LONGEST: Final = 100  # characters of a file's name


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """The files of a launch, why it has none, and why its program is TrainingJob.create. ``job`` is the job as it was written, with
    its source's place as it is seen from here.
    """

    job: JobSpec | None = None
    paths: tuple[Path, ...] = ()
    refusal: str = ""
    reason: str = ""


def save(launch: Launch, output: Path) -> Saved:
    """Write a launch; what cannot be written says why."""
    if launch.job is None:
        return Saved(refusal=launch.refusal)
    name = _free_name(launch.job.name, output)
    folder = output / name
    paths, reason = list[Path](), ""
    here = launch.with_source(str(folder / "source"))
    placed = launch.with_source(f"{name}/source")
    job = placed.job or launch.job
    try:
        if launch.source is not None:
            launch.source(folder / "source")
            paths.append(folder / "source")
        output.mkdir(parents=True, exist_ok=True)
        paths += [_write(output / f"{name}.toml", dump_job(job, "toml"))]
        if launch.sweep is not None:
            sweep = launch.sweep.replace(job=job)
            return Saved(
                job=here.job,
                paths=(*paths, _write(output / f"{name}.sweep.toml", dump_sweep(sweep, f"{name}.toml", "toml"))),
            )
    except (SmTrnError, OSError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        return Saved(refusal=str(error))
    try:
        program, reason = placed.program()
        paths.append(_write(output / f"{name}.v3.py", program))
    except SmTrnError as error:
        reason = f"no program for SDK v3: {str(error).partition(chr(10))[0]}"
    return Saved(job=here.job, paths=tuple(paths), reason=reason)


def _write(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


def _free_name(name: str, output: Path) -> str:
    """Return a file name for a job's name, which may hold anything: it is no path, and nothing of this name is there."""
    word = re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip(".-")[:_LONGEST] or "job"
    free, number = word, 1
    while os.path.lexists(output / f"{free}.toml"):
        number += 1
        free = f"{word}-{number}"
    if (output / free).resolve().parent != output.resolve():
        raise SmTrnError(f"{output / free}: got a link, wanted a folder or nothing; choose another --output")
    return free
