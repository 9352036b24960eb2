"""How far a job of the emulator can be kept apart here: by a user namespace, or by a folder only.

A folder is all that macOS has; there ``PORTABLE`` also does without what Linux alone has: /proc, prctl, the training toolkit.
In a namespace a host has the real /opt/ml, its own host name and process table, and no sight of the user's AWS files; it is no
sandbox: the job runs as the user, and has the network.
"""

from __future__ import annotations

import enum
import sys
from pathlib import Path

from ...sandbox.run import available


class Isolation(enum.Enum):
    """``value`` is what status and the job's log say."""

    NAMESPACE = "user namespace, /opt/ml"
    FOLDER = "plain folder, SAGEMAKER_BASE_DIR"
    PORTABLE = "plain folder, SAGEMAKER_BASE_DIR, POSIX only"

    @property
    def inside(self) -> bool:
        """Return True where a host has the real /opt/ml."""
        return self is Isolation.NAMESPACE


def probe(wanted: str) -> Isolation:
    """Return the best that works here, or what is ``wanted`` where it does: it is tried, not guessed from version numbers."""
    if wanted == "portable" or not sys.platform.startswith("linux"):
        return Isolation.PORTABLE
    possible = wanted != "folder" and Path("/opt").is_dir() and available()
    return Isolation.NAMESPACE if possible else Isolation.FOLDER
