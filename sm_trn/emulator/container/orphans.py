"""This module cleans up what a killed emulator left behind, processes and folders, at the next start.

Container init ends a job with its emulator; this module is for the case that init was killed as well. It must not know
what the processes did.
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

_PLACES: Final = ("jobs", "tmp", "hosted")
_PATIENCE_S: Final = 5.0
_CONTAINER_INIT: Final = os.fsencode(Path(__file__).with_name("inside") / "container_init.py")
REGIONS: Final = "regions"  # each with places of its own
NOTE: Final = "door"  # a file that names a folder outside the state: a socket's path may have 107 bytes only


def clean_up_orphans(state: Path) -> None:
    """End what still runs from these folders, and make them empty. Call it with the state's lock held."""
    end_processes(state)
    remove_noted(state)
    for name in _PLACES:
        shutil.rmtree(state / name, ignore_errors=True)
        (state / name).mkdir(exist_ok=True)


def end_processes(state: Path) -> None:
    """SIGKILL for every process of a job or a hosted model of this folder, until none is left."""
    until = time.monotonic() + _PATIENCE_S
    while (found := processes(state)) and time.monotonic() < until:
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def processes(state: Path) -> list[int]:
    """Return those that were started with a home or a specification in the folders of jobs and hosted models."""
    places = [os.fsencode(f"{state}/{name}/") for name in _PLACES]
    homes = tuple(b"HOME=" + place for place in places)
    found = []
    for entry in os.listdir("/proc") if os.path.isdir("/proc") else ():  # noqa: PTH112, PTH208 - in a hurry at every start
        if entry.isdecimal() and int(entry) != os.getpid():
            with contextlib.suppress(OSError):
                localized = any(
                    word.startswith(homes) for word in Path("/proc", entry, "environ").read_bytes().split(b"\0")
                )
                words = Path("/proc", entry, "cmdline").read_bytes().split(b"\0")
                container_init = _CONTAINER_INIT in words and any(word.startswith(tuple(places)) for word in words)
                dead = Path("/proc", entry, "stat").read_bytes().rpartition(b")")[2].split()[0] == b"Z"
                if (localized or container_init) and not dead:
                    found.append(int(entry))
    return found


def remove_noted(state: Path) -> None:
    """The folders outside the state that its hosts had; only ours, whatever the notes say."""
    for pattern in (f"jobs/*/*/*/{NOTE}", f"hosted/*/{NOTE}", f"hosted/*/*/{NOTE}"):
        for note in state.glob(pattern):
            with contextlib.suppress(OSError, UnicodeDecodeError):
                folder = Path(note.read_text(encoding="utf-8"))
                if folder.name.startswith("smt-") and str(folder.parent) == tempfile.gettempdir():
                    shutil.rmtree(folder, ignore_errors=True)
