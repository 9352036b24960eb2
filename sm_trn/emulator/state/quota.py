"""The quota limits how much a state folder may hold, and refuses what would exceed it."""

from __future__ import annotations

import errno
import os
import shutil
import threading
from pathlib import Path
from typing import Final

from ..errors import INTERNAL_ERROR, AwsError

GB: Final = 10**9
_LEAST: Final = 2**20  # bytes that a disk must have left for a job to begin
_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class Quota:
    """``used`` is what objects take, kept by their owner; everything else in the folder is looked at when a job starts."""

    def __init__(self, folder: Path, limit_gb: float) -> None:
        self._folder = folder
        self.limit = int(limit_gb * GB)
        self.used = 0
        self._lock = threading.Lock()

    def add(self, more: int) -> None:
        with self._lock:
            self.used += more

    def check(self, more: int) -> None:
        """Raise the AwsError that answers a write of ``more`` bytes for which there is no room."""
        if self.used + more > self.limit:
            raise AwsError("EntityTooLarge", f"{self._full()}; this write needs {more:,} bytes more")

    def check_job(self) -> None:
        """Raise the AwsError that answers a job for which there is no room."""
        if folder_bytes(self._folder) > self.limit:
            raise AwsError("ResourceLimitExceeded", self._full())
        if shutil.disk_usage(self._folder).free < _LEAST:
            raise AwsError("ResourceLimitExceeded", disk_full(self._folder))

    def refusal(self, error: BaseException) -> AwsError | None:
        """Return the AwsError that answers a write for which the disk had no room; None for any other failure."""
        return AwsError("InternalFailure", disk_full(self._folder)) if no_room(error) else None

    def _full(self) -> str:
        return (
            f"the emulator's state folder {self._folder} may hold {self.limit / GB:g} GB; delete objects or jobs, start empty with "
            "'sm-trn local reset', or start the emulator with a larger SM_TRN_STATE_MAX_GB"
        )


def no_room(error: BaseException | None) -> bool:
    """Whether something failed because a disk is full."""
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


def folder_bytes(folder: Path) -> int:
    """Return what the plain files below a folder take on the disk, which is less than their length where they have holes."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += Path(parent, name).lstat().st_blocks * 512
            except OSError:  # noqa: PERF203 - gone between the listing and the look
                continue
    return total
