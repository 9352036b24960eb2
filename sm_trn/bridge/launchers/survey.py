"""Every launcher below some folders: what translates, what keeps the rest from it, and how much work is left – one page."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ...core.errors import SmTrnError
from ...core.formatting.html import WIDE, WRAP, block, html_table, text, title
from ...core.formatting.numbers import counted
from ...core.formatting.table import Align, Cell, Column, Row, Table
from ...core.specs.json import Json
from ...core.specs.problems import Severity
from .launches import Ending, Launch, Launchers
from .read import Check, read_launchers

_SKIPPED: Final = frozenset(
    {".git", ".venv", "venv", "node_modules", "site-packages", "__pycache__", ".ipynb_checkpoints"}
)
_MENTIONS: Final = "sagemaker"
MOST: Final = 20_000  # files
# Minutes of a person: guesses that the page calls so, to set repositories side by side.
_LAUNCH_MINUTES: Final = 5
_HOLE_MINUTES: Final = 15
_ERROR_MINUTES: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """What was found below the folders. ``failed`` are files that could not be read, and why."""

    files: tuple[tuple[str, Launchers], ...]
    failed: tuple[tuple[str, str], ...] = ()

    @property
    def launches(self) -> list[tuple[str, Launch]]:
        """Each launch with its file, as a path below the folders."""
        return [(name, launch) for name, found in self.files for launch in found.launches]

    def numbers(self) -> dict[str, Json]:
        """The survey as JSON."""
        launches = [launch for _, launch in self.launches]
        return {
            "files": len(self.files),
            "launches": len(launches),
            "complete": sum(launch.complete for launch in launches),
            "with_one_cause": sum(len(launch.holes) == 1 for launch in launches),
            "by_class": dict(Counter(launch.cls for launch in launches)),
            "causes": dict(self.causes()),
            "findings": dict(self.findings()),
            "names_of_version_1": sum(bool(launch.remarks) for launch in launches),
            "seen": dict(Counter(item.kind for _, found in self.files for item in found.seen)),
            "estimated_hours": round(sum(map(minutes, self.readings)) / 60, 1),
            "counted_so": self.counted(),
            "failed": [{"file": name, "why": why} for name, why in self.failed],
            "sites": [
                {
                    "file": name,
                    "line": launch.place.line,
                    "cell": launch.place.cell,
                    "class": launch.cls,
                    "holes": len(launch.holes),
                }
                for name, launch in self.launches
            ],
        }

    def causes(self) -> Counter[str]:
        """How many holes each reason makes."""
        return Counter(hole.reason.value for _, launch in self.launches for hole in launch.holes)

    def findings(self) -> Counter[str]:
        """How often ``check`` found each error or warning."""
        jobs = (job for _, launch in self.launches for job in launch.jobs)
        return Counter(
            f"{each.id} {each.what}" for job in jobs for each in job.problems if each.severity is not Severity.INFO
        )

    @property
    def readings(self) -> list[Launchers]:
        """What was read of each file."""
        return [found for _, found in self.files]

    def counted(self) -> str:
        """How the minutes are counted, and what is not in them."""
        seen = counted(sum(len(found.seen) for found in self.readings), "place", "places")
        failed = counted(len(self.failed), "file")
        return (
            f"Work is guessed, not measured: {_LAUNCH_MINUTES} minutes for each launch, to read its job and check it; {_HOLE_MINUTES} "
            f"for each value that is open, once for its place, however many launches wait for it; {_ERROR_MINUTES} for each error that "
            f"check finds. Not counted: {seen} that are seen and not converted, {failed} not read, and the training code itself."
        )

    def sentence(self) -> str:
        """The survey in one sentence."""
        launches = [launch for _, launch in self.launches]
        complete = sum(launch.complete for launch in launches)
        told = f"{complete} complete, {len(launches) - complete} with holes"
        files, found = counted(len(self.files), "file"), counted(len(launches), "launch", "launches")
        return f"{files}, {found}: {told}. Read, not run."

    def tables(self) -> tuple[Table, ...]:
        """The tables of the page; one without rows is left out."""
        kinds = Counter(item.kind for found in self.readings for item in found.seen)
        by_work = sorted(self.files, key=lambda item: minutes(item[1]), reverse=True)
        tables = (
            _table("Where the work is", "File", _WORK, [(name, *_work(found)) for name, found in by_work]),
            _table("Open values by cause", "Cause", _COUNT, self.causes().most_common()),
            _table("What check finds", "Rule", _COUNT, self.findings().most_common(40)),
            _table("Seen, not converted", "Kind", _COUNT, kinds.most_common()),
            _table("Launches", "File", _LAUNCHES, [_row(name, launch) for name, launch in self.launches]),
            _table("Not read", "File", _REASONS, self.failed),
        )
        return tuple(table for table in tables if table.rows)

    def html(self) -> str:
        """One page without scripts; every text of the repository is escaped. Raises MissingLibrary without jinja2."""
        hours = sum(map(minutes, self.readings)) / 60
        head = f"{title('Launch code of SageMaker', self.sentence())}<p>About {hours:.1f} h. {text(self.counted())}</p>"
        body = "".join(f"{WIDE}{html_table(table, folding=False)}</div>" for table in self.tables())
        top = (
            '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Launch code of SageMaker</title></head>'
        )
        return f"{top}<body><main>{block(head + body)}</main></body></html>\n"


def minutes(found: Launchers) -> int:
    """The work in a file, guessed in minutes of a person."""
    return _work(found)[-1]


def _work(found: Launchers) -> tuple[int, int, int, int, int]:
    """Launches that start a job elsewhere, those that are complete, open values, errors of check, minutes."""
    launches = [launch for launch in found.launches if launch.ending is not Ending.LOCAL]
    complete = sum(launch.complete for launch in launches)
    holes = len({(hole.place, hole.expression) for launch in launches for hole in launch.holes})
    problems = [each for launch in launches for job in launch.jobs for each in job.problems]
    errors = sum(each.severity is Severity.ERROR for each in problems)
    guess = _LAUNCH_MINUTES * len(launches) + _HOLE_MINUTES * holes + _ERROR_MINUTES * errors
    return len(launches), complete, holes, errors, guess


def _number(name: str, heading: str, unit: str = "") -> Column:
    return Column(name=name, heading=heading, unit=unit)


def _words(name: str, heading: str, style: str = WRAP) -> Column:
    return Column(name=name, heading=heading, align=Align.LEFT, style=style)


_WORK: Final = (
    _number("launches", "Launches"),
    _number("complete", "Complete"),
    _number("open", "Open values"),
    _number("errors", "Errors"),
    _number("minutes", "Work", "min"),
)
_COUNT: Final = (_number("count", "Count"),)
_LAUNCHES: Final = (_words("place", "Place", "state"), _words("class", "Class", "state"), _words("state", "State"))
_REASONS: Final = (_words("why", "Why"),)


def _row(name: str, launch: Launch) -> tuple[str, str, str, str]:
    place = str(launch.place).partition(", ")[2]
    holes = "; ".join(f"{hole.expression}: {hole.reason.value}" for hole in launch.holes)
    return name, place, launch.cls, holes or f"complete, {launch.ending.value}"


def _table(caption: str, rows_are: str, columns: tuple[Column, ...], rows: Sequence[Sequence[object]]) -> Table:
    names = [column.name for column in columns]
    return Table(
        title=caption,
        rows_are=rows_are,
        columns=columns,
        rows=tuple(
            Row(name=str(first), cells={name: Cell(value) for name, value in zip(names, rest, strict=True)})
            for first, *rest in rows
        ),
    )


def survey(folders: Sequence[Path], given: Mapping[str, object] | None = None, check: Check | None = None) -> Survey:
    """Read every ``.py`` and ``.ipynb`` file below the folders that mentions SageMaker. Links are not followed out of them."""
    files: list[tuple[str, Launchers]] = []
    failed: list[tuple[str, str]] = []
    for folder in folders:
        for path in _candidates(folder):
            name = (
                str(path.relative_to(folder if len(folders) == 1 else folder.parent)) if folder.is_dir() else path.name
            )
            try:
                found = read_launchers(path, given=given, check=check)
            except (SmTrnError, OSError) as error:
                failed.append((name, str(error)))
                continue
            if found.launches or found.seen:
                files.append((name, found))
    return Survey(files=tuple(files), failed=tuple(failed))


def _candidates(folder: Path) -> Iterator[Path]:
    if folder.is_file():
        yield folder
        return
    count = 0
    for above, inner, names in os.walk(folder):
        inner[:] = sorted(name for name in inner if name not in _SKIPPED)
        for name in sorted(names):
            path = Path(above, name)
            if path.suffix in {".py", ".ipynb"} and not path.is_symlink() and _mentions(path):
                count += 1
                if count > MOST:
                    return
                yield path


def _mentions(path: Path) -> bool:
    try:
        return _MENTIONS in path.read_text("utf-8", errors="replace")
    except OSError:
        return False
