"""Launchers read without running: from a file to its launches, under every decision that its conditions leave open."""

from __future__ import annotations

import ast
import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from ...core.errors import SmTrnError
from ...core.specs.destination import Destination
from ...core.specs.job import JobSpec, Script
from ...core.specs.problems import Problem
from . import specs, statements
from .launches import Assumption, Ending, Launch, LauncherJob, Launchers, Seen, Unresolved
from .requests.asked import LOCAL, pipeline_session
from .requests.ledger import PLACEHOLDERS
from .requests.request import request_of
from .source import Cell, Unread, cells, parsed
from .state import ExhaustedError, Site, State
from .values import Cause, Place, Reason, Scope, Symbol, Unknown

OPEN: Final = 3  # conditions that are read both ways to the end: 8 readings
SIBLINGS: Final = 200  # modules beside a launcher that are looked at
_WORDS: Final = {symbol.value for symbol in Symbol}

Check = Callable[[JobSpec], Iterable[Problem]]


def read_launchers(
    path: str | Path, *, given: Mapping[str, object] | None = None, region: str = "", check: Check | None = None
) -> Launchers:
    """The launches of a ``.py`` or ``.ipynb`` file, read and never run: not a line of it is executed.

    ``given`` maps names to values that the code leaves open: its own variables, arguments of its command line, and the
    placeholders ``role``, ``bucket``, ``account`` and ``region``. With ``check`` every job has its problems.
    Raises SmTrnError for a file that is neither, and OSError for one that cannot be read.

    >>> [job.name for job in st.read_launchers("launch.py").jobs]
    ['bert']
    >>> [job.hyperparameters["epochs"] for job in st.read_launchers("launch.py", given={"epochs": 3}).jobs]
    [1, 3]
    """
    source = Path(path)
    data = source.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SmTrnError(
            f"{source.name}: got bytes that are no UTF-8 text (at {error.start}), wanted a .py or .ipynb file"
        ) from None
    started, beside = Path.cwd(), source.parent.resolve()  # a notebook is started in its own folder
    folders = (beside, started) if source.suffix == ".ipynb" else (started, beside)
    return read_text(
        text, source.name, given=given, region=region, modules=siblings(source), check=check, folders=folders
    )


def read_text(
    text: str, name: str, *, given: Mapping[str, object] | None = None, region: str = "",
    modules: Mapping[str, str] | None = None, check: Check | None = None, folders: Sequence[Path] = (),
) -> Launchers:  # fmt: skip
    """``read_launchers`` of a text; ``modules`` maps dotted names of modules beside it to their text. Its relative paths are
    looked for in ``folders``, the one first in which it would be started."""
    reading = Reading(name, cells(name, text.replace("\r\n", "\n")), given or {}, region, modules or {})
    reading.folders = tuple(dict.fromkeys(folders))
    return reading.launchers(check)


def siblings(path: Path) -> dict[str, str]:
    """The modules that a launcher could import from its own folder, by dotted name."""
    found: dict[str, str] = {}
    folder = path.parent
    deep = itertools.chain(folder.glob("*.py"), folder.glob("*/*.py"), folder.glob("*/*/*.py"))
    for candidate in itertools.islice(deep, SIBLINGS):
        if candidate == path or not candidate.is_file() or candidate.stat().st_size > 500_000:
            continue
        parts = candidate.relative_to(folder).with_suffix("").parts
        dotted = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[dotted] = candidate.read_text("utf-8", errors="replace")
    for dotted in list(found):  # folders that a launcher puts on its path
        found.setdefault(dotted.partition(".")[2] or dotted, found[dotted])
    return found


