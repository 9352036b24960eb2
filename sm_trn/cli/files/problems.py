"""Problems as the command line shows them: long with the line of the file, short, JSON, and GitHub's annotations."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from textwrap import wrap
from types import MappingProxyType
from typing import Any

import click

from ...core.formatting import numbers as fmt
from ...core.jobfile.faults import Fault
from ...core.jobfile.files import JobFile
from ...core.jobfile.places import Place
from ...core.preflight import source
from ...core.session.defaults import known_prices
from ...core.session.policy import Policy, find_policy
from ...core.specs.job import JobSpec
from ...core.specs.problems import Line, Problem, Severity
from . import files, fixes

WIDTH = 80
GITHUB = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "blue"}
_MARK = re.compile(r"(?m)(?<=\| ) *\^+.*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """A problem with the file and line it is about; ``line`` is that line's text. ``place`` None: the job as a whole."""

    problem: Problem
    file: str
    place: Place | None
    line: str
    fix: str

    @property
    def word(self) -> str:
        return self.problem.severity.word

    @property
    def at(self) -> str:
        return f"{self.file}:{self.place.line}" if self.place else self.file


def located(file: JobFile, index: int, problem: Problem) -> Located:
    """Where the problem stands: a line of the job file, or of the script that it names."""
    job = file.jobs[index]
    if isinstance(problem.where, Line):
        return _in_script(job, problem, problem.where)
    place = file.place(index, problem.where)
    line = file.line(place.line) if place else ""
    fix = fixes.in_file(problem.fix, files.FORMAT_OF[Path(file.name).suffix])
    return Located(problem=problem, file=file.name, place=place, line=line, fix=fix)


def _in_script(job: JobSpec, problem: Problem, where: Line) -> Located:
    folder, number = source.source_folder(job), where.number
    path = folder / where.file if folder is not None else Path(where.file)
    lines = (source.text(path) or "").split("\n")
    line = lines[number - 1].rstrip() if number <= len(lines) else ""
    start = len(line) - len(line.lstrip())
    return Located(
        problem=problem, file=str(path), place=Place(number, start, len(line) - start), line=line, fix=problem.fix
    )


def ordered(found: list[Located]) -> list[Located]:
    """Errors first; inside a severity by the position in the file."""
    return sorted(
        found,
        key=lambda item: (item.problem.severity.rank, item.file, item.place.line if item.place else 0),
    )


def long(item: Located) -> str:
    """The problem with its line, the place marked, got and wanted beside the mark, and the fix."""
    problem, place = item.problem, item.place
    label = ", ".join(f"{word} {text}" for word, text in (("got", problem.got), ("wanted", problem.wanted)) if text)
    gutter = max(2, len(str(place.line)) if place else 0)
    lines = [f"{item.word}[{problem.id}]: {problem.what}"]
    lines.append(f"{' ' * gutter}--> {item.at}" + ("" if place else f": {problem.where}"))
    if place is not None and item.line:
        mark = " " * place.column + "^" * max(1, place.width)
        beside = gutter + 4 + len(mark) + len(label) <= WIDTH
        lines += [f"{' ' * gutter} |", f"{place.line:>{gutter}} | {item.line}"]
        lines.append(f"{' ' * gutter} | {mark}{' ' + label if beside else ''}".rstrip())
        label = "" if beside else label
    for text in (label, item.fix and f"fix: {item.fix}", problem.consequence):
        folded = wrap(text, WIDTH - gutter - 3, break_long_words=False, break_on_hyphens=False) if text else []
        lines += [f"{' ' * gutter} {'=' if first == 0 else ' '} {line}" for first, line in enumerate(folded)]
    return "\n".join(lines) + "\n"


