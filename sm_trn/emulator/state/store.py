"""The store keeps small documents in one SQLite file (WAL), because they must outlive the process.

Log lines and S3 objects are plain files, elsewhere; a row names the file of
its object, so writing the row is what makes the object appear.
"""

from __future__ import annotations

import contextlib
import errno
import json
import sqlite3
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from . import schema
from .failpoints import failpoint

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_OBJECT = "key, file, headers, size, etag, modified"
_ROOM: Final = 4 * 2**20  # a thousand of SQLite's pages: after so many it begins its log anew


@dataclass(frozen=True, slots=True)
class StoredObject:
    """One object; ``file`` is relative to the folder of all objects, ``modified`` in epoch seconds."""

    key: str
    file: str
    headers: dict[str, str]
    size: int
    etag: str
    modified: float


@dataclass(frozen=True, slots=True)
class StoredPart:
    """One part of an upload that is not complete."""

    number: int
    file: str
    size: int
    etag: str
    modified: float


@dataclass(frozen=True, slots=True)
class StoredUpload:
    id: str
    bucket: str
    key: str
    headers: dict[str, str]
    started: float


class Store:
    """One connection, one lock: writes are small and few. Raises EmulatorError when the file cannot be used, OSError for a write
    for which the disk has no room; the file takes some room in advance, so that this is not said of a stop or a deletion.
    """

    def __init__(self, file: Path) -> None:
        self._lock = threading.RLock()
        self._db = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
        schema.check(self._db)
        with _room_wanted():
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            schema.bring_up_to_date(self._db, file.parent / "s3")
        self._take_room()

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def setting(self, name: str) -> str | None:
        rows = self._all("SELECT value FROM settings WHERE name = ?", name)
        return str(rows[0][0]) if rows else None

    def set(self, name: str, value: str) -> None:
        self._write("INSERT OR REPLACE INTO settings VALUES (?, ?)", name, value)

    def jobs(self) -> list[str]:
        return [str(document) for (document,) in self._all("SELECT document FROM jobs")]

    def save_job(self, name: str, document: str) -> None:
        self._write("INSERT OR REPLACE INTO jobs VALUES (?, ?)", name, document)

    def drop_job(self, name: str) -> None:
        self._write("DELETE FROM jobs WHERE name = ?", name)

    def records(self) -> list[str]:
        return [str(document) for (document,) in self._all("SELECT document FROM records")]

    def save_record(self, kind: str, name: str, document: str) -> None:
        self._write("INSERT OR REPLACE INTO records VALUES (?, ?, ?)", kind, name, document)

    def drop_record(self, kind: str, name: str) -> None:
        self._write("DELETE FROM records WHERE kind = ? AND name = ?", kind, name)

    def buckets(self) -> list[tuple[str, str]]:
        return [(row[0], row[1]) for row in self._all("SELECT name, region FROM buckets ORDER BY name")]

    def save_bucket(self, name: str, region: str) -> None:
        self._write("INSERT OR REPLACE INTO buckets VALUES (?, ?)", name, region)

    def drop_bucket(self, name: str) -> None:
        self._write("DELETE FROM buckets WHERE name = ?", name)

    def object(self, bucket: str, key: str) -> StoredObject | None:
        rows = self._all(f"SELECT {_OBJECT} FROM objects WHERE bucket = ? AND key = ?", bucket, key)  # noqa: S608 - a constant
        return _object(rows[0]) if rows else None

    def objects_from(self, bucket: str, first: str, number: int) -> list[StoredObject]:
        """Return at most ``number`` objects of the bucket, in order of their keys' UTF-8, from the key ``first`` on."""
        query = f"SELECT {_OBJECT} FROM objects WHERE bucket = ? AND key >= ? ORDER BY key LIMIT ?"  # noqa: S608 - a constant
        return [_object(row) for row in self._all(query, bucket, first, number)]

    def keys_from(self, bucket: str, first: str) -> Iterator[str]:
        return (
            row[0]
            for row in self._all("SELECT key FROM objects WHERE bucket = ? AND key >= ? ORDER BY key", bucket, first)
        )

    def save_object(self, bucket: str, entry: StoredObject, upload: str = "") -> list[str]:
        """Make the object visible, and ``upload`` gone, at once; the files that nothing names any more."""
        with self._transaction():
            left = self._all("SELECT file FROM objects WHERE bucket = ? AND key = ?", bucket, entry.key)
            row = (bucket, entry.key, entry.file, json.dumps(entry.headers), entry.size, entry.etag, entry.modified)
            columns = "bucket, key, file, headers, size, etag, modified"
            self._db.execute(f"INSERT OR REPLACE INTO objects ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", row)  # noqa: S608 - a constant
            return [str(file) for (file,) in left] + (self.drop_upload(upload) if upload else [])

    def change_headers(self, bucket: str, key: str, headers: Mapping[str, str]) -> None:
        self._write(
            "UPDATE objects SET headers = ? WHERE bucket = ? AND key = ?", json.dumps(dict(headers)), bucket, key
        )

    def drop_object(self, bucket: str, key: str) -> list[str]:
        with self._transaction():
            left = self._all("SELECT file FROM objects WHERE bucket = ? AND key = ?", bucket, key)
            self._db.execute("DELETE FROM objects WHERE bucket = ? AND key = ?", (bucket, key))
            return [str(file) for (file,) in left]

    def save_upload(self, upload: StoredUpload) -> None:
        headers = json.dumps(upload.headers)
        self._write(
            "INSERT INTO uploads VALUES (?, ?, ?, ?, ?)", upload.id, upload.bucket, upload.key, headers, upload.started
        )

    def uploads(self, bucket: str) -> list[StoredUpload]:
        query = "SELECT id, bucket, key, headers, started FROM uploads WHERE bucket = ? ORDER BY key, started, id"
        return [
            StoredUpload(name, of, key, json.loads(text), at) for name, of, key, text, at in self._all(query, bucket)
        ]

    def save_part(self, upload: str, part: StoredPart) -> list[str]:
        with self._transaction():
            left = self._all("SELECT file FROM parts WHERE upload = ? AND number = ?", upload, part.number)
            row = (upload, part.number, part.file, part.size, part.etag, part.modified)
            self._db.execute("INSERT OR REPLACE INTO parts VALUES (?, ?, ?, ?, ?, ?)", row)
            return [str(file) for (file,) in left]

    def parts(self, upload: str) -> list[StoredPart]:
        rows = self._all(
            "SELECT number, file, size, etag, modified FROM parts WHERE upload = ? ORDER BY number", upload
        )
        return [StoredPart(*row) for row in rows]

    def drop_upload(self, upload: str) -> list[str]:
        with self._transaction():
            left = self._all("SELECT file FROM parts WHERE upload = ?", upload)
            self._db.execute("DELETE FROM parts WHERE upload = ?", (upload,))
            self._db.execute("DELETE FROM uploads WHERE id = ?", (upload,))
            return [str(file) for (file,) in left]

    def files(self) -> dict[str, int]:
        """Return every file that a row names, with the size it must have."""
        return dict(self._all("SELECT file, size FROM objects UNION ALL SELECT file, size FROM parts"))

    def forget_files(self, files: list[str]) -> None:
        """Drop what names these files: their content is lost."""
        with self._transaction():
            for file in files:
                self._db.execute("DELETE FROM objects WHERE file = ?", (file,))
                self._db.execute("DELETE FROM parts WHERE file = ?", (file,))

    def object_bytes(self) -> int:
        query = "SELECT (SELECT COALESCE(SUM(size), 0) FROM objects) + (SELECT COALESCE(SUM(size), 0) FROM parts)"
        return int(self._all(query)[0][0])

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        """All or nothing; one inside another is part of it."""
        with self._lock:
            if self._db.in_transaction:
                yield
                return
            self._db.execute("BEGIN IMMEDIATE")
            try:
                with _room_wanted():
                    yield
                    failpoint("before-commit")
                    self._db.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.OperationalError):  # SQLite has done so itself when the disk is full
                    self._db.execute("ROLLBACK")
                raise

    def _take_room(self) -> None:
        """Write and delete what is as large as the room: the log and the free pages that it leaves are written over later."""
        with contextlib.suppress(OSError):
            self._write("INSERT OR REPLACE INTO settings VALUES ('room', zeroblob(?))", _ROOM)
        self._write("DELETE FROM settings WHERE name = 'room'")

    def _write(self, statement: str, *values: str | float) -> None:
        with self._lock, _room_wanted():
            self._db.execute(statement, values)
            failpoint("row-written")

    def _all(self, statement: str, *values: str | float) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._db.execute(statement, values).fetchall()


@contextlib.contextmanager
def _room_wanted() -> Iterator[None]:
    """Say of a full disk what every other writer says."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if "disk is full" in str(error):
            raise OSError(errno.ENOSPC, str(error)) from error
        raise


def _object(row: tuple[Any, ...]) -> StoredObject:
    key, file, headers, *facts = row
    return StoredObject(key, file, json.loads(headers), *facts)