class Reading:
    """One file, read as often as its open conditions ask for."""

    def __init__(
        self, name: str, code: list[Cell], given: Mapping[str, object], region: str, modules: Mapping[str, str]
    ) -> None:
        self.name, self.code, self.modules = name, code, modules
        self.given = dict(given)
        asked = self.given.get("region")
        chosen = region or (asked if isinstance(asked, str) else "")
        self.region, self.chosen = chosen or Destination().region, bool(chosen)
        self.words = dict(PLACEHOLDERS)
        self.words |= {symbol: str(self.given[symbol.value]) for symbol in Symbol if symbol.value in self.given}
        self.trees = [(cell, parsed(cell)) for cell in code]
        self.unread: list[tuple[Place, str]] = []
        self.folders: tuple[Path, ...] = ()

    def state(self, decisions: Mapping[Place, bool]) -> State:
        """Read every cell once, under these decisions."""
        state = State(
            file=self.name, region=self.region, settings=self.given, decisions=decisions, modules=self.modules,
            body=statements.returned, assign=statements.assign,
            sibling=statements.sibling,
        )  # fmt: skip
        state.scopes.append(Scope(file=self.name))
        self.unread = []
        try:
            self._cells(state)
        except ExhaustedError:
            why = "the file needs more steps than a reading takes; what follows is not read"
            self.unread.append((Place(self.name, state.cell, 1), why))
        return state

    def _cells(self, state: State) -> None:
        for cell, tree in self.trees:
            state.cell = cell.number
            if isinstance(tree, Unread):
                self.unread.append((Place(self.name, tree.cell, tree.line), tree.why))
            else:
                self._cell(state, tree)

    def _cell(self, state: State, tree: ast.Module) -> None:
        for statement in tree.body:
            self._statement(state, statement)

    def _statement(self, state: State, statement: ast.stmt) -> None:
        """Read one statement; of one that is nested too deeply only the names that it assigns are taken, as unknown."""
        try:
            statements.block(state, [statement])
        except RecursionError:
            del state.scopes[1:]
            state.conditions.clear()
            place = Place(self.name, state.cell, statement.lineno)
            self.unread.append((place, "nested too deeply to be followed"))
            for inner in ast.walk(statement):
                if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                    state.scope.names[inner.id] = Unknown((Cause(Reason.CONSTRUCT, place, inner.id, inner.id),))

    def launchers(self, check: Check | None) -> Launchers:
        first = self.state({})
        unread = list(self.unread)
        launches = [self._launch(site, first, check) for site in first.sites]
        wanted = self._wanted(first, launches)
        if wanted:
            launches = self._decided(wanted, launches, check)
        return Launchers(
            file=self.name,
            launches=tuple(launches),
            seen=tuple(dict.fromkeys(Seen(item.place, item.what, item.kind) for item in first.sightings)),
            assumed=tuple(Assumption(place, what) for place, what in first.assumed),
            unread=tuple(unread),
        )

    def _wanted(self, state: State, launches: list[Launch]) -> list[Place]:
        """The conditions that holes come from, and those around launches that are started under them."""
        branches = [hole.place for launch in launches for hole in launch.holes if hole.reason is Reason.BRANCH]
        branches += [cause.place for cause in state.lost if cause.reason is Reason.BRANCH]
        known = list(dict.fromkeys(place for place in branches if place in state.wanted))
        return known[:OPEN]

    def _decided(self, wanted: list[Place], before: list[Launch], check: Check | None) -> list[Launch]:
        """The launches under every combination of decisions, those of one site together."""
        found: dict[tuple[object, ...], list[Launch]] = {}
        turns = [
            dict(zip(wanted, choice, strict=True)) for choice in itertools.product((True, False), repeat=len(wanted))
        ]
        for decisions in turns:
            state = self.state(decisions)
            for site in state.sites:
                launch = self._launch(site, state, check, decisions)
                found.setdefault((launch.place, site.turn, launch.started), []).append(launch)
        merged = [_together(group, turns=len(turns)) for group in found.values()]
        return merged or before

    def _elsewhere(self, jobs: Sequence[LauncherJob]) -> Iterator[str]:
        """A source that does not lie where SDK v2 would look for it."""
        for job in jobs:
            if job.folder is not None and job.folder != self.folders[0] and job.spec.script is not None:
                yield (
                    f"source_dir {job.spec.script.source_dir!r} is taken from {job.folder}; SDK v2 looks for it in the folder "
                    f"where the launcher is started, and {self.folders[0]} has none"
                )

    def _launch(
        self, site: Site, state: State, check: Check | None, decisions: Mapping[Place, bool] | None = None
    ) -> Launch:
        read = request_of(site, self.region, self.words, chosen=self.chosen)
        holes = tuple(
            Unresolved(c.place, c.expression, c.reason, c.give, c.detail) for c in read.ledger.causes.values()
        )
        jobs: tuple[LauncherJob, ...] = ()
        ending = _ending(site)
        if ending is Ending.LOCAL:
            holes = ()
        elif read.request is not None:
            try:
                spec = specs.spec_of(read)
                branch = tuple(
                    (state.wanted.get(place, _line(self.code, place)), taken)
                    for place, taken in (decisions or {}).items()
                )
                folder = _folder(spec, self.folders)
                problems = tuple(check(spec.replace(script=placed(spec.script, folder)))) if check is not None else ()
                jobs = (
                    LauncherJob(
                        spec=spec,
                        request=read.request,
                        at=read.at,
                        branch=branch,
                        wait=_waits(site),
                        problems=problems,
                        folder=folder,
                    ),
                )
            except (SmTrnError, ValueError, TypeError) as error:
                holes = (Unresolved(site.place, f"{site.cls}(…)", Reason.REFUSED, "", str(error)[:200]),)
        placeholders = tuple(
            sorted(symbol.value for symbol in read.ledger.placeholders if symbol.value not in self.given)
        )
        remarks = (*read.ledger.remarks, *_renamed(site), *self._elsewhere(jobs))
        return Launch(
            place=site.place, cls=site.cls, ending=ending, jobs=jobs, holes=holes, placeholders=placeholders, remarks=remarks,
            within=site.within or pipeline_session(site), started=site.fit.place if site.fit else None,
        )  # fmt: skip


