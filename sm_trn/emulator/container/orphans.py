"""The removal of what a killed emulator left behind, processes and folders, at the next start.

Container init ends a job with its emulator; this module is for the case that init was killed as well.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
import time
from pathlib import Path
from typing import Final

from ...core.extras import extra
from ...sandbox import init

_PLACES: Final = ("jobs", "tmp", "hosted")
_PATIENCE_S: Final = 5.0
REGIONS: Final = "regions"  # each with places of its own
NOTE: Final = "door"  # a file that names a folder outside the state: a socket's path may have 107 bytes only


def clean_up_orphans(state: Path) -> None:
    """End what still runs from these folders, and make them empty. Call it with the state's lock held."""
    end_processes(*(state / name for name in _PLACES))
    remove_noted(state)
    for name in _PLACES:
        shutil.rmtree(state / name, ignore_errors=True)
        (state / name).mkdir(exist_ok=True)


def end_processes(*folders: Path) -> None:
    """SIGKILL for every process of a host below these folders, until none is left."""
    until = time.monotonic() + _PATIENCE_S
    while (found := processes(*folders)) and time.monotonic() < until:
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def processes(*folders: Path) -> list[int]:
    """Return those that were started with a home or a specification below these folders."""
    with extra("local", "the emulator"):
        import psutil  # noqa: PLC0415 - the shell completes names, and shows a status, without it

    places = tuple(f"{folder}/" for folder in folders)
    found = []
    for process in psutil.process_iter():
        if process.pid != os.getpid():
            with contextlib.suppress(psutil.Error, OSError):
                words = process.cmdline()
                started = init.__file__ in words and any(word.startswith(places) for word in words)
                localized = started or process.environ().get("HOME", "").startswith(places)
                if localized and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process.pid)
    return found


def remove_noted(state: Path) -> None:
    """The folders outside the state that its hosts had; only ours, whatever the notes say."""
    for pattern in (f"jobs/*/*/*/{NOTE}", f"hosted/*/{NOTE}", f"hosted/*/*/{NOTE}"):
        for note in state.glob(pattern):
            with contextlib.suppress(OSError, UnicodeDecodeError):
                folder = Path(note.read_text(encoding="utf-8"))
                if folder.name.startswith("smt-") and str(folder.parent) == tempfile.gettempdir():
                    shutil.rmtree(folder, ignore_errors=True)
