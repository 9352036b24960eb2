"""The twins of images that a state folder has: environments that stand for them. They are made by ``emulator/twin.py``."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .layout import INSIDE, Where

FOLDER: Final = "twins"  # of a state folder
NOTE: Final = "twin.json"  # of a finished twin
PROGRAM: Final = INSIDE / "environment.py"
_KEY: Final = re.compile(r"[0-9a-f]{16}")
_SHOWN: Final = ("torch", "transformers", "accelerate", "datasets", "peft", "trl", "numpy")
# Where pip looks. What holds a name and a password is left out: a job sees no secret of its user.
_SETTINGS: Final = (
    "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX", "PIP_CERT", "PIP_TRUSTED_HOST", "PIP_CONFIG_FILE",
    "SSL_CERT_FILE", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Twin:
    """A finished twin. ``versions`` are the image's packages that it has, ``lacking`` says by name why one could not be had."""

    image: str
    python: str
    interpreter: str
    versions: Mapping[str, str]
    lacking: Mapping[str, str]

    def lines(self) -> list[str]:
        """What stands for the image, and what of it is not there: a sentence each."""
        shown = [f"{name} {self.versions[name]}" for name in _SHOWN if name in self.versions]
        others = len(self.versions) - len(shown)
        text = f"twin of {self.image}: Python {self.python}{''.join(f', {each}' for each in shown)}"
        lines = [f"{text} and {others} more packages of the image" if others else text]
        if self.lacking:
            lines.append(f"not to be had on this machine, and missing in the twin: {', '.join(sorted(self.lacking))}")
        return lines


def twin_at(state: Path, key: str) -> Twin | None:
    """The finished twin of this key; None where the state folder has none."""
    if _KEY.fullmatch(key) is None:
        return None
    with contextlib.suppress(OSError, ValueError, TypeError):
        return Twin(**json.loads((state / FOLDER / key / NOTE).read_text("utf-8")))
    return None


def interpreter(where: Where) -> str:
    """The Python of a host, as its job sees it: an environment of its own on top of the twin or the user's Python, which pip may change."""
    return f"{where.seen_own}/env/bin/python"


def in_environment(where: Where, below: str, argv: tuple[str, ...]) -> tuple[str, ...]:
    """Return what starts a program in the job's own environment on top of the Python ``below``."""
    return (below, str(PROGRAM), f"{where.seen_own}/env", *argv)


def variables(where: Where, state: Path, given: Mapping[str, str]) -> dict[str, str]:
    """The variables of a host in its own environment: pip installs from where the user's settings say, with one cache for all jobs."""
    changed = dict(given)
    changed |= {name: os.environ[name] for name in _SETTINGS if "@" not in os.environ.get(name, "@")}
    own = f"{where.seen_own}/bin:"
    return {
        **changed,
        "PATH": changed["PATH"].replace(own, f"{own}{where.seen_own}/env/bin:", 1),
        "PIP_CACHE_DIR": str(state / FOLDER / "pip"),
        "SM_TRN_PYTHON": interpreter(where),
    }
