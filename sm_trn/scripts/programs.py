"""The programs of a job: its entry script and the modules of its own that this imports, as text."""

from __future__ import annotations

import ast
import functools
from pathlib import Path
from typing import TypeAlias

from ..core.preflight import source
from ..core.specs.job import JobSpec

Programs: TypeAlias = tuple[tuple[str, str], ...]  # paths and texts
_MOST = 40  # modules of a source that are read


def programs(job: JobSpec) -> Programs:
    """The entry script, and the modules of its folder that it imports: their paths in the folder, and their texts.

    Of a shipped script the entry alone.
    """
    entry, folder = source.program(job), source.source_folder(job)
    if entry is None or folder is None or job.script is None:
        return ()
    found, waiting = {job.script.entry: entry}, [] if source.shipped(job) else [job.script.entry]
    while waiting and len(found) < _MOST:
        beside = Path(waiting.pop())
        for name in _imported(found[str(beside)]):
            for path in (Path(name), beside.parent / name):
                for file in (str(path) + ".py", str(path / "__init__.py")):
                    text = source.text(folder / file) if file not in found else None
                    if text is not None and source.parses(text):
                        found[file] = text
                        waiting.append(file)
    return tuple(found.items())


@functools.lru_cache(maxsize=source.KEPT)
def _imported(text: str) -> tuple[str, ...]:
    """The modules that a program may import, as paths."""
    names: set[str] = set()
    for node in ast.walk(source.tree(text)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module or ''}.{alias.name}".strip(".") for alias in node.names} | {node.module or "."}
    return tuple(name.replace(".", "/") for name in sorted(names - {"."}))
