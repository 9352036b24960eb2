"""Processes kept to themselves by what Linux has: the program that starts them, and what both users of it need.

The emulator starts training containers with it, the recorder launchers. ``container_init.py`` and ``seal.py`` are programs of
their own, which import the standard library alone.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Final

from .container_init import BROKEN_HOST, HostSpec

__all__ = ["BROKEN_HOST", "CONTAINER_INIT", "CREDENTIALS", "PYTHON", "SEAL", "HostSpec", "bubblewrap", "hiding"]

CONTAINER_INIT: Final = Path(__file__).with_name("container_init.py")
SEAL: Final = Path(__file__).with_name("seal.py")
PYTHON: Final = (sys.executable, "-I", "-S")
# Below a home: where people keep credentials. A program in a namespace finds them empty.
CREDENTIALS: Final = (
    ".aws", ".ssh", ".gnupg", ".kube", ".docker", ".azure", ".config/gcloud", ".config/gh", ".netrc", ".git-credentials",
    ".pypirc", ".pgpass", ".cache/huggingface/token", ".cache/huggingface/stored_tokens",
)  # fmt: skip


def bubblewrap() -> str | None:
    """The path of bubblewrap (https://github.com/containers/bubblewrap); None where it is not installed."""
    return shutil.which("bwrap")


def hiding(paths: tuple[str, ...]) -> list[str]:
    """Bubblewrap's arguments that make these folders and files empty."""
    arguments: list[str] = []
    for path in paths:
        if Path(path).is_dir():
            arguments += ["--tmpfs", path]
        elif Path(path).is_file():
            arguments += ["--ro-bind", "/dev/null", path]
    return arguments
