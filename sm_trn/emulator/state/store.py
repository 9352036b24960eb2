"""The store keeps small documents in one SQLite file (WAL), because they must outlive the process.

Log lines and objects are plain files, elsewhere.
"""

from __future__ import annotations

import contextlib
import errno
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ...core.errors import EmulatorError

_ROOM: Final = 4 * 2**20  # a thousand of SQLite's pages: after so many it begins its log anew
_VERSION: Final = 4
_TABLES: Final = """
CREATE TABLE IF NOT EXISTS records (kind TEXT, name TEXT, document TEXT NOT NULL, PRIMARY KEY (kind, name));
"""


class Store:
    """One connection, one lock: writes are small and few. Raises EmulatorError when the file cannot be used, OSError for a write
    for which the disk has no room; the file takes some room in advance, so that this is not said of a stop or a deletion.
    """

    def __init__(self, file: Path) -> None:
        self._lock = threading.RLock()
        self._db = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
        _check(self._db)
        with _disk_errors():
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.executescript(f"{_TABLES} PRAGMA user_version = {_VERSION};")
        with contextlib.suppress(OSError):
            self._write("INSERT OR REPLACE INTO records VALUES ('room', '', zeroblob(?))", _ROOM)
        self.drop("room", "")  # the log and the free pages that it leaves are written over later

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def records(self, kind: str) -> dict[str, str]:
        """Return the documents of a kind by name."""
        with self._lock:
            return dict(self._db.execute("SELECT name, document FROM records WHERE kind = ?", (kind,)).fetchall())

    def save(self, kind: str, name: str, document: str) -> None:
        self._write("INSERT OR REPLACE INTO records VALUES (?, ?, ?)", kind, name, document)

    def drop(self, kind: str, name: str) -> None:
        self._write("DELETE FROM records WHERE kind = ? AND name = ?", kind, name)

    def _write(self, statement: str, *values: str | float) -> None:
        with self._lock, _disk_errors():
            self._db.execute(statement, values)


def _check(db: sqlite3.Connection) -> None:
    """Raise EmulatorError for a file that SQLite finds damaged, and for one of another version."""
    try:
        found = [str(row[0]) for row in db.execute("PRAGMA integrity_check(3)")]
        version = int(db.execute("PRAGMA user_version").fetchone()[0])
        empty = db.execute("SELECT 1 FROM sqlite_master").fetchone() is None
    except sqlite3.DatabaseError as error:
        found, version, empty = [str(error)], 0, False
    if found != ["ok"]:
        raise EmulatorError(f"emulator.db is damaged: {'; '.join(found)}; start empty with 'sm-trn local reset'")
    if not empty and version != _VERSION:
        raise EmulatorError(
            f"the state was written by another sm_trn: got schema {version}, wanted {_VERSION}; install that version again, or "
            "start empty with 'sm-trn local reset'"
        )


@contextlib.contextmanager
def _disk_errors() -> Iterator[None]:
    """Raise OSError for a full disk, as every other writer does."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if "disk is full" in str(error):
            raise OSError(errno.ENOSPC, str(error)) from error
        raise
