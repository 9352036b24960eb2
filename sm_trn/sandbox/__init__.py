"""One sandbox for code of others: programs run in a copy of a folder, sealed by what Linux has. The recorder runs launchers in it,
the scripts' probe their parsers; the emulator starts its containers with the same first process (``init``).
"""

from __future__ import annotations

from .run import SEALED, TRUST, Limits, Outcome, Program, available, run
from .workspace import Workspace, can_copy, workspace

__all__ = ["SEALED", "TRUST", "Limits", "Outcome", "Program", "Workspace", "available", "can_copy", "run", "workspace"]
