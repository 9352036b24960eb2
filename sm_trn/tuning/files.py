"""Sweep files: a sweep as TOML, JSON or YAML, which names the file of its job."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..core.errors import InvalidJobFile, UnknownName
from ..core.jobfile.faults import Fault
from ..core.jobfile.files import JobFile, parse_as, parse_tree
from ..core.jobfile.sweep_file import SweepFile
from ..core.session.jobfiles import FORMAT_OF, one
from ..core.specs.tuning import SearchSettings, Sweep

SIZE_CAP = 1_000_000  # bytes
_VALUES = "hyperparameters."


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepText:
    """A sweep with the two files that describe it: its own, and that of its job."""

    sweep: Sweep
    file: JobFile
    job: JobFile

    def place(self, where: str) -> tuple[JobFile, str]:
        """In which of the files a field of the sweep or of its jobs stands, and by which name."""
        name = where.removeprefix(_VALUES)
        asked = f"space.{name}" if where.startswith(_VALUES) and name in self.sweep.space else where
        return (self.job, where) if self.file.place(0, asked) is None else (self.file, asked)


def read_text(path: Path) -> SweepText:
    """The sweep of a file, with where its fields stand. Raises UnknownName for a file that is not there, or that names no job;
    InvalidJobFile for what stands in it."""
    text = _text(path)
    said, places = parse_as(SweepFile, text, FORMAT_OF[path.suffix], name=str(path))
    job = one(str(path.parent / said.job))
    settings = {field.name: getattr(said, field.name) for field in dataclasses.fields(SearchSettings)}
    try:
        sweep = Sweep(job.jobs[0], said.space, said.objective.value(), **settings)
    except ValueError as error:
        raise InvalidJobFile((Fault(what=str(error), file=str(path)),)) from error
    own = JobFile(name=str(path), text=text, jobs=(sweep.job,), places=places, bases=((),))
    return SweepText(sweep=sweep, file=own, job=job)


def is_sweep(path: Path) -> bool:
    """Whether a file describes a sweep: its ``job`` is the name of a file, where a job file has jobs. Raises as ``read_text``."""
    tree, _ = parse_tree(_text(path), FORMAT_OF[path.suffix], str(path))
    return isinstance(tree, Mapping) and isinstance(tree.get("job"), str)


def _text(path: Path) -> str:
    if path.suffix not in FORMAT_OF or not path.is_file():
        raise UnknownName(f"sweep: got {str(path)!r}, wanted a file that ends in {', '.join(FORMAT_OF)}")
    if path.stat().st_size > SIZE_CAP:
        raise UnknownName(f"sweep: got {str(path)!r}, which is too large; wanted at most {SIZE_CAP:,} bytes")
    try:
        return path.read_text("utf-8").removeprefix("\ufeff").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise UnknownName(f"sweep: got bytes that are no text in {str(path)!r}, wanted UTF-8 text") from error
