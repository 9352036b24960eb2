"""The code of a launcher: cells of a notebook, or one file. Magics are masked by statements of the same width."""

from __future__ import annotations

import ast
import json
import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ..core.errors import SmTrnError

SIZE_CAP: Final = 20_000_000  # characters of a file
MAGIC: Final = "_magic_"  # a call of it stands for a line magic that brings names
SHELL: Final = "_shell_output_"  # stands for `!command` on the right of an assignment
KEEPS_BODY: Final = frozenset({"time", "timeit", "capture", "prun"})
_MAGIC = re.compile(r"^(?P<indent>[ \t]*)(?P<mark>[!%?]|.*\?\s*$)")
_ASSIGNED = re.compile(r"^(?P<indent>[ \t]*)(?P<target>[A-Za-z_][\w, ]*?)\s*=\s*[!%](?P<command>.*)$")
_KNOWN_COMMANDS: Final = (
    (re.compile(r"^\(?\s*aws sts get-caller-identity\b.*--query\s+['\"]?Account\b.*--output text"), "_shell_account_"),
    (re.compile(r"^\(?\s*aws configure get region\s*\)?\s*$"), "_shell_region_"),
)
_LINE_MAGIC = re.compile(r"^%(?P<line>(run|store|env|set_env|pylab)\b.*)$")
_LOOSE = re.compile(r"^[ \t]*(pip3?|conda|apt-get|apt|aws|git|wget|curl|cd|ls|mkdir|rm|cp|mv|docker)[ \t]+[-\w./~]")


@dataclass(frozen=True, slots=True)
class Cell:
    """Code that is parsed as one. ``code`` has the lines of ``raw``; ``number`` 0 is a file that is no notebook."""

    number: int
    raw: str
    code: str


def read_cells(path: Path) -> list[Cell]:
    """Read a notebook's code cells in their order, or a whole file as one. Raises SmTrnError for what is neither."""
    try:
        text = path.read_text("utf-8-sig", errors="replace").replace("\r\n", "\n")
    except OSError as error:
        raise SmTrnError(f"import: got {str(path)!r}, which cannot be read ({error.strerror}), wanted a file") from None
    if len(text) > SIZE_CAP:
        raise SmTrnError(f"{path.name}: got {len(text):,} characters, wanted at most {SIZE_CAP:,}")
    if path.suffix != ".ipynb":
        return [Cell(0, text, text)]
    return [Cell(number, raw, _without_magics(raw)) for number, raw in enumerate(_sources(path.name, text), start=1)]


def _sources(name: str, text: str) -> list[str]:
    """Return the text of each code cell. Raises SmTrnError for what is no JSON."""
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, ValueError) else "nested too deeply"
        raise SmTrnError(f"{name}: got no JSON ({reason[:80]}), wanted a notebook") from None
    sources = []
    cells = tree.get("cells") if isinstance(tree, dict) else None
    for cell in cells if isinstance(cells, list) else ():
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            source = cell.get("source", "")
            lines = source if isinstance(source, list) else [source]
            sources.append("".join(line for line in lines if isinstance(line, str)))
    return sources


def _without_magics(raw: str) -> str:
    """Return the code with each magic and shell line replaced by a statement of its width."""
    lines = raw.split("\n")
    first = next((index for index, line in enumerate(lines) if line.strip()), None)
    if first is not None and lines[first].lstrip().startswith("%%"):
        word = re.split(r"\W", lines[first].lstrip()[2:], maxsplit=1)[0]
        if word not in KEEPS_BODY:
            return "\n".join("" for _ in lines)
        lines[first] = ""
    index, quoted = 0, False
    while index < len(lines):
        line = lines[index]
        if not quoted and (replaced := _without_magic(line)) is not None:
            while lines[index].rstrip().endswith("\\") and index + 1 < len(lines):
                index += 1
                lines[index - 1], line = replaced, lines[index]
                replaced = ""
            lines[index] = replaced
        elif '"""' in line or "'''" in line:
            quoted ^= (line.count('"""') + line.count("'''")) % 2 == 1
        index += 1
    return "\n".join(lines)


def _without_magic(line: str) -> str | None:
    """Return the line without its magic; None where there is none."""
    assigned = _ASSIGNED.match(line)
    if assigned:
        value = next((word for pattern, word in _KNOWN_COMMANDS if pattern.search(assigned["command"])), SHELL)
        return f"{assigned['indent']}{assigned['target']} = {value}"
    if timed := re.match(r"^([ \t]*)%time(?:it)?[ \t]+([^-\s].*)$", line):
        return f"{timed[1]}{timed[2]}"
    magic = _MAGIC.match(line)
    stripped = line.strip()
    is_help = re.fullmatch(r"[\w.]+\?{1,2}", stripped)
    if magic and stripped and not stripped.startswith("#") and (stripped[0] in "!%?" or is_help):
        line_magic = _LINE_MAGIC.match(stripped)
        return f"{magic['indent']}{MAGIC}({line_magic['line']!r})" if line_magic else f"{magic['indent']}pass"
    if _LOOSE.match(line) and "=" not in line.split(" ")[0:2]:
        return f"{line[: len(line) - len(line.lstrip())]}pass"
    return None


def parse(cell: Cell) -> ast.Module:
    """Parse a cell. Raises SyntaxError, also for code that Python cannot take for another reason."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(cell.code)
    except (ValueError, RecursionError, MemoryError) as error:
        raise SyntaxError(str(error) or type(error).__name__) from None
