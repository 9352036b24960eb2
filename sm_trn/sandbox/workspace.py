"""A copy of a folder, in which a program may write, and which is gone after it."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ..core.errors import SmTrnError
from .init import remove

LARGEST_COPY: Final = 1_000_000_000  # bytes of the folder that is copied
_LEFT_OUT: Final = (
    ".git", ".venv", "venv", "__pycache__", "node_modules", ".ipynb_checkpoints", ".mypy_cache", ".ruff_cache",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Workspace:
    """``folder`` is the copy of the user's ``original`` folder; it lies in ``root``, which the program can change."""

    root: Path
    folder: Path
    original: Path

    def clean(self, text: str) -> str:
        """Return the text with the user's own paths in place of the copy's."""
        return text.replace(str(self.folder), str(self.original))


@contextlib.contextmanager
def workspace(folder: Path) -> Iterator[Workspace]:
    """Copy a folder without its caches, virtual environments and pipes. Raises SmTrnError for one that is too large to copy."""
    original = folder.resolve()
    if not can_copy(original):
        raise SmTrnError(f"folder: got more than 1 GB in {original}, wanted one that can be copied; use a smaller one")
    root = Path(tempfile.mkdtemp(prefix="sandbox-")).resolve()
    try:
        copy = root / "copy" / "above" / "work"  # a program that looks into the folders above its own stays inside
        shutil.copytree(original, copy, ignore=_left_out, symlinks=True, ignore_dangling_symlinks=True)
        yield Workspace(root, copy, original)
    finally:
        remove(root)


def can_copy(source: Path) -> bool:
    """Return True for a folder that is not too large to copy."""
    size = 0
    for folder, inner, files in os.walk(source):
        left_out = _left_out(folder, inner)
        inner[:] = [name for name in inner if name not in left_out]
        paths = [Path(folder, name) for name in files]
        size += sum(path.stat().st_size for path in paths if path.is_file() and not path.is_symlink())
        if size > LARGEST_COPY:
            return False
    return True


def _left_out(folder: str, names: list[str]) -> set[str]:
    """Return the names in a folder that are not copied, virtual environments whatever they are called."""
    paths = [Path(folder, name) for name in names if name not in _LEFT_OUT]
    plain = {path.name for path in paths if path.is_file() or path.is_dir() or path.is_symlink()}
    return set(names) - {name for name in plain if not Path(folder, name, "pyvenv.cfg").is_file()}
