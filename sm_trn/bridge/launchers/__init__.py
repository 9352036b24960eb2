"""Launchers of SDK v1 and v2, read without running them: files in, launches, jobs and holes out."""

from __future__ import annotations

from .launches import Assumption, Ending, Launch, LauncherJob, Launchers
from .read import read_launchers, read_text
from .values import Place, Reason, Seen, Unresolved

__all__ = [
    "Assumption",
    "Ending",
    "Launch",
    "LauncherJob",
    "Launchers",
    "Place",
    "Reason",
    "Seen",
    "Unresolved",
    "read_launchers",
    "read_text",
]
