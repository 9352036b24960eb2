"""Owns how this process asks the system for memory; must not know what it is for."""

from __future__ import annotations

import contextlib
import ctypes
import os
from typing import Mapping

# Of mallopt(3), in bytes: from which size on a block comes from the system each time (an older glibc takes no more than
# the second), and how much may lie free before it goes back (the most that an int holds).
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
BLOCKS = (1 << 30, 1 << 25)
KEPT = (1 << 31) - 1
SETTINGS = ("MALLOC_MMAP_THRESHOLD_", "MALLOC_MMAP_MAX_", "MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_")


def keep_memory(environ: Mapping[str, str] = os.environ) -> bool:
    """Blocks of megabytes are kept for the next step, which asks for the same ones; whether that could be had.

    glibc gives them back to the system as soon as they are free, and the system clears every page that it hands out:
    on a CPU a fifth of a tiny language model's time. What the user has set of malloc stays.
    """
    if "glibc.malloc" in environ.get("GLIBC_TUNABLES", "") or any(name in environ for name in SETTINGS):
        return False
    with contextlib.suppress(AttributeError, OSError, TypeError):  # macOS, musl, Windows
        mallopt = ctypes.CDLL(None).mallopt
        return any(mallopt(M_MMAP_THRESHOLD, size) for size in BLOCKS) and bool(mallopt(M_TRIM_THRESHOLD, KEPT))
    return False