def _folder(spec: JobSpec, folders: Sequence[Path]) -> Path | None:
    """The folder that the script's relative path is meant from: the first that has the script, or its source folder."""
    script = spec.script
    if not folders or script is None or not _relative(script):
        return None
    source = str(script.source_dir)
    have = [folder for folder in folders if (folder / source / script.entry).is_file()]
    have += [folder for folder in folders if (folder / source).is_dir()]
    return have[0] if have else folders[-1]


def _relative(script: Script) -> bool:
    return script.git is None and script.source_dir is not None and not script.source_dir.startswith(("s3://", "/"))


def placed(script: Script | None, folder: Path | None) -> Script | None:
    """The script with its source where it lies: a relative path is meant from ``folder``."""
    if folder is None or script is None or not _relative(script):
        return script
    return script.moved(lambda path: str(folder / path))


def _line(code: list[Cell], place: Place) -> str:
    """The text of a condition's line."""
    for cell in code:
        if cell.number == place.cell:
            lines = cell.raw.split("\n")
            return lines[place.line - 1].strip().removeprefix("if ").rstrip(":") if place.line <= len(lines) else ""
    return ""


def _renamed(site: Site) -> Iterator[str]:
    if site.renamed:
        yield f"names of SDK version 1: {', '.join(site.renamed)}"


def _ending(site: Site) -> Ending:
    kind = site.arguments.get("instance_type")
    session = site.arguments.get("sagemaker_session")
    inner = getattr(session, "arguments", {}) if session is not None else {}
    if kind in LOCAL or str(inner.get("kind", "")).startswith("Local"):
        return Ending.LOCAL
    if site.within or pipeline_session(site):
        return Ending.HANDED
    return Ending.JOB if site.fit is not None else Ending.UNUSED


def _waits(site: Site) -> bool:
    value = site.fit.arguments.get("wait", True) if site.fit is not None else True
    return value is not False


def _together(group: list[Launch], *, turns: int) -> Launch:
    """One launch of what several decisions gave: its different jobs, each named by the decisions that make it."""
    whole = len(group)
    group = _running(group)
    turns -= whole - len(group)
    first = group[0]
    jobs: list[LauncherJob] = []
    for launch in group:
        jobs += [job for job in launch.jobs if all(job.request != other.request for other in jobs)]
    if len(jobs) == 1 and len(group) == turns and all(launch.jobs for launch in group):
        jobs = [_unbranched(jobs[0])]
    holes = tuple(dict.fromkeys(hole for launch in group for hole in launch.holes))
    placeholders = tuple(sorted({word for launch in group for word in launch.placeholders}))
    return Launch(
        place=first.place, cls=first.cls, ending=first.ending, jobs=tuple(jobs), holes=holes, placeholders=placeholders,
        remarks=first.remarks, within=first.within, started=first.started,
    )  # fmt: skip


def _running(group: list[Launch]) -> list[Launch]:
    """Without the readings in which a name is never defined that another reading defines: such a program ends before its launch."""
    lacking = [{hole for hole in launch.holes if hole.reason is Reason.UNDEFINED} for launch in group]
    always = set.intersection(*lacking) if lacking else set()
    return [launch for launch, holes in zip(group, lacking, strict=True) if holes <= always] or group


def _unbranched(job: LauncherJob) -> LauncherJob:
    return dataclasses.replace(job, branch=())


__all__ = ["Launchers", "Reading", "read_launchers", "read_text", "siblings"]
