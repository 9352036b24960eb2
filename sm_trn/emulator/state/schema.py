"""The versions of the database's tables, each made from the one before."""

from __future__ import annotations

import hashlib
import sqlite3
from typing import TYPE_CHECKING, Final

from ...core.errors import EmulatorError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_FIRST: Final = """
CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS jobs (name TEXT PRIMARY KEY, document TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS objects (bucket TEXT, key TEXT, file TEXT NOT NULL, headers TEXT NOT NULL,
                                    PRIMARY KEY (bucket, key));
CREATE TABLE IF NOT EXISTS buckets (name TEXT PRIMARY KEY, region TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS records (kind TEXT, name TEXT, document TEXT NOT NULL, PRIMARY KEY (kind, name));
"""
_OBJECTS_OF_OUR_OWN: Final = (
    "ALTER TABLE objects ADD COLUMN size INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE objects ADD COLUMN etag TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE objects ADD COLUMN modified REAL NOT NULL DEFAULT 0",
    "CREATE TABLE uploads (id TEXT PRIMARY KEY, bucket TEXT, key TEXT, headers TEXT NOT NULL, started REAL NOT NULL)",
    """CREATE TABLE parts (upload TEXT, number INTEGER, file TEXT NOT NULL, size INTEGER NOT NULL, etag TEXT NOT NULL,
                        modified REAL NOT NULL, PRIMARY KEY (upload, number))""",
)


def _first(db: sqlite3.Connection, _files: Path) -> None:
    for statement in filter(str.strip, _FIRST.split(";")):
        db.execute(statement)


def _measure_objects(db: sqlite3.Connection, files: Path) -> None:
    """Size, digest and age, which only moto knew before; an object whose file is gone goes too."""
    for statement in _OBJECTS_OF_OUR_OWN:
        db.execute(statement)
    for bucket, key, file in db.execute("SELECT bucket, key, file FROM objects").fetchall():
        path = files / file
        try:
            with path.open("rb") as source:
                digest = hashlib.md5(usedforsecurity=False)
                while block := source.read(2**20):
                    digest.update(block)
                facts = path.stat()
        except OSError:
            db.execute("DELETE FROM objects WHERE bucket = ? AND key = ?", (bucket, key))
            continue
        row = (facts.st_size, digest.hexdigest(), facts.st_mtime, bucket, key)
        db.execute("UPDATE objects SET size = ?, etag = ?, modified = ? WHERE bucket = ? AND key = ?", row)


# One function for each version; the tables' own number is how many of them they have been through.
MIGRATIONS: Final[tuple[Callable[[sqlite3.Connection, Path], None], ...]] = (_first, _measure_objects)
VERSION: Final = len(MIGRATIONS)


def bring_up_to_date(db: sqlite3.Connection, files: Path) -> None:
    """Take the tables to ``VERSION``, each step whole or not at all. Raises EmulatorError for a newer or damaged store."""
    found = _version(db)
    if found > VERSION:
        raise EmulatorError(
            f"the state was written by a newer sm_trn: got schema {found}, wanted at most {VERSION}; install that "
            "version again, or start empty with 'sm-trn local reset'"
        )
    for number, step in enumerate(MIGRATIONS[found:], found + 1):
        db.execute("BEGIN IMMEDIATE")
        step(db, files)
        db.execute(f"PRAGMA user_version = {number}")
        db.execute("COMMIT")


def check(db: sqlite3.Connection) -> None:
    """Raise EmulatorError unless SQLite finds its own file sound."""
    try:
        said = [str(row[0]) for row in db.execute("PRAGMA integrity_check(3)")]
    except sqlite3.DatabaseError as error:
        said = [str(error)]
    if said != ["ok"]:
        raise EmulatorError(f"emulator.db is damaged: {'; '.join(said)}; start empty with 'sm-trn local reset'")


def _version(db: sqlite3.Connection) -> int:
    """1 for tables of the time before they were numbered."""
    number = int(db.execute("PRAGMA user_version").fetchone()[0])
    unnumbered = db.execute("SELECT 1 FROM sqlite_master WHERE name = 'objects'").fetchone()
    return number or (1 if unnumbered else 0)
