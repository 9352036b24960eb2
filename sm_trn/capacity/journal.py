"""What was begun, written down before it is done, so that whoever goes on after a kill does nothing twice and loses nothing.

A file of JSON lines. A line counts once it is whole: what a kill cut off is dropped by the next writer.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from ..core.errors import SmTrnError
from ..core.specs.json import Json, Object


class Journal:
    """The entries of a file, and more of them. Who adds some holds it."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.entries: list[Object] = self._read()

    def _read(self) -> list[Object]:
        if not self.path.exists():
            return []
        whole = self.path.read_bytes().rpartition(b"\n")[0]
        lines = whole.decode("utf-8", "replace").split("\n") if whole else []
        return [_entry(line, self.path, number) for number, line in enumerate(lines, 1)]

    @contextlib.contextmanager
    def held(self) -> Iterator[Journal]:
        """Keep other processes from this journal for the time of the block, where the system has locks, and drop what a kill cut off.

        Raises SmTrnError when another process has it.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            try:
                import fcntl  # noqa: PLC0415 - Windows has none

                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except ImportError:
                pass
            except BlockingIOError as error:
                raise SmTrnError(
                    f"journal: got {str(self.path)!r}, which another process is writing, wanted one at a time; let it end, or give "
                    "other work a journal of its own"
                ) from error
            self.entries = self._read()  # what was written until the lock was ours
            os.truncate(self.path, self.path.read_bytes().rfind(b"\n") + 1)
            yield self

    def add(self, entries: Iterable[Object]) -> None:
        """Write entries, all of them or – after a kill – a number of the first; they are on the disk when this returns."""
        added = list(entries)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            file.write("".join(f"{json.dumps(each)}\n" for each in added).encode())
            file.flush()
            os.fsync(file.fileno())
        self.entries += added

    def of(self, event: str) -> list[Object]:
        """The entries of one event, in order."""
        return [each for each in self.entries if each.get("event") == event]


def _entry(line: str, path: Path, number: int) -> Object:
    try:
        read: Json = json.loads(line)
    except ValueError:
        read = None
    if not isinstance(read, dict):
        raise SmTrnError(
            f"journal: got {line[:40]!r} in line {number} of {str(path)!r}, wanted a line of JSON; give a journal of your own launch, "
            "or a file that is not there yet"
        )
    return read
