"""A launcher with its launching statements written for SDK v3, and every other byte as it was.

Statements are replaced by whole lines. A notebook's file is written in the style in which it was found: its indent, its
escapes, its last newline, its line ends and its byte order mark.
"""

from __future__ import annotations

import ast
import dataclasses
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from ..errors import InvalidJob, SmTrnError, UnknownName
from ..formatting.numbers import counted
from ..render import EstimatorCall, render
from ..render.calls import Expression
from ..specs.destination import Destination
from .launches import Ending, Launch, LauncherJob, Launchers
from .source import Unread, cells, parsed
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
    """The new text of a file, what was replaced, and which launches were left as they are, and why."""

    text: str
    edits: tuple[Edit, ...]
    left: tuple[tuple[Place, str], ...]


def rewritten(found: Launchers, text: str, given: Collection[str] = ()) -> Rewritten:
    """``text``, from which ``found`` was read, with each launch that can be said exactly written for ``ModelTrainer``.

    Raises SmTrnError for a notebook whose JSON is written in a style that cannot be kept.
    """
    edits: list[Edit] = []
    left: list[tuple[Place, str]] = []
    for launch in found.launches:
        reason = _unfit(launch, given)
        made = reason or _edits(launch, text, found.file)
        if isinstance(made, str):
            left.append((launch.place, made))
        else:
            edits += made
    return Rewritten(text=applied(text, found.file, edits), edits=tuple(edits), left=tuple(left))


def _unfit(launch: Launch, given: Collection[str]) -> str:
    """Why a launch is left as it is; '' where it is not."""
    if launch.holes:
        return f"it has {counted(len(launch.holes), 'hole')}"
    if launch.ending is not Ending.JOB or len(launch.jobs) != 1:
        return "it starts no job of its own" if launch.ending is not Ending.JOB else "it makes several jobs"
    job = launch.jobs[0]
    wanted = [word for word in launch.placeholders if word != "role"]
    wanted += ["bucket"] * (job.at.bucket == Destination().bucket)
    wanted += ["region"] * (job.spec.image_uri is None)  # the image is another one in another region
    lacking = list(dict.fromkeys(word for word in wanted if word not in given))
    return f"v3 needs {' and '.join(lacking)}: --set {lacking[0]}=…" if lacking else ""


def _edits(launch: Launch, text: str, name: str) -> list[Edit] | str:
    """The edits of one launch, or why there are none."""
    made, started = _statement(text, name, launch.place), _statement(text, name, launch.started)
    if made is None or started is None:
        return "its statements do not stand alone on their lines"
    (made_node, made_lines), (started_node, started_lines) = made, started
    call = made_node.value if isinstance(made_node, ast.Assign) else None
    target = made_node.targets[0] if isinstance(made_node, ast.Assign) and len(made_node.targets) == 1 else None
    if not isinstance(call, ast.Call) or not isinstance(target, ast.Name) or not _is_fit(started_node, target.id):
        return "it is not assigned to a name whose fit is called"
    try:
        written = _call(launch.jobs[0], call)
    except (InvalidJob, UnknownName) as error:
        problems = getattr(error, "problems", ())
        return f"ModelTrainer cannot say it: {problems[0].what if problems else error}"
    imports, construct, start = written.statements(target.id)
    cell = launch.place.cell
    return [
        Edit(cell, *made_lines, _indented(f"{imports}\n{construct}", made_node.col_offset)),
        Edit(
            launch.started.cell if launch.started else cell, *started_lines, _indented(start, started_node.col_offset)
        ),
    ]


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


def _is_fit(node: ast.stmt, name: str) -> bool:
    call = node.value if isinstance(node, ast.Expr) else None
    function = call.func if isinstance(call, ast.Call) else None
    return (
        isinstance(function, ast.Attribute)
        and function.attr == "fit"
        and isinstance(function.value, ast.Name)
        and function.value.id == name
    )


def _statement(text: str, name: str, place: Place | None) -> tuple[ast.stmt, tuple[int, int]] | None:
    """The statement at a place and its lines, where nothing else stands on them."""
    if place is None or place.file != name:
        return None
    code = next((cell for cell in cells(name, text.replace("\r\n", "\n")) if cell.number == place.cell), None)
    tree = parsed(code) if code is not None else None
    if code is None or tree is None or isinstance(tree, Unread):
        return None
    lines = code.raw.split("\n")
    for node in ast.walk(tree):
        if isinstance(node, (ast.Assign, ast.Expr)) and node.lineno <= place.line <= (node.end_lineno or node.lineno):
            first, last = node.lineno, node.end_lineno or node.lineno
            before = lines[first - 1].encode()[: node.col_offset]
            after = lines[last - 1].encode()[node.end_col_offset or 0 :].strip()
            return (node, (first, last)) if not before.strip() and not after else None
    return None


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
