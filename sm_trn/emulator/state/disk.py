"""A disk that is full: how it is recognised, and what is said of it."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path
from typing import Final

from ..errors import INTERNAL_ERROR, AwsError

_LEAST: Final = 2**20  # bytes that a disk must have left for a job to begin
_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def no_room(error: BaseException | None) -> bool:
    """Return True if something failed because a disk is full."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in _NO_ROOM:
            return True
        error = error.__cause__
    return False


def disk_full(folder: Path) -> str:
    """Say which disk is full, and what makes room."""
    return (
        f"the disk of the emulator's state folder {folder} is full; make room on it, delete objects or jobs, or start empty with "
        "'sm-trn local reset'"
    )


def reason_of(error: BaseException, folder: Path) -> str:
    """Return the reason of a job that failed by no fault of its own."""
    return f"ClientError: No space left on device: {disk_full(folder)}" if no_room(error) else INTERNAL_ERROR


def check_disk(folder: Path) -> None:
    """Raise the AwsError that answers a job for which there is no room."""
    if shutil.disk_usage(folder).free < _LEAST:
        raise AwsError("ResourceLimitExceeded", disk_full(folder))
