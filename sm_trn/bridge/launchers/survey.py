"""Every launcher below some folders: what translates, what keeps the rest from it, and what is deprecated – one page."""

from __future__ import annotations

import html
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ...core.errors import SmTrnError
from ...core.formatting.numbers import counted
from ...core.specs.json import Json
from ...core.specs.problems import Severity
from .launches import Ending, Launch, Launchers
from .read import Check, read_launchers

_SKIPPED: Final = frozenset(
    {".git", ".venv", "venv", "node_modules", "site-packages", "__pycache__", ".ipynb_checkpoints"}
)
_MENTIONS: Final = "sagemaker"
MOST: Final = 20_000  # files
# Minutes of a person: a guess that the page calls one, so that repositories can be set side by side.
_COMPLETE_MINUTES: Final = 5
_HOLE_MINUTES: Final = 15


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
            "estimated_hours": self.hours(),
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

    def hours(self) -> float:
        """Work, estimated: 5 minutes a complete launch, 15 more a hole."""
        launches = [launch for _, launch in self.launches if launch.ending is not Ending.LOCAL]
        return round(sum(_COMPLETE_MINUTES + _HOLE_MINUTES * len(launch.holes) for launch in launches) / 60, 1)

    def sentence(self) -> str:
        """The survey in one sentence."""
        launches = [launch for _, launch in self.launches]
        complete = sum(launch.complete for launch in launches)
        told = f"{complete} complete, {len(launches) - complete} with holes"
        files, found = counted(len(self.files), "file"), counted(len(launches), "launch", "launches")
        return f"{files}, {found}: {told}. Read, not run."

    def html(self) -> str:
        """One page without scripts; every text of the repository is escaped."""
        head = (
            f"<h1>Launch code of SageMaker SDK v1 and v2</h1><p>{html.escape(self.sentence())} Work, estimated: {self.hours()} h "
            f"({_COMPLETE_MINUTES} minutes a launch, {_HOLE_MINUTES} more a hole).</p>"
        )
        parts = [
            head,
            _table("Holes by cause", ("cause", "holes"), self.causes().most_common()),
            _table("Findings of check", ("rule", "jobs"), self.findings().most_common(40)),
            _table(
                "Seen, not converted",
                ("kind", "places"),
                Counter(i.kind for _, f in self.files for i in f.seen).most_common(),
            ),
            _table(
                "Launches", ("file", "place", "class", "state"), [_row(name, launch) for name, launch in self.launches]
            ),
            _table("Not read", ("file", "why"), self.failed),
        ]
        style = "body{font:15px/1.5 system-ui;margin:2em auto;max-width:70em}td,th{padding:.2em .8em;text-align:left;vertical-align:top}"
        top = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Launch code</title><style>{style}</style>'
        return f"{top}<main>{''.join(parts)}</main></html>\n"


def _row(name: str, launch: Launch) -> tuple[str, str, str, str]:
    place = str(launch.place).partition(", ")[2]
    holes = "; ".join(f"{hole.expression}: {hole.reason.value}" for hole in launch.holes)
    return name, place, launch.cls, holes or f"complete, {launch.ending.value}"


def _table(title: str, head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    if not rows:
        return ""
    top = "".join(f"<th>{html.escape(word)}</th>" for word in head)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(str(item))}</td>" for item in row) + "</tr>" for row in rows)
    return f"<h2>{html.escape(title)}</h2><table><tr>{top}</tr>{body}</table>"


def survey(folders: Sequence[Path], given: Mapping[str, object] | None = None, check: Check | None = None) -> Survey:
    """Read every ``.py`` and ``.ipynb`` file below the folders that mentions SageMaker. Links are not followed out of them."""
    files: list[tuple[str, Launchers]] = []
    failed: list[tuple[str, str]] = []
    for folder in folders:
        for path in _candidates(folder):
            name = str(path.relative_to(folder)) if folder.is_dir() else path.name
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
