"""Launchers read without running: from a file to its launches, under every decision that its conditions leave open."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import itertools
import posixpath
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from ...core.errors import SmTrnError
from ...core.render.service_job import parse_queue
from ...core.specs.destination import Destination
from ...core.specs.job import JobSpec, Script
from ...core.specs.problems import Problem
from .. import sdk
from . import specs
from .language.state import STEPS, Condition, Settings, Site
from .language.statements import Statements
from .launches import Assumption, Ending, Launch, LauncherJob, Launchers
from .requests import Read, pipeline_session, request_of, search_of
from .sites import Written, written
from .source import MAGIC, Cell, Unread, cells, parsed
from .sweeps import Search, sweep_of
from .values import ExhaustedError, Given, Marks, Needs, Place, Raised, Reason, Symbol, Unknown, Unresolved, merged

MOST_STEPS: Final = 4 * STEPS  # of all readings, before no further one is begun
READINGS: Final = 16  # of one file, by the conditions that it leaves open
SIBLINGS: Final = 200  # modules beside a launcher that are looked at
_WORDS: Final = {symbol.value for symbol in Symbol}

Check = Callable[[JobSpec], Iterable[Problem]]


def read_launchers(
    path: str | Path, *, given: Mapping[str, object] | None = None, region: str = "", check: Check | None = None, call: str = "",
) -> Launchers:  # fmt: skip
    """The launches of a ``.py`` or ``.ipynb`` file, read and never run: not a line of it is executed.

    ``given`` maps names to values that the code leaves open: its own variables, arguments of its command line, and the
    placeholders ``role``, ``bucket``, ``account`` and ``region``. With ``check`` every job has its problems. ``call`` names a function
    that is read as if the launcher called it at its end, its parameters as ``given`` or as their defaults say.
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
        text, source.name, given=given, region=region, modules=siblings(source), check=check, folders=folders, call=call
    )


def read_text(
    text: str, name: str, *, given: Mapping[str, object] | None = None, region: str = "",
    modules: Mapping[str, str] | None = None, check: Check | None = None, folders: Sequence[Path] = (), call: str = "",
) -> Launchers:  # fmt: skip
    """``read_launchers`` of a text; ``modules`` maps dotted names of modules beside it to their text. Its relative paths are
    looked for in ``folders``, the one first in which it would be started."""
    code = cells(name, text.replace("\r\n", "\n"))
    chosen = region or str((given or {}).get("region") or "")
    settings = Settings(
        file=name, region=chosen or Destination().region, given=Given(given or {}), modules=modules or {},
        folders=tuple(dict.fromkeys(folders)), sdk=sdk.SHARED, call=call,
    )  # fmt: skip
    return Reading(settings, code, text).launchers(check)


def _modules(folder: Path) -> Iterator[Path]:
    for pattern in ("*.py", "*/*.py", "*/*/*.py"):
        with contextlib.suppress(OSError):  # a folder may go while it is looked into
            yield from folder.glob(pattern)


def _text(module: Path) -> str | None:
    """None for what is no file, is very large, or has gone."""
    try:
        small = module.is_file() and module.stat().st_size <= 500_000
        return module.read_text("utf-8", errors="replace") if small else None
    except OSError:
        return None


def siblings(path: Path) -> dict[str, str]:
    """The modules that a launcher could import from its own folder, by dotted name."""
    found: dict[str, str] = {}
    folder = path.parent
    for candidate in itertools.islice(_modules(folder), SIBLINGS):
        text = _text(candidate)
        if candidate == path or text is None:
            continue
        parts = candidate.relative_to(folder).with_suffix("").parts
        dotted = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[dotted] = text
    names = Counter(dotted.partition(".")[2] or dotted for dotted in found)
    for dotted in list(
        found
    ):  # folders that a launcher puts on its path: of two modules of one name nobody knows which is meant
        inner = dotted.partition(".")[2]
        if inner and names[inner] == 1:
            found.setdefault(inner, found[dotted])
    return found


