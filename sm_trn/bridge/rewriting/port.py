"""A program for SDK v2 ported to SDK v3: run, rewritten, run again, and only then given out.

Both runs are recorded: nothing is started. The program is run whole; where that does not reach its jobs, the statements that
they depend on are run, of both programs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ..launchers.slice import sliced
from ..launchers.source import cells
from ..launchers.values import Place
from ..recorder import record
from ..recorder.recording import LAUNCHING, Recorded, RecordedCall, RecordedPlace
from .compare import compare, has_requirements
from .results import Refusal, Rewritten, Started
from .rewrite import rewritten
from .sdk import Sdk

TIMEOUT_S: Final = 120.0
_RAISED: Final = re.compile(r"[A-Za-z_][\w.]*(Error|Exception|Exit|Interrupt)\b")  # the last line of a traceback


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """The program for SDK v3. ``runs`` says that it has sent its jobs there; ``refused`` why it is not given out, ``named`` in
    what its jobs differ from those of the old program. ``whole`` is false where only statements were run."""

    old: str
    text: str
    launches: tuple[Place, ...]
    refused: tuple[Refusal, ...] = ()
    named: tuple[str, ...] = ()
    jobs: int = 0
    whole: bool = True

    @property
    def runs(self) -> bool:
        """Whether the program may be written."""
        return self.jobs > 0 and not self.refused


def read(path: Path) -> str:
    """The text of a file with its line ends as they are."""
    with path.open(encoding="utf-8", newline="") as file:
        return file.read()


def port(path: Path, v2: Sdk, v3: Sdk, arguments: Sequence[str] = (), isolation: str = "auto") -> Port:
    """Port a script or notebook; ``arguments`` are those of its command line, ``isolation`` is how its runs are held. The file
    itself is left alone.

    Raises SmTrnError for a file that is no Python, for a notebook in a style that cannot be kept, and for a folder too large to
    be copied.
    """
    old = read(path)
    first = rewritten(old, path.name, v2, v3)
    if not first.launches:
        return Port(old=old, text=old, launches=())
    run = _Run(path, old, first, arguments, isolation)
    before = run.before()
    started = [
        Started(place, call.request, has_requirements(call, before))
        for call in before.jobs
        if (place := run.place(call)) is not None
    ]
    done = _attempt(run, before, started, v2, v3, exact=False)
    return done if done.runs or run.exact else _better(done, _attempt(run, before, started, v2, v3, exact=True))


def _better(first: Port, second: Port) -> Port:
    """What ModelTrainer sends otherwise may be the same by TrainingJob.create; where it is not, the first reasons are told."""
    return second if second.runs else first


def _attempt(run: _Run, before: Recorded, started: Sequence[Started], v2: Sdk, v3: Sdk, *, exact: bool) -> Port:
    """Rewrite the program, and where nothing is in the way, run it."""
    new = rewritten(run.old, run.path.name, v2, v3, started, exact=exact)
    refused = [*new.refused, *_unreached(new, started, before)]
    named: tuple[str, ...] = ()
    run.exact = bool(refused)  # another way of starting the jobs would not help
    if not refused:
        named, refused = _compared(before, run.after(new, v3), run)
    return Port(
        old=run.old, text=new.text, launches=new.launches, refused=tuple(refused), named=named,
        jobs=0 if refused else len(before.jobs), whole=run.whole,
    )  # fmt: skip


class _Run:
    """The runs of one file."""

    def __init__(self, path: Path, old: str, first: Rewritten, arguments: Sequence[str], isolation: str) -> None:
        self.path, self.old, self.whole = path, old, True
        self.exact = False
        self._first = first
        self._arguments = list(arguments)
        self._held = isolation
        beside, started = path.resolve().parent, Path.cwd()
        below = path.suffix == ".py" and started in beside.parents
        self._folder = started if below else beside
        self._name = str(path.resolve().relative_to(self._folder))

    def before(self) -> Recorded:
        """The old program, under SDK v2."""
        recorded = self._record(None, None)
        if (
            not recorded.jobs and self._folder != self.path.resolve().parent
        ):  # it may be meant to be started in its own folder
            self._folder, self._name = self.path.resolve().parent, self.path.name
            recorded = self._record(None, None)
        if not recorded.jobs:
            places = [*self._first.launches, *(place for place, _ in self._first.starts)]
            statements = record(
                [self._name],
                folder=self._folder,
                timeout_s=TIMEOUT_S,
                isolation=self._held,
                code=sliced(cells(self.path.name, self.old), places),
            )
            if statements.jobs:
                self.whole = False
                return statements
        return recorded

    def after(self, new: Rewritten, v3: Sdk) -> Recorded:
        """The new program, under SDK v3."""
        if self.whole:
            return self._record(v3, new.text)
        code = sliced(cells(self.path.name, new.text), new.trainers)
        return record(
            [self._name], folder=self._folder, timeout_s=TIMEOUT_S, isolation=self._held, code=code, python=v3.python
        )

    def _record(self, sdk: Sdk | None, text: str | None) -> Recorded:
        python = sdk.python if sdk is not None else None
        replaced = {} if text is None else {self._name: text}
        command = [self._name, *self._arguments]
        return record(
            command, folder=self._folder, timeout_s=TIMEOUT_S, isolation=self._held, python=python, replaced=replaced
        )

    def place(self, call: RecordedCall) -> Place | None:
        """The innermost line of the file that made a call."""
        mine = next((place for place in call.places if self._is_mine(place)), None)
        return None if mine is None else Place(self.path.name, mine.cell or None, mine.line)

    def _is_mine(self, place: RecordedPlace) -> bool:
        return place.cell is not None or Path(place.file).name == self.path.name


def _unreached(new: Rewritten, started: Sequence[Started], before: Recorded) -> list[Refusal]:
    """The starts that the run of the old program did not come to."""
    if not new.starts:
        return [Refusal(place, "it is never started in this file") for place in new.launches]
    lines = {(job.place.cell, job.place.line) for job in started}
    left = [
        place
        for place, last in new.starts
        if not any((place.cell, line) in lines for line in range(place.line, last + 1))
    ]
    why = _ending(before)
    return [Refusal(place, f"the run under SDK v2 did not come here, so nothing is proven{why}") for place in left]


def _ending(recorded: Recorded) -> str:
    if recorded.failures:
        return f"; {recorded.failures[0]}"
    lines = [line for line in recorded.output.splitlines() if line.strip()]
    last = next((line for line in reversed(lines) if _RAISED.match(line)), lines[-1] if lines else "")
    return f"; it ended with: {last[:200]}" if recorded.exit_code and last else ""


def _compared(before: Recorded, after: Recorded, run: _Run) -> tuple[tuple[str, ...], list[Refusal]]:
    """The named differences of all jobs, and what else is different."""
    named, others = dict[str, None](), list[Refusal]()
    top = Place(run.path.name, None, 1)
    for one, two in zip(before.jobs, after.jobs, strict=False):
        comparison = compare(one, before, two, after, run.path.name)
        named |= dict.fromkeys(comparison.named)
        others += [Refusal(run.place(one) or top, why) for why in comparison.others]
    if len(before.jobs) != len(after.jobs):
        others.append(
            Refusal(top, f"{len(before.jobs)} jobs under SDK v2, {len(after.jobs)} under SDK v3{_ending(after)}")
        )
    elif run.whole and not _ended_alike(before, after):
        others.append(Refusal(top, f"under SDK v3 it does not run to the end that it has under SDK v2{_ending(after)}"))
    for operation in LAUNCHING[1:]:
        if len(before.of(operation)) != len(after.of(operation)):
            others.append(Refusal(top, f"{operation} is called otherwise under SDK v3"))
    return tuple(named), others


def _ended_alike(before: Recorded, after: Recorded) -> bool:
    """Whether the new program fails at nothing that the old one does not fail at."""
    return _errors(after) <= _errors(before)


def _errors(recorded: Recorded) -> set[tuple[int, str]]:
    """What went wrong in a run: the cell, 0 for a script, and the exception."""
    if recorded.failures or not recorded.exit_code:
        return {(failure.cell, failure.error) for failure in recorded.failures}
    return {(0, _ending(recorded))}
