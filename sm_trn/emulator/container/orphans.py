"""The removal of the folders that a killed emulator left behind, at the next start. Container init has ended its processes with it."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from pathlib import Path
from typing import Final

_PLACES: Final = ("jobs", "tmp", "hosted")
NOTE: Final = "door"  # a file that names a folder outside the state: a socket's path may have 107 bytes only


def clean_up_orphans(state: Path) -> None:
    """Empty these folders, and remove those outside the state that hosts had: only ours, whatever the notes say. Call it with the
    state's lock held."""
    for pattern in (f"jobs/*/*/*/{NOTE}", f"hosted/*/{NOTE}", f"hosted/*/*/{NOTE}"):
        for note in state.glob(pattern):
            with contextlib.suppress(OSError, UnicodeDecodeError):
                folder = Path(note.read_text(encoding="utf-8"))
                if folder.name.startswith("smt-") and str(folder.parent) == tempfile.gettempdir():
                    shutil.rmtree(folder, ignore_errors=True)
    for name in _PLACES:
        shutil.rmtree(state / name, ignore_errors=True)
        (state / name).mkdir(exist_ok=True)
