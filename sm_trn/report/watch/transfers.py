"""What is seen of a long upload or download: one line, drawn again at each percent, in a terminal or a notebook only.

Reads no clock, and knows nothing of S3. What is smaller than ``QUIET_BYTES`` is not worth a line.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, TextIO

from ...core.formatting import numbers as fmt
from ...core.formatting.printable import cut, one_line
from .display import in_notebook, ipython_display, wants_redraw

QUIET_BYTES = 8_000_000
WIDTH = 79


class TransferLine:
    """Called with what is moved, the bytes so far, and all of them."""

    def __init__(self, stream: TextIO | None = None, *, display: Callable[..., Any] | None = None) -> None:
        self._stream = stream
        self._display = display
        self._shown: tuple[str, int] | None = None
        self._handle: Any = None

    def __call__(self, what: str, done: int, whole: int) -> None:
        percent = 100 * done // whole if whole else 100
        if whole < QUIET_BYTES or self._shown == (what, percent):
            return
        self._shown = (what, percent)
        self._draw(transfer_text(what, done, whole), ended=done >= whole)

    def _draw(self, line: str, *, ended: bool) -> None:
        if self._display is not None:
            if self._handle is None:
                self._handle = self._display({"text/plain": line}, raw=True, display_id=True)
            else:
                self._handle.update({"text/plain": line}, raw=True)
            if ended:
                self._handle = None  # what comes next has a line of its own
        elif self._stream is not None:
            self._stream.write(f"\r{line}\x1b[K" + "\n" * ended)
            self._stream.flush()


def transfer_text(what: str, done: int, whole: int) -> str:
    """``uploading train.csv  312 MB of 1.2 GB  26%``, in at most 79 cells."""
    numbers = f"  {fmt.file_size(done)} of {fmt.file_size(whole)}  {100 * done // whole if whole else 100}%"
    return cut(one_line(what), WIDTH - len(numbers)) + numbers


def transfer_line(stream: TextIO | None = None, *, environ: Mapping[str, str] = os.environ) -> TransferLine | None:
    """The line that fits where this runs; None where nothing could be drawn again: a pipe, a file, CI."""
    if in_notebook():
        return TransferLine(display=ipython_display())
    out = stream or sys.stderr
    return TransferLine(out) if wants_redraw(out, environ) else None
