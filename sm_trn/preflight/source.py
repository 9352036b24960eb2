"""The job's source as text and as a syntax tree, read once per version of a file. Runs none of it and knows no rule."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

from .. import _entry
from ..specs import JobSpec

SIZE_CAP = 1_000_000  # bytes of Python that are read per file: no entry script is longer
KEPT = 256  # files whose text and tree are remembered


def source_folder(job: JobSpec) -> Path | None:
    """The folder that will be uploaded; None when the source lies in S3 or git and cannot be looked at offline."""
    if job.script.git is not None:
        return None
    if job.script.source_dir is None:
        return _entry.scripts_folder()
    return None if job.script.source_dir.startswith("s3://") else Path(job.script.source_dir)


def entry_path(job: JobSpec) -> Path | None:
    """The entry script's own path, whether it exists or not."""
    folder = source_folder(job)
    return folder / job.script.entry if folder is not None else None


def source_text(job: JobSpec) -> str | None:
    """All Python of the source folder's top level, or None when there is none to read."""
    folder = source_folder(job)
    if folder is None or not (folder / job.script.entry).is_file():
        return None
    if job.script.source_dir is None:  # the shipped folder holds other scripts too
        paths = [folder / job.script.entry, *folder.glob("_*.py")]
    else:
        paths = [folder / job.script.entry, *folder.glob("*.py")]
    return "\n".join(found for path in paths if (found := text(path)) is not None)


def text(path: Path | None) -> str | None:
    """The file's text; None when it cannot be read or is too long to be a script."""
    try:
        status = path.stat() if path is not None else None
        if status is None or status.st_size > SIZE_CAP:
            return None
        return _text(str(path), status.st_mtime_ns, status.st_size)
    except OSError:
        return None


def tree(path: Path | None) -> ast.Module | None:
    """The file's syntax tree; None when it cannot be read or is not Python."""
    found = text(path)
    try:
        return _tree(found) if found is not None else None
    except (SyntaxError, ValueError, RecursionError):
        return None  # SCRIPT003 says it


@functools.lru_cache(maxsize=KEPT)
def _text(path: str, mtime_ns: int, size: int) -> str:
    del mtime_ns, size  # part of the key: a file that was changed is read again
    return Path(path).read_text("utf-8", errors="replace")


@functools.lru_cache(maxsize=KEPT)
def _tree(found: str) -> ast.Module:
    return ast.parse(found)