class Reading:
    """One file, read as often as its open conditions ask for."""

    def __init__(self, settings: Settings, code: list[Cell], text: str) -> None:
        self.settings, self.code, self.text = settings, code, text
        self.name, self.given, self.folders = settings.file, settings.given, settings.folders
        self.trees = [(cell, parsed(cell)) for cell in code]

    def state(self, decisions: Mapping[Condition, bool]) -> Statements:
        """Read every cell once, under these decisions."""
        state = Statements(self.settings, decisions, Marks(self.text))
        state.prepare()
        try:
            self._cells(state)
            if self.settings.call:
                self._called(state)
        except ExhaustedError:
            why = "the file needs more steps than a reading takes; what follows is not read"
            state.unread.append((Place(self.name, state.main.cell, 1), why))
        return state

    def _cells(self, state: Statements) -> None:
        for cell, tree in self.trees:
            state.main.cell = cell.number
            if isinstance(tree, Unread):
                state.unread.append((Place(self.name, tree.cell, tree.line), tree.why))
                continue
            if cell.number is None:
                state.main.names["__doc__"] = ast.get_docstring(tree, clean=False)
            state.scan(tree)
            state.written_files.update(posixpath.normpath(word) for line in cell.kept for word in line.split())
            for statement in tree.body:
                if not self._statement(state, statement):
                    break

    def _statement(self, state: Statements, statement: ast.stmt) -> bool:
        """Read one statement, and whether the next one follows; of one that is nested too deeply only the names that it assigns are
        taken, as unknown."""
        place = Place(self.name, state.main.cell, statement.lineno)
        try:
            if _is_magic(statement):
                state.magic(statement, ast.literal_eval(statement.value.args[0]))  # type: ignore[attr-defined]  # _is_magic has looked
            else:
                state.block([statement])
        except Raised as raised:
            error = raised.error
            if not isinstance(error, SystemExit):
                state.unread.append(
                    (place, f"it raises {type(error).__name__}: {str(error)[:80]}; what follows is not reached")
                )
            return False
        except RecursionError:
            self._too_deep(state, statement, place)
        except Needs as needs:
            state.taint(*needs.causes)
        return True

    def _too_deep(self, state: Statements, statement: ast.stmt, place: Place) -> None:
        state.scopes[:] = [state.main]
        state.unread.append((place, "nested too deeply to be followed"))
        cause = Unresolved(Reason.CONSTRUCT, place, "…", detail="nested too deeply to be followed")
        for inner in ast.walk(statement):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                state.main.names[inner.id] = Unknown((dataclasses.replace(cause, give=inner.id),))
        state.taint(cause)

    def _called(self, state: Statements) -> None:
        """Read the function that the user names as if the launcher called it."""
        function = state.defined.get(self.settings.call.rpartition(".")[2])
        if function is None:
            raise SmTrnError(
                f"--call: got {self.settings.call!r}, wanted one of {', '.join(state.defined) or 'no function: the file has none'}"
            )
        wanted = function.node.args
        names: dict[str, object] = {}
        for parameter in (*wanted.posonlyargs, *wanted.args, *wanted.kwonlyargs):
            if parameter.arg in self.given:
                names[parameter.arg] = self.given[parameter.arg]
            elif parameter.arg not in function.defaults:
                names[parameter.arg] = state.unknown(parameter, Reason.UNDEFINED, give=parameter.arg)
        places = [names.pop(each.arg) for each in wanted.posonlyargs if each.arg in names]
        try:
            state.run(function.node, function, places, names)
        except Raised as raised:
            place = Place(self.name, function.cell, function.node.lineno)
            state.unread.append(
                (place, f"{self.settings.call} raises {type(raised.error).__name__}: {str(raised.error)[:80]}")
            )
        except Needs as needs:
            state.taint(*needs.causes)

    def launchers(self, check: Check | None) -> Launchers:
        readings = list(self._readings(check))
        first = readings[0][0]
        groups: dict[tuple[object, ...], list[Launch]] = {}
        for state, launches in readings:
            for site, launch in zip(state.sites, launches, strict=True):
                groups.setdefault((launch.place, site.turn, launch.started), []).append(launch)
        together = [_together(group, turns=len(readings)) for group in groups.values()]
        tuners = {site.search.place for site in first.sites if site.search is not None}
        sightings = [item for item in first.sightings if item.place not in tuners]
        return Launchers(
            file=self.name,
            launches=(*together, *self._unreached(together, [state for state, _ in readings])),
            seen=tuple(dict.fromkeys(sightings)),
            assumed=tuple(Assumption(place, what) for place, what in first.assumed),
            unread=tuple(first.unread),
        )

    def _readings(self, check: Check | None) -> Iterator[tuple[Statements, list[Launch]]]:
        """The file read under each combination of decisions about the conditions that its launches depend on."""
        todo: list[dict[Condition, bool]] = [{}]
        count = spent = 0
        while todo:
            decisions = todo.pop(0)
            state = self.state(decisions)
            spent += STEPS - state.steps
            launches = [self._launch(site, state, check, decisions) for site in state.sites]
            condition = self._open(state, launches, decisions)
            if condition is not None and count + len(todo) + 2 <= READINGS and spent < MOST_STEPS:
                todo += [{**decisions, condition: True}, {**decisions, condition: False}]
            else:
                count += 1
                yield state, launches

    def _open(self, state: Statements, launches: list[Launch], decisions: Mapping[Condition, bool]) -> Condition | None:
        """The first condition that is open, and that a launch depends on."""
        holes = [hole for launch in (*launches, *self._unreached(launches, [state])) for hole in launch.holes]
        places = {hole.place for hole in holes if hole.reason is Reason.BRANCH}
        return next((each for each in state.wanted if each[0] in places and each not in decisions), None)

    def _unreached(self, launches: Sequence[Launch], states: Sequence[Statements]) -> Iterator[Launch]:
        """The launches that stand in the file, and that no reading has come to: what kept one of them from it, or the way there."""
        reached = {launch.place for launch in launches} | {launch.started for launch in launches}
        for site in written(self.name, self.trees):
            if site.place not in reached:
                holes = next((state.skipped[site.place] for state in states if site.place in state.skipped), ())
                called = site.caller or ".".join(site.within)
                way = Unresolved(
                    Reason.UNREACHED, site.place, f"{site.cls}(…)", detail=_way_to(site, called), call=called
                )
                yield Launch(place=site.place, cls=site.cls, ending=Ending.UNREACHED, holes=holes or (way,))

    def _elsewhere(self, jobs: Sequence[LauncherJob]) -> Iterator[str]:
        """A source that does not lie where SDK v2 would look for it."""
        for job in jobs:
            script, folder = job.spec.script, job.folder
            if script is None or folder is None or folder == self.folders[0]:
                continue
            if (folder / str(script.source_dir)).is_dir():
                yield (
                    f"source_dir {script.source_dir!r} is taken from {folder}; SDK v2 looks for it in the folder "
                    f"where the launcher is started, and {self.folders[0]} has none"
                )

    def _written_later(self, jobs: Sequence[LauncherJob]) -> Iterator[str]:
        """A script that a cell of the notebook writes, and that is not there yet."""
        magics = [(line.split(), cell.number) for cell in self.code for line in cell.kept]
        cells = {posixpath.normpath(words[-1]): number for words, number in magics if words[0] == "%%writefile"}
        for job in jobs:
            script = job.spec.script
            if script is None:
                continue
            place = posixpath.normpath(posixpath.join(script.source_dir or "", script.entry))
            if place in cells and not any((folder / place).is_file() for folder in self.folders):
                yield f"cell {cells[place]} writes {place}, which is not there yet: run that cell, and import again"

    def _launch(
        self, site: Site, state: Statements, check: Check | None, decisions: Mapping[Condition, bool]
    ) -> Launch:
        read = _asked(state, site)
        again = [
            cause for place in (site.place, site.started) if place is not None for cause in state.skipped.get(place, ())
        ]
        holes = merged([*read.causes, *again])
        jobs: tuple[LauncherJob, ...] = ()
        ending = Ending.LOCAL if read.local else _ending(site)
        if read.request is not None:
            try:
                jobs = (self._job(site, state, read, check, decisions),)
            except (SmTrnError, ValueError, TypeError) as error:
                refused = Unresolved(Reason.REFUSED, site.place, f"{site.cls}(…)", detail=str(error)[:200])
                holes = read.asked or (refused,)
        if site.search is not None and jobs:
            jobs, holes = self._searched(site.search, state, jobs[0], holes)
        used = read.placeholders | state.used
        words = {each.value if isinstance(each, Symbol) else each.give for each in used}
        placeholders = tuple(sorted(words - self.given.keys()))
        asked = merged(each for each in used if isinstance(each, Unresolved))
        return Launch(
            place=site.place, cls=site.cls, ending=ending, jobs=jobs, holes=holes, placeholders=placeholders, asked=asked,
            remarks=(*read.remarks, *self._elsewhere(jobs), *self._written_later(jobs)),
            within=site.within or pipeline_session(site), started=site.started,
        )  # fmt: skip

    def _searched(
        self, tuner: Site, state: Statements, job: LauncherJob, holes: tuple[Unresolved, ...]
    ) -> tuple[tuple[LauncherJob, ...], tuple[Unresolved, ...]]:
        """The job with the search that a tuner makes of it, and what keeps that from being known."""
        request, causes = search_of(state, tuner)
        holes += causes
        if request is None:
            return (job,), holes
        try:
            sweep = sweep_of(request, job.spec)
        except (SmTrnError, ValueError, TypeError, KeyError) as error:
            return (job,), (*holes, Unresolved(Reason.REFUSED, tuner.place, f"{tuner.cls}(…)", detail=str(error)[:200]))
        return (dataclasses.replace(job, search=Search(sweep=sweep, request=request)),), holes

    def _job(
        self, site: Site, state: Statements, read: Read, check: Check | None, decisions: Mapping[Condition, bool]
    ) -> LauncherJob:
        spec = specs.spec_of(read)
        if site.queue:
            spec = spec.replace(queue=parse_queue(site.queue))
        branch = tuple(
            (state.wanted.get(condition, _line(self.code, condition[0])), taken)
            for condition, taken in decisions.items()
        )
        folder = _folder(spec, self.folders)
        problems = tuple(check(spec.replace(script=placed(spec.script, folder)))) if check is not None else ()
        request = read.request or {}
        return LauncherJob(
            spec=spec, request=request, at=read.at, branch=branch, wait=site.wait, problems=problems, folder=folder
        )


