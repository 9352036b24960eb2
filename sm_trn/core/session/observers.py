"""Who sees a wait: progress, guards, estimates. A wait is handed them; it knows none by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Protocol, TextIO

from ..formatting import numbers as fmt
from ..specs.job import JobSpec
from ..specs.snapshot import JobSnapshot

Notify = Callable[[str], None]


class Watched(Protocol):
    """A job that is waited for: its names, and what this process asked for when it made it."""

    @property
    def name(self) -> str: ...

    @property
    def label(self) -> str: ...

    @property
    def asked(self) -> JobSpec | None: ...


class Observer:
    """Sees what a wait sees: progress, guards, estimates. A subclass overrides what it needs."""

    def look(self, known: Mapping[str, JobSnapshot], now: datetime, notify: Notify, *, answering: bool) -> None:
        """Each look at the jobs. ``answering`` is False while the service does not answer: then it is not asked more."""

    def finish(self, known: Mapping[str, JobSnapshot], now: datetime, notify: Notify) -> None:
        """All jobs have ended."""

    def note(self, text: str, at: datetime) -> None:
        """A message for the user, where nobody else was told to hear them."""

    def close(self, words: str) -> None:
        """The wait is over, by its end or by Ctrl-C, whose ``words`` say what goes on."""


class StatusLines(Observer):
    """One line for each change of a status: what shows a wait without the display of ``report``."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._before: dict[str, str] = {}

    def look(self, known: Mapping[str, JobSnapshot], now: datetime, notify: Notify, *, answering: bool) -> None:
        del notify, answering
        for name, job in known.items():
            status = f"{job.status_word} {job.secondary}".strip()
            if self._before.get(name) != status:
                self._before[name] = status
                self.note(f"{name} {status}", now)

    def note(self, text: str, at: datetime) -> None:
        self._stream.write(f"{fmt.iso(at)} {text}\n")
        self._stream.flush()

    def close(self, words: str) -> None:
        if words:
            self._stream.write(f"{words}\n")
