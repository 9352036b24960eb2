"""What must outlive the process: one SQLite file (WAL) of small documents, in a handful of tables.

It must not know what the documents mean. Log lines and S3 objects are plain files, elsewhere.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_SCHEMA = """
CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS jobs (name TEXT PRIMARY KEY, document TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS objects (bucket TEXT, key TEXT, file TEXT NOT NULL, headers TEXT NOT NULL,
                                    PRIMARY KEY (bucket, key));
CREATE TABLE IF NOT EXISTS buckets (name TEXT PRIMARY KEY, region TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS records (kind TEXT, name TEXT, document TEXT NOT NULL, PRIMARY KEY (kind, name));
"""


class Store:
    """One connection, one lock: writes are small and few."""

    def __init__(self, file: Path) -> None:
        self._lock = threading.RLock()
        self._db = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=NORMAL")
        self._db.executescript(_SCHEMA)

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def setting(self, name: str) -> str | None:
        rows = self._all("SELECT value FROM settings WHERE name = ?", name)
        return str(rows[0][0]) if rows else None

    def set(self, name: str, value: str) -> None:
        self._write("INSERT OR REPLACE INTO settings VALUES (?, ?)", name, value)

    def jobs(self) -> Iterator[dict[str, Any]]:
        return (json.loads(row[0]) for row in self._all("SELECT document FROM jobs"))

    def save_job(self, name: str, document: Mapping[str, Any]) -> None:
        self._write("INSERT OR REPLACE INTO jobs VALUES (?, ?)", name, json.dumps(document))

    def drop_job(self, name: str) -> None:
        self._write("DELETE FROM jobs WHERE name = ?", name)

    def records(self) -> Iterator[dict[str, Any]]:
        return (json.loads(row[0]) for row in self._all("SELECT document FROM records"))

    def save_record(self, kind: str, name: str, document: Mapping[str, Any]) -> None:
        self._write("INSERT OR REPLACE INTO records VALUES (?, ?, ?)", kind, name, json.dumps(document))

    def drop_record(self, kind: str, name: str) -> None:
        self._write("DELETE FROM records WHERE kind = ? AND name = ?", kind, name)

    def buckets(self) -> list[tuple[str, str]]:
        return [(row[0], row[1]) for row in self._all("SELECT name, region FROM buckets ORDER BY name")]

    def save_bucket(self, name: str, region: str) -> None:
        self._write("INSERT OR REPLACE INTO buckets VALUES (?, ?)", name, region)

    def drop_bucket(self, name: str) -> None:
        self._write("DELETE FROM buckets WHERE name = ?", name)

    def objects(self) -> list[tuple[str, str, str, dict[str, str]]]:
        """(bucket, key, file, headers) of every object, in key order."""
        rows = self._all("SELECT bucket, key, file, headers FROM objects ORDER BY bucket, key")
        return [(row[0], row[1], row[2], json.loads(row[3])) for row in rows]

    def save_object(self, bucket: str, key: str, file: str, headers: Mapping[str, str]) -> None:
        self._write("INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?)", bucket, key, file, json.dumps(dict(headers)))

    def drop_object(self, bucket: str, key: str) -> None:
        self._write("DELETE FROM objects WHERE bucket = ? AND key = ?", bucket, key)

    def _write(self, statement: str, *values: str) -> None:
        with self._lock:
            self._db.execute(statement, values)

    def _all(self, statement: str, *values: str) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._db.execute(statement, values).fetchall()
