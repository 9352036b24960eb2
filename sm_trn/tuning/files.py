"""Sweep files: a sweep as TOML, JSON or YAML, which names the file of its job, and all its problems."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ..core.errors import InvalidJobFile, UnknownName
from ..core.jobfile.faults import Fault
from ..core.jobfile.files import JobFile, parse_as, parse_tree
from ..core.jobfile.sweep_file import SweepFile
from ..core.preflight import JobRule
from ..core.session.defaults import known_prices
from ..core.session.jobfiles import FORMAT_OF, one
from ..core.session.policy import find_policy
from ..core.specs.problems import Problem
from ..core.specs.tuning import SearchSettings, Sweep
from ..core.specs.units import Usd
from .checking import check_sweep
from .worst_case import sweep_problems, worst_case, worst_case_words

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
        field = f"space.{name}" if where.startswith(_VALUES) and name in self.sweep.space else where
        return (self.job, where) if self.file.place(0, field) is None else (self.file, field)


def read_text(path: Path) -> SweepText:
    """The sweep of a file, with where its fields stand. Raises UnknownName for a file that is not there, or that names no job;
    InvalidJobFile for what stands in it."""
    text = _text(path)
    file, places = parse_as(SweepFile, text, FORMAT_OF[path.suffix], name=str(path))
    job = one(str(path.parent / file.job))
    settings = {field.name: getattr(file, field.name) for field in dataclasses.fields(SearchSettings)}
    try:
        sweep = Sweep(job.jobs[0], file.space, file.objective.value(), **settings)
    except ValueError as error:
        raise InvalidJobFile((Fault(what=str(error), file=str(path)),)) from error
    own = JobFile(name=str(path), text=text, jobs=(sweep.job,), places=places, bases=((),))
    return SweepText(sweep=sweep, file=own, job=job)


def is_sweep(path: Path) -> bool:
    """Return True if a file describes a sweep: its ``job`` is the name of a file, where a job file has jobs. Raises as ``read_text``."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedSweep:
    """A sweep with its problems. ``usd`` None: no price is known."""

    text: SweepText
    problems: tuple[Problem, ...]
    usd: Usd | None

    @property
    def name(self) -> str:
        """The name of its job."""
        return self.text.sweep.name

    def __str__(self) -> str:
        """``20 training jobs, each at most $1.41, together at most $28.20``."""
        return worst_case_words(self.text.sweep.jobs, self.usd)


def checked_sweep(path: Path, region: str, *, rules: Sequence[JobRule]) -> CheckedSweep | None:
    """The sweep of a file, checked and held against the policy above the file; None for a file that is no sweep.

    Raises InvalidJobFile, UnknownName.
    """
    return check_text(read_text(path), region, rules=rules) if is_sweep(path) else None


def check_text(text: SweepText, region: str, *, rules: Sequence[JobRule], free: bool = False) -> CheckedSweep:
    """Every problem of a sweep that was read. One that is ``free``, a rehearsal, is not held against the policy. Raises InvalidJobFile
    for a policy that is none.
    """
    price_of = partial(known_prices().of, region=region)
    problems = list(check_sweep(text.sweep, rules=rules))
    policy = None if free else find_policy(Path(text.file.name).parent)
    if policy is not None:
        problems += sweep_problems(policy, text.sweep, region, price_of)
    return CheckedSweep(text=text, problems=tuple(problems), usd=worst_case(text.sweep, price_of))
