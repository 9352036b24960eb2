"""What a run makes, written down before it is made, so that the next start finds what an interrupted one left.

A journal is a file of lines, locked as long as its process lives: the lock ends with the process, however that ended. It must
not know how anything is removed.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ...emulator import default_state

TAG = "sm-trn:conformance"
TRAINING_JOB, MODEL, CONFIG, ENDPOINT = "training-job", "model", "endpoint-config", "endpoint"
GONE = "gone"  # said of a name that was refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """Something that a run made or was about to make at ``at`` (epoch seconds): its kind, and its name or prefix."""

    kind: str
    name: str
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """What a journal says: whose run it was (``fingerprint`` of its target), and what it made, oldest first."""

    run: str
    fingerprint: str
    started: float
    made: tuple[Made, ...]


class Journal:
    """One run's journal. Made by ``begin`` for a new run and by ``abandoned`` for the runs of processes that are dead."""

    def __init__(self, file: Path, handle: IO[str]) -> None:
        self.run = file.stem
        self._file = file
        self._handle = handle

    @property
    def scratch(self) -> Path:
        """A folder for what the run keeps on this machine: its emulator."""
        return self._file.with_suffix("")

    def write(self, kind: str, name: str) -> None:
        """Say that something is about to be made. It is on the disk when this returns. Raises OSError."""
        self._line({"kind": kind, "name": name, "at": time.time()})

    def read(self) -> Left:
        """All that was written; a line that a death cut off was not yet acted upon."""
        lines = self._file.read_text("utf-8").splitlines()
        rows = [row for row in map(_parsed, lines) if row]
        head = rows[0] if rows else {}
        made = tuple(
            Made(kind=str(r["kind"]), name=str(r["name"]), at=float(str(r["at"]))) for r in rows if "kind" in r
        )
        started = float(str(head.get("started", 0.0)))
        return Left(run=self.run, fingerprint=str(head.get("target", "")), started=started, made=made)

    def close(self, *, done: bool) -> None:
        """Let go of the run; ``done`` says that nothing is left of it."""
        if done:
            shutil.rmtree(self.scratch, ignore_errors=True)
            self._file.unlink(missing_ok=True)
        self._handle.close()

    def head(self, fingerprint: str) -> None:
        """Write the first line: which target the run is of. Raises OSError."""
        self._line({"target": fingerprint, "started": time.time()})

    def _line(self, row: dict[str, str | float]) -> None:
        self._handle.write(json.dumps(row) + "\n")
        self._handle.flush()
        os.fsync(self._handle.fileno())


def folder(state: Path | None = None) -> Path:
    """Where journals are: in the state folder of the emulator."""
    return (state or default_state()).expanduser().absolute() / "conformance"


def begin(fingerprint: str, state: Path | None = None) -> Journal:
    """A new run's journal, under a name of its own. Raises OSError."""
    where = folder(state)
    where.mkdir(parents=True, exist_ok=True, mode=0o700)
    file = where / f"{secrets.token_hex(4)}.jsonl"
    with os.fdopen(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_APPEND, 0o600), "a", encoding="utf-8") as it:
        fcntl.flock(it, fcntl.LOCK_EX)
        handle = os.fdopen(os.dup(it.fileno()), "a", encoding="utf-8")
    made = Journal(file, handle)
    made.head(fingerprint)
    return made


def abandoned(state: Path | None = None) -> Iterator[Journal]:
    """The journals whose process is dead, each held by the caller until it closes it."""
    for file in sorted(folder(state).glob("*.jsonl")):
        with contextlib.suppress(FileNotFoundError):
            handle = file.open("a", encoding="utf-8")
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                handle.close()
                continue
            if not file.exists():  # whoever had the lock removed it between our open and our lock
                handle.close()
                continue
            yield Journal(file, handle)


def forgotten(state: Path | None = None) -> list[Path]:
    """Folders of runs that have no journal any more. A run's folder is made after its journal and removed before it."""
    folders = [file for file in folder(state).glob("*") if file.is_dir()]
    return [each for each in sorted(folders) if not each.with_suffix(".jsonl").exists()]


def _parsed(line: str) -> dict[str, object]:
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
