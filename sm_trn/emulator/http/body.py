"""A spool holds a request's body while it is read: a small one in memory, a large one in a file that can become an object's own.

Sums that are known to be wanted are worked out beside the reading, on another core where there is one. It must not
know HTTP.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import queue
import tempfile
import threading
import zlib
from typing import IO, TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

IN_MEMORY: Final = 2**20
_BLOCK: Final = 2**20
_AHEAD: Final = 4  # blocks read but not yet summed: what a body takes of memory


class Spool:
    """Write, ``rewind``, read, then ``close`` – or give the content away with ``move_to``."""

    def __init__(self, folder: Path, sums: Collection[str] = ()) -> None:
        self._folder = folder
        self._path: str | None = None
        self._sums = {name: _summer(name) for name in sums}
        self._blocks: queue.Queue[bytes | None] = queue.Queue(_AHEAD)
        self._worker: threading.Thread | None = None
        self.file: IO[bytes] = io.BytesIO()
        self.length = 0

    def write(self, block: bytes) -> None:
        self.length += len(block)
        if self._path is None and self.length > IN_MEMORY:
            handle, self._path = tempfile.mkstemp(dir=self._folder, prefix="body-")
            held = self.file
            self.file = os.fdopen(handle, "w+b")
            held.seek(0)
            self.file.write(held.read())
            if self._sums:
                self._worker = threading.Thread(target=self._work, name="sums", daemon=True)
                self._worker.start()
        if self._worker is None:
            self._add(block)
        else:
            self._blocks.put(block)
        self.file.write(block)

    def rewind(self) -> None:
        self.file.seek(0)

    def read(self, size: int = -1) -> bytes:
        return self.file.read(size)

    def digest(self, name: str) -> bytes:
        """Return a sum of the whole content, by hashlib's name or ``crc32``; nothing is written afterwards, and it is rewound."""
        self._end_work()
        self.rewind()
        if name not in self._sums:
            found = _summer(name)
            while block := self.read(_BLOCK):
                found.update(block)
            self.rewind()
            self._sums[name] = found
        return bytes(self._sums[name].digest())

    def move_to(self, target: Path) -> None:
        """Let the content be the file ``target``, on the same file system; the spool is closed."""
        if self._path is None:
            self.rewind()
            target.write_bytes(self.read())
        else:
            self.file.flush()
            os.replace(self._path, target)  # noqa: PTH105 - the source is a plain string
            self._path = None
        self.close()

    def close(self) -> None:
        self._end_work()
        with contextlib.suppress(OSError):  # on a full disk: of what is thrown away anyhow
            self.file.close()
        if self._path is not None:
            os.unlink(self._path)  # noqa: PTH108 - a plain string
            self._path = None

    def _add(self, block: bytes) -> None:
        for found in self._sums.values():
            found.update(block)

    def _work(self) -> None:
        while (block := self._blocks.get()) is not None:
            self._add(block)

    def _end_work(self) -> None:
        if self._worker is not None:
            self._blocks.put(None)
            self._worker.join()
            self._worker = None


class _Crc32:
    """zlib's sum with hashlib's methods."""

    def __init__(self) -> None:
        self._value = 0

    def update(self, block: bytes) -> None:
        self._value = zlib.crc32(block, self._value)

    def digest(self) -> bytes:
        return self._value.to_bytes(4, "big")


def _summer(name: str) -> Any:
    return _Crc32() if name == "crc32" else hashlib.new(name, usedforsecurity=False)
