"""Job files on the command line: which arguments are files, and all jobs of several of them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ...core.errors import InvalidJobFile
from ...core.jobfile.files import JobFile
from ...core.session.jobfiles import FORMAT_OF, only, read_file, save, split
from ...core.specs.job import JobSpec

__all__ = ["FORMAT_OF", "all_jobs", "label", "looks_like_a_file", "only", "read_file", "save", "split"]


def looks_like_a_file(name: str) -> bool:
    """Whether a name on the command line is a job file rather than a job: ``x.toml``, ``x.yaml#second``."""
    path, _ = split(name)
    return Path(path).suffix in FORMAT_OF


def all_jobs(names: Iterable[str]) -> list[tuple[JobFile, int, JobSpec]]:
    """Return every job of every file: its file, its place in it, the spec. Raises InvalidJobFile for the faults of all
    files together."""
    found = []
    faults: list[object] = []
    for name in names:
        try:
            file = read_file(name)
        except InvalidJobFile as error:  # noqa: PERF203 - the other files are still read
            faults.extend(error.faults)
        else:
            found += [(file, index, job) for index, job in enumerate(file.jobs)]
    if faults:
        raise InvalidJobFile(tuple(faults))
    return found


def label(file: JobFile, job: JobSpec) -> str:
    """How a job of a file is called on the screen."""
    return file.name if len(file.bases) == 1 and not file.bases[0] else f"{file.name}#{job.name}"
