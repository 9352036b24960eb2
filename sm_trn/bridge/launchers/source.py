"""The code of a launcher: cells of a notebook, or one file. Magics are masked by statements of the same width.

Reads text, knows nothing of what the code means, and executes none of it.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

from ...core.errors import SmTrnError

SIZE_CAP: Final = 20_000_000  # characters of a file
CELL_CAP: Final = 1_000_000  # characters of a cell that is parsed
MAGIC: Final = "_magic_"  # a call of it stands for a line magic that brings names
SHELL: Final = "_shell_output_"  # stands for `!command` on the right of an assignment
SHELL_ACCOUNT: Final = "_shell_account_"  # stands for a command that tells the account
SHELL_REGION: Final = "_shell_region_"
KEEPS_BODY: Final = frozenset({"time", "timeit", "capture", "prun"})
_MAGIC = re.compile(r"^(?P<indent>[ \t]*)(?P<mark>[!%?]|.*\?\s*$)")
_ASSIGNED = re.compile(r"^(?P<indent>[ \t]*)(?P<target>[A-Za-z_][\w, ]*?)\s*=\s*[!%](?P<command>.*)$")
_TOLD: Final = (
    (re.compile(r"^\(?\s*aws sts get-caller-identity\b.*--query\s+['\"]?Account\b.*--output text"), SHELL_ACCOUNT),
    (re.compile(r"^\(?\s*aws configure get region\s*\)?\s*$"), SHELL_REGION),
)
_LINE_MAGIC = re.compile(r"^%(?P<line>(run|store|env|set_env|pylab)\b.*)$")
_LOOSE = re.compile(r"^[ \t]*(pip3?|conda|apt-get|apt|aws|git|wget|curl|cd|ls|mkdir|rm|cp|mv|docker)[ \t]+[-\w./~]")


@dataclass(frozen=True, slots=True)
class Cell:
    """Code that is parsed as one. ``code`` has the lines and columns of ``raw``; ``number`` None is a file that is no notebook."""

    number: int | None
    raw: str
    code: str
    kept: tuple[str, ...] = ()  # magics that were masked


@dataclass(frozen=True, slots=True)
class Unread:
    """A cell, or a part of a file, that cannot be parsed, and why."""

    cell: int | None
    line: int
    why: str


def cells(name: str, text: str) -> list[Cell]:
    """The code of a file: a notebook's code cells in their order, or the whole file as one. Raises SmTrnError for what is neither."""
    if len(text) > SIZE_CAP:
        raise SmTrnError(f"{name}: got {len(text):,} characters, wanted at most {SIZE_CAP:,}")
    if PurePath(name).suffix != ".ipynb":
        raw = text.removeprefix("\ufeff")
        return [Cell(None, raw, *masked(raw))]
    return list(_of_notebook(name, text))


def _of_notebook(name: str, text: str) -> Iterator[Cell]:
    for number, raw in enumerate(notebook_sources(name, text), start=1):
        yield Cell(number, raw, *masked(raw))


def notebook_sources(name: str, text: str) -> list[str]:
    """The text of each code cell. Raises SmTrnError for what is no notebook of format 4 or 3."""
    try:
        tree = json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, ValueError) else "nested too deeply"
        raise SmTrnError(f"{name}: got no JSON ({reason[:80]}), wanted a notebook") from None
    found = []
    for cell in _cells(tree):
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            source = cell.get("source", cell.get("input", ""))
            lines = source if isinstance(source, list) else [source]
            found.append("".join(line for line in lines if isinstance(line, str)))
    return found


def _cells(tree: object) -> list[object]:
    if isinstance(tree, dict):
        if isinstance(tree.get("cells"), list):
            return list(tree["cells"])
        if isinstance(tree.get("worksheets"), list):
            return [cell for sheet in tree["worksheets"] if isinstance(sheet, dict) for cell in sheet.get("cells", [])]
    return []


def masked(raw: str) -> tuple[str, tuple[str, ...]]:
    """Code with each magic and shell line replaced by a statement of its width, and those lines."""
    lines, kept = raw.split("\n"), []
    first = next((index for index, line in enumerate(lines) if line.strip()), None)
    if first is not None and lines[first].lstrip().startswith("%%"):
        word = re.split(r"\W", lines[first].lstrip()[2:], maxsplit=1)[0]
        kept.append(lines[first])
        if word not in KEEPS_BODY:
            return "\n".join(" " * 0 for _ in lines), tuple(kept)
        lines[first] = ""
    index, quoted = 0, False
    while index < len(lines):
        line = lines[index]
        if not quoted and (replaced := _without_magic(line)) is not None:
            kept.append(line)
            while lines[index].rstrip().endswith("\\") and index + 1 < len(lines):
                index += 1
                lines[index - 1], line = replaced, lines[index]
                replaced = ""
            lines[index] = replaced
        elif '"""' in line or "'''" in line:
            quoted ^= (line.count('"""') + line.count("'''")) % 2 == 1
        index += 1
    return "\n".join(lines), tuple(kept)


def _without_magic(line: str) -> str | None:
    """The line without its magic; None where there is none."""
    assigned = _ASSIGNED.match(line)
    if assigned:
        told = next((word for pattern, word in _TOLD if pattern.search(assigned["command"])), SHELL)
        return f"{assigned['indent']}{assigned['target']} = {told}"
    found = _MAGIC.match(line)
    stripped = line.strip()
    if found and stripped and not stripped.startswith("#") and (stripped[0] in "!%?" or _is_help(stripped)):
        line_magic = _LINE_MAGIC.match(stripped)
        return f"{found['indent']}{MAGIC}({line_magic['line']!r})" if line_magic else f"{found['indent']}pass"
    return (
        f"{line[: len(line) - len(line.lstrip())]}pass"
        if _LOOSE.match(line) and "=" not in line.split(" ")[0:2]
        else None
    )


def _is_help(stripped: str) -> bool:
    return bool(re.fullmatch(r"[\w.]+\?{1,2}", stripped))


def parsed(cell: Cell) -> ast.Module | Unread:
    """The tree of a cell, or why it has none."""
    if len(cell.code) > CELL_CAP:
        return Unread(cell.number, 1, f"{len(cell.code):,} characters; at most {CELL_CAP:,} are read")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(cell.code)
    except SyntaxError as error:
        return Unread(cell.number, error.lineno or 1, f"no Python 3: {error.msg}")
    except (ValueError, RecursionError, MemoryError) as error:
        return Unread(cell.number, 1, f"no Python 3: {str(error) or type(error).__name__}")