def _asked(state: Statements, site: Site) -> Read:
    """What the SDK sends for a site, found out with as many steps as a reading has."""
    state.steps = STEPS
    try:
        return request_of(state, site)
    except ExhaustedError:
        why = "it needs more steps than a reading takes"
        return Read(causes=(Unresolved(Reason.CONSTRUCT, site.place, f"{site.cls}(…)", detail=why),))


def _way_to(site: Written, called: str) -> str:
    if len(site.within) > 1:  # in a class, or in a function of a function: reading does not come there
        return f"not reached by default: --run --call {called} runs it"
    if site.caller:
        return f"not reached by default: give --call {called}, or --set for what decides it"
    return "not reached by default: --run runs it, and --set gives what decides it"


def _is_magic(node: ast.stmt) -> bool:
    """Whether a statement stands for a line magic that brings names."""
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == MAGIC


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


def _ending(site: Site) -> Ending:
    if site.within or pipeline_session(site):
        return Ending.HANDED
    return Ending.JOB if site.started is not None else Ending.UNUSED


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
        jobs = [dataclasses.replace(jobs[0], branch=())]
    holes = tuple(dict.fromkeys(hole for launch in group for hole in launch.holes))
    placeholders = tuple(sorted({word for launch in group for word in launch.placeholders}))
    asked = tuple(dict.fromkeys(each for launch in group for each in launch.asked))
    return Launch(
        place=first.place, cls=first.cls, ending=first.ending, jobs=tuple(jobs), holes=holes, placeholders=placeholders, asked=asked,
        remarks=first.remarks, within=first.within, started=first.started,
    )  # fmt: skip


def _running(group: list[Launch]) -> list[Launch]:
    """Without the readings in which a name is never defined that another reading defines: such a program ends before its launch."""
    lacking = [{hole for hole in launch.holes if hole.reason is Reason.UNDEFINED} for launch in group]
    always = set.intersection(*lacking) if lacking else set()
    return [launch for launch, holes in zip(group, lacking, strict=True) if holes <= always] or group


__all__ = ["Launchers", "Reading", "read_launchers", "read_text", "siblings"]
