"""What a job's script consists of: its own modules, as text and trees, and the releases of the libraries it is given."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from ..core.catalog import images
from ..core.preflight import source
from ..core.specs.framework import Container
from ..core.specs.job import JobSpec
from . import fields

LIBRARIES = ("transformers", "trl")  # of which the table has releases
MODULES = 40  # of a source that are read
_REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9._-]+)(?:\[[^\]]*\])? *(?P<rule>[^#;]*)")


def programs(job: JobSpec) -> dict[str, str]:
    """The text of the entry script, and of the modules of its folder that it imports, by their paths in the folder."""
    entry, folder = source.program(job), source.source_folder(job)
    if entry is None or folder is None or job.script is None:
        return {}
    found, waiting = {job.script.entry: entry}, [job.script.entry]
    while waiting and len(found) < MODULES:
        here = Path(waiting.pop())
        for path in _imported(found[str(here)], here, folder):
            text = source.text(folder / path)
            if str(path) not in found and text is not None and _parses(text):
                found[str(path)] = text
                waiting.append(str(path))
    return found


def _imported(text: str, here: Path, folder: Path) -> Iterator[Path]:
    """The files of the folder that a program imports."""
    for node in ast.walk(source.tree(text)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module or ''}.{alias.name}".strip(".") for alias in node.names] + [node.module or ""]
        for base in {Path(), here.parent}:
            for name in names:
                path = base.joinpath(*name.split("."))
                yield from (
                    each
                    for each in (path.with_suffix(".py"), path / "__init__.py")
                    if name and (folder / each).is_file()
                )


def _parses(text: str) -> bool:
    try:
        source.tree(text)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True


def release_of(job: JobSpec, library: str) -> str | None:
    """The release of transformers or trl that the job's script will import, as the table knows it; None where nothing says.

    The container's own is there unless requirements.txt asks for another; pip leaves it alone where the file only names it.
    """
    rule = _required(job, library)
    if rule is not None and rule.startswith("=="):
        return fields.release(library, rule.removeprefix("==").strip())
    if rule or library != "transformers" or job.image_uri or isinstance(job.framework, Container):
        return None
    row = images.choose(job)
    return fields.release(library, row.transformers) if row is not None and row.transformers else None


def _required(job: JobSpec, library: str) -> str | None:
    """What requirements.txt says of a library's version; empty where it only names it, None where it does not."""
    folder = source.source_folder(job)
    text = source.text(folder / "requirements.txt") if folder is not None else None
    for line in (text or "").splitlines():
        found = _REQUIREMENT.match(line.strip())
        if found is not None and found["name"].lower() == library:
            return found["rule"].strip()
    return None
