"""A launcher with its launching statements written for SDK v3, and every other byte as it was.

Statements are replaced by whole lines. A notebook's file is written in the style in which it was found: its indent, its
escapes, its last newline, its line ends and its byte order mark.
"""

from __future__ import annotations

import ast
import dataclasses
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from ...core.errors import InvalidJob, SmTrnError, UnknownName
from ...core.formatting.numbers import counted
from ...core.render import EstimatorCall, render
from ...core.render.calls import Expression
from ...core.specs.destination import Destination
from .launches import Ending, Launch, LauncherJob, Launchers
from .leftovers import Leftover, leftovers, unused
from .uses import Code, Statement
from .values import Place

_BOM: Final = "\ufeff"


@dataclass(frozen=True, slots=True)
class Edit:
    """Lines ``first`` to ``last`` of a cell, counted from 1, and what stands there instead. ``cell`` None: a file of its own."""

    cell: int | None
    first: int
    last: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewritten:
    """The new text of a file, what was replaced in it for how many launches, which launches were left as they are, and why, and
    later uses of an estimator that stay, though its class is another one now. ``stops`` are names that SDK v3 does not have: with
    them the text runs under neither SDK.
    """

    text: str
    edits: tuple[Edit, ...]
    written: int
    left: tuple[tuple[Place, str], ...]
    later: tuple[tuple[Place, str], ...]
    stops: tuple[Leftover, ...] = ()


def rewritten(found: Launchers, text: str, given: Collection[str] = ()) -> Rewritten:
    """``text``, from which ``found`` was read, with each launch that can be said exactly written for ``ModelTrainer``.

    Raises SmTrnError for a notebook whose JSON is written in a style that cannot be kept.
    """
    code = Code(text, found.file)
    edits: list[Edit] = []
    left: dict[Place, str] = {}
    later: list[tuple[Place, str]] = []
    often = Counter(launch.place for launch in found.launches)
    for launch in found.launches:
        reason = _unfit(launch, given, several=often[launch.place] > 1)
        made = reason or _edits(launch, code)
        if isinstance(made, str):
            left[launch.place] = made
        else:
            edits += made[0]
            later += made[1]
    new = applied(text, found.file, edits)
    if edits:  # what only the old calls have imported goes with them
        gone = [Edit(cell, first, last, ()) for cell, first, last in unused(new, found.file)]
        new = applied(new, found.file, gone)
    return Rewritten(
        text=new, edits=tuple(edits), written=len(often) - len(left), left=tuple(left.items()), later=tuple(later),
        stops=tuple(_stops(text, new, edits, found.file)) if edits else (),
    )  # fmt: skip


def _stops(old: str, new: str, edits: Iterable[Edit], name: str) -> Iterator[Leftover]:
    """What of SDK v2 alone is left in the new text, where it stands in the old one."""
    left = {each.name for each in leftovers(new, name)}
    gone = {(edit.cell, line) for edit in edits for line in range(edit.first, edit.last + 1)}
    for each in leftovers(old, name):
        if each.name in left and (each.place.cell, each.place.line) not in gone:
            yield each


def _unfit(launch: Launch, given: Collection[str], *, several: bool) -> str:
    """Why a launch is left as it is; '' where it is not."""
    if launch.holes:
        return f"it has {counted(len(launch.holes), 'hole')}"
    if launch.ending is Ending.HANDED:
        return f"{launch.within} starts it"
    if launch.ending is not Ending.JOB:
        return "it is never started here" if launch.ending is Ending.UNUSED else "it runs in local mode, no job is sent"
    if several or len(launch.jobs) != 1:
        return "it makes several jobs"
    job = launch.jobs[0]
    wanted = [word for word in launch.placeholders if word not in {"role", "region"}]
    wanted += ["bucket"] * (job.at.bucket == Destination().bucket)
    wanted += ["region"] * (job.spec.image_uri is None)  # the image is another one in another region
    lacking = list(dict.fromkeys(word for word in wanted if word not in given))
    return f"v3 needs {' and '.join(lacking)}: --set {lacking[0]}=…" if lacking else ""


def _edits(launch: Launch, code: Code) -> tuple[list[Edit], list[tuple[Place, str]]] | str:
    """The edits of one launch, and the later uses of its estimator; or why there are none."""
    made, started = code.statement(launch.place), code.statement(launch.started)
    if made is None or started is None:
        return "its statements do not stand alone on their lines"
    if made.repeated() or started.repeated():
        return made.repeated() or started.repeated()
    call = made.node.value if isinstance(made.node, ast.Assign) else None
    target = made.node.targets[0] if isinstance(made.node, ast.Assign) and len(made.node.targets) == 1 else None
    if not isinstance(call, ast.Call) or not isinstance(target, ast.Name) or not _calls(started.node, target.id, "fit"):
        return "it is not assigned to a name whose fit is called"
    settings = _between(made, started, target.id, code)
    if isinstance(settings, str):
        return settings
    try:
        written = _call(launch.jobs[0], call)
    except (InvalidJob, UnknownName) as error:
        problems = getattr(error, "problems", ())
        return f"ModelTrainer cannot say it: {problems[0].what if problems else error}"
    imports, construct, start = written.statements(target.id)
    if "YOUR-ROLE" in construct:
        return "v3 needs role: --set role=…"
    new = [(made, f"{imports}\n{construct}"), (started, start), *((each, None) for each in settings)]
    edits = [
        Edit(code.place(each.begins).cell, *each.lines, () if text is None else _indented(text, each.node.col_offset))
        for each, text in new
    ]
    return edits, _later(started, target.id, code)


