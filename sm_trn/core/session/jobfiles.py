"""Job files on disk: which format, which jobs, and paths that are meant from where the file lies."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from pathlib import Path

from ..errors import UnknownName
from ..jobfile.files import JobFile, dump_job, parse_jobs
from ..specs.data import Channel, Dataset, FileSystem
from ..specs.job import JobSpec
from ..specs.value import suggestion

FORMAT_OF = {".toml": "toml", ".json": "json", ".yaml": "yaml", ".yml": "yaml"}
SIZE_CAP_BYTES = 4_000_000


def split(name: str) -> tuple[str, str | None]:
    """``jobs.toml#second`` as the file and the job in it; without ``#``, every job."""
    path, mark, job = name.partition("#")
    return path, job if mark else None


def read_file(name: str) -> JobFile:
    """The file ``name``, its paths relative to the working directory. With ``#job``, that job alone.

    Raises UnknownName when there is no such file or job, InvalidJobFile for what stands in it.
    """
    path, wanted = split(name)
    if "://" in path:
        raise UnknownName(f"file: got {path!r}, wanted a file of this machine; copy it here first")
    file = parse_jobs(_text(Path(path)), FORMAT_OF[Path(path).suffix], name=path)
    folder = Path(path).parent
    jobs = tuple(_moved(job, lambda place: str(folder / place)) for job in file.jobs)
    places = range(len(jobs))
    if wanted is not None:
        names = [job.name for job in jobs]
        if wanted not in names:
            raise UnknownName(
                f"job: got {wanted!r}, wanted one of {', '.join(names)} of {path}{suggestion(wanted, names)}"
            )
        places = range(names.index(wanted), names.index(wanted) + 1)
    return dataclasses.replace(file, jobs=tuple(jobs[n] for n in places), bases=tuple(file.bases[n] for n in places))


def read_jobs(name: str | Path) -> tuple[JobSpec, ...]:
    """The jobs of a TOML, JSON or YAML file, or with ``file#job`` that one.

    Raises UnknownName when there is no such file or job, InvalidJobFile with every fault of what stands in it.
    """
    return read_file(str(name)).jobs


def only(name: str) -> JobSpec:
    """The one job of a file. Raises UnknownName when there are several and none was named."""
    return one(name).jobs[0]


def one(name: str) -> JobFile:
    """The same with its text and places. Raises UnknownName as ``only``."""
    file = read_file(name)
    if len(file.jobs) > 1:
        raise UnknownName(f"job: got {name} with {len(file.jobs)} jobs, wanted one of them: {name}#{file.jobs[0].name}")
    return file


def save(path: Path, job: JobSpec, *, head: str = "") -> None:
    """Write ``job`` as a job file of its own; its local paths are written so that they are found from where the file lies.

    ``head`` are lines before it, which its format takes for comments.

    Raises UnknownName for a suffix that no format has.
    """
    if path.suffix not in FORMAT_OF:
        raise UnknownName(f"file: got {str(path)!r}, wanted a job file that ends in {', '.join(FORMAT_OF)}")
    here = _moved(job, lambda local: os.path.relpath(local, path.parent))
    path.write_text(head + dump_job(here, FORMAT_OF[path.suffix]), "utf-8")


def _text(path: Path) -> str:
    if path.suffix not in FORMAT_OF:
        raise UnknownName(f"file: got {str(path)!r}, wanted a job file that ends in {', '.join(FORMAT_OF)}")
    if not path.is_file():
        here = (
            [other.name for other in path.parent.glob("*") if other.suffix in FORMAT_OF] if path.parent.is_dir() else []
        )
        if path.is_dir():
            raise UnknownName(f"file: got {str(path)!r}, a folder, wanted a job file")
        raise UnknownName(f"file: got {str(path)!r}, wanted an existing job file{suggestion(path.name, here)}")
    if path.stat().st_size > SIZE_CAP_BYTES:
        raise UnknownName(
            f"file: got {path.stat().st_size:,} bytes in {str(path)!r}, wanted a job file of at most {SIZE_CAP_BYTES:,}"
        )
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise UnknownName(
            f"file: got bytes that are no text (at byte {error.start}) in {str(path)!r}, wanted a job file, which is UTF-8 text"
        ) from error
    except OSError as error:
        raise UnknownName(f"file: got {error} in {str(path)!r}, wanted UTF-8 text that can be read") from error


def _moved(job: JobSpec, move: Callable[[str], str]) -> JobSpec:
    """``job`` with its relative local paths moved."""

    def here(path: str) -> str:
        return path if "://" in path or Path(path).is_absolute() else move(path)

    inputs = {
        name: value
        if isinstance(value, (FileSystem, Dataset))
        else dataclasses.replace(value, uri=here(value.uri))
        if isinstance(value, Channel)
        else here(value)
        for name, value in job.inputs.items()
    }
    script = job.script.moved(move) if job.script is not None else None
    return job.replace(inputs=inputs, script=script)
