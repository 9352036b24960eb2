"""A display of a wait that keeps what it is shown."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sm_trn.report import Display, WatchRow


class Recorder(Display):
    """A display that keeps what it is shown."""

    def __init__(self) -> None:
        self.rows: dict[str, WatchRow] = {}
        self.notes: list[str] = []

    def show(self, rows: Sequence[WatchRow], now: datetime) -> None:  # noqa: ARG002 - the display's signature
        self.rows = {row.snapshot.name: row for row in rows}

    def note(self, text: str, now: datetime) -> None:  # noqa: ARG002 - the display's signature
        self.notes.append(text)

    def close(self, words: str = "") -> None:
        if words:
            self.notes.append(words)