def _between(made: Statement, started: Statement, name: str, code: Code) -> list[Statement] | str:
    """What sets hyperparameters between the two, and goes: the new call has them. Or why another use is in the way."""
    found: list[Statement] = []
    for use in code.uses(name, made):
        if not made.ends < use.position < started.begins:
            continue
        each = code.statement(code.place(use.position))
        if each is None or each.above != made.above or not _calls(each.node, name, "set_hyperparameters"):
            return (
                f"{name}{'.' * bool(use.attribute)}{use.attribute} is used before its fit, {code.place(use.position)}"
            )
        found.append(each)
    return found


def _later(started: Statement, name: str, code: Code) -> list[tuple[Place, str]]:
    """Uses after the start, up to where the name becomes something else; each attribute once."""
    found: dict[str, Place] = {}
    for use in code.uses(name, started):
        if use.position > started.ends:
            if use.stored:
                break
            found.setdefault(f"{name}.{use.attribute}" if use.attribute else name, code.place(use.position))
    return [(place, used) for used, place in found.items()]


def _call(job: LauncherJob, call: ast.Call) -> EstimatorCall:
    """The ModelTrainer call; the role stays the program's own expression. What only v2 has by default is left out."""
    spec = job.spec.replace(profiler=False, debugger=False)
    spec = spec.replace(
        kept=tuple(part for part in spec.kept if not part.at.startswith(("/ProfilerConfig", "/DebugHookConfig")))
    )
    at = Destination(role=job.at.role, region=job.at.region, bucket=job.at.bucket)
    made: EstimatorCall = render(spec, "model-trainer-v3", at=at)
    own = next((keyword.value for keyword in call.keywords if keyword.arg == "role"), None)
    kwargs: Mapping[str, Any] = {**made.kwargs, **({"role": Expression(ast.unparse(own))} if own is not None else {})}
    return dataclasses.replace(
        made, kwargs=MappingProxyType(dict(kwargs)), fit=MappingProxyType({**made.fit, "wait": job.wait})
    )


def _calls(node: ast.stmt, name: str, method: str) -> bool:
    """Whether the statement is a call of this method of the name, and nothing else."""
    call = node.value if isinstance(node, ast.Expr) else None
    function = call.func if isinstance(call, ast.Call) else None
    return (
        isinstance(function, ast.Attribute)
        and function.attr == method
        and isinstance(function.value, ast.Name)
        and function.value.id == name
    )


def _indented(text: str, columns: int) -> tuple[str, ...]:
    return tuple(f"{' ' * columns}{line}" if line else line for line in text.split("\n"))


def applied(text: str, name: str, edits: Iterable[Edit]) -> str:
    """``text`` with the edits, and every other byte as it was. Raises SmTrnError for a notebook in a style that cannot be kept."""
    wanted = list(edits)
    if not wanted:
        return text
    if not name.endswith(".ipynb"):
        mark = _BOM if text.startswith(_BOM) else ""
        return mark + _spliced(text.removeprefix(_BOM), wanted)
    return _notebook(text, name, wanted)


def _spliced(text: str, edits: list[Edit]) -> str:
    lines = text.split("\n")
    for edit in sorted(edits, key=lambda edit: edit.first, reverse=True):
        end = "\r" if lines[edit.last - 1].endswith("\r") else ""
        lines[edit.first - 1 : edit.last] = [line + end for line in edit.lines]
    return "\n".join(lines)


def _notebook(text: str, name: str, edits: list[Edit]) -> str:
    style = _style(text)
    if style is None:
        raise SmTrnError(
            f"{name}: got JSON in a style that cannot be kept byte for byte, wanted that of Jupyter; nothing was written"
        )
    tree = json.loads(text.removeprefix(_BOM))
    code = [cell for cell in tree["cells"] if cell.get("cell_type") == "code"]
    for number in {edit.cell for edit in edits if edit.cell is not None}:
        cell = code[number - 1]
        listed = isinstance(cell["source"], list)
        new = _spliced(
            "".join(cell["source"]) if listed else cell["source"], [edit for edit in edits if edit.cell == number]
        )
        cell["source"] = new.splitlines(keepends=True) if listed else new
    return style.written(tree)


@dataclass(frozen=True, slots=True)
class _Style:
    indent: int | None
    ascii_only: bool
    end: str
    crlf: bool
    mark: str

    def written(self, tree: object) -> str:
        body = json.dumps(tree, indent=self.indent, ensure_ascii=self.ascii_only) + self.end
        return self.mark + (body.replace("\n", "\r\n") if self.crlf else body)


def _style(text: str) -> _Style | None:
    """How the file is written, found by writing it again."""
    try:
        tree = json.loads(text.removeprefix(_BOM))
    except (ValueError, RecursionError):
        return None
    mark = _BOM if text.startswith(_BOM) else ""
    styles = (
        _Style(indent, plain, end, crlf, mark)
        for indent in (1, 2, 4, None)
        for plain in (False, True)
        for end in ("\n", "")
        for crlf in (False, True)
    )
    return next((style for style in styles if style.written(tree) == text), None)