def paint(item: Located) -> Callable[[str], str]:
    """Colour for the head of a problem and for its mark, as compilers do it."""
    colour = COLOURS[item.problem.severity]
    head = f"{item.word}[{item.problem.id}]"

    def painted(text: str) -> str:
        text = text.replace(head, click.style(head, fg=colour, bold=True), 1)
        return _MARK.sub(lambda mark: click.style(mark[0], fg=colour), text, count=1)

    return painted


def short(item: Located) -> str:
    return f"{item.at}: {item.word}[{item.problem.id}] {item.problem.what}"


def github(item: Located) -> str:
    """A workflow command: https://docs.github.com/actions/reference/workflow-commands-for-github-actions"""
    problem = item.problem
    got = [
        f"{word} {text}"
        for word, text in (("got", problem.got), ("wanted", problem.wanted), ("fix:", item.fix))
        if text
    ]
    detail = "; ".join(text for text in (problem.what, problem.consequence, *got) if text)
    where = {"file": item.file, **({"line": str(item.place.line)} if item.place else {}), "title": problem.id}
    properties = ",".join(f"{key}={_escaped(value, ':,')}" for key, value in where.items())
    return f"::{GITHUB[problem.severity]} {properties}::{_escaped(detail)}"


def github_fault(fault: Fault) -> str:
    """A workflow command for what makes a file no job file."""
    line = {"line": str(fault.place.line)} if fault.place else {}
    where = {"file": fault.file, **line, "title": "job file"}
    properties = ",".join(f"{key}={_escaped(value, ':,')}" for key, value in where.items())
    notes = [f"{word} {text}" for word, text in (("got", fault.got), ("wanted", fault.wanted)) if text]
    keys = f"keys here: {', '.join(fault.keys)}" if fault.keys else ""
    message = "; ".join(text for text in (fault.what, *notes, fault.fix, keys) if text)
    return f"::error {properties}::{_escaped(message)}"


def forbidden(name: str, job: JobSpec, region: str) -> list[Problem]:
    """What of a job of the file ``name`` the team's policy does not allow. Raises InvalidJobFile for a policy that is none."""
    policy = find_policy(Path(name).parent)
    if policy is None:
        return []
    return list(policy.problems(job, region, partial(known_prices().of, region=region)))


def too_much_together(jobs: Sequence[tuple[str, JobSpec]], region: str) -> list[Problem]:
    """What the team's policy does not allow of jobs that are launched together, each with the name of its file."""
    policies: dict[Policy, list[JobSpec]] = {}
    for name, job in jobs:
        policy = find_policy(Path(name).parent)
        if policy is not None:
            policies.setdefault(policy, []).append(job)
    price_of = partial(known_prices().of, region=region)
    return [
        problem for policy, launch in policies.items() for problem in policy.launch_problems(launch, region, price_of)
    ]


def _escaped(text: str, more: str = "") -> str:
    return "".join(f"%{ord(c):02X}" if c in "%\r\n" + more else c for c in text)


def as_json(item: Located) -> dict[str, Any]:
    problem = item.problem
    return {
        "id": problem.id,
        "severity": problem.severity.value,
        "where": problem.where,
        "file": item.file,
        "line": item.place.line if item.place else None,
        "column": item.place.column + 1 if item.place else None,
        "what": problem.what,
        "consequence": problem.consequence,
        "got": problem.got,
        "wanted": problem.wanted,
        "fix": item.fix,
        "evidence": problem.evidence,
    }


SHOWN: Mapping[str, Callable[[Located], str]] = MappingProxyType({"long": long, "short": short, "github": github})


def counts(found: list[Located]) -> str:
    """``✗ 2 errors  ▲ 1 warning``; ``no problems`` when there are none."""
    parts = []
    for severity in Severity:
        number = sum(item.problem.severity is severity for item in found)
        if number:
            parts.append(f"{severity.glyph} {fmt.count(number)} {severity.word}{'s' if number > 1 else ''}")
    return "  ".join(parts) or "no problems"


def launchable(found: list[Located]) -> bool:
    return all(item.problem.severity is not Severity.ERROR for item in found)
