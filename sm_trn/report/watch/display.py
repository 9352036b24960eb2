"""Where a watch is shown: lines for a pipe, a table redrawn in place for a terminal, one updated output for a notebook.

Writes only to the stream it was given. Reads no clock: ``now`` comes with the rows.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TextIO

from ...core.formatting import numbers as fmt
from ...core.formatting.printable import ascii_text
from ...core.formatting.theme import wants_color
from ..jobs import WatchRow
from .text import watch_html, watch_lines, watch_text

_REDRAW = timedelta(seconds=1)
_PAINT = re.compile(r"\x1b\[[0-9;]*m")
_PROBE = "●○◇✓✗■↓↑×…█▒░┄▁"


class Display:
    """Shows nothing, for those who want the logs read and no table; a subclass shows what a watch sees."""

    def show(self, rows: Sequence[WatchRow], now: datetime) -> None:
        """The jobs as they are."""

    def note(self, text: str, now: datetime) -> None:
        """What no row can say."""

    def close(self, words: str = "") -> None:
        """Leave the last state where it is, and end with ``words``."""


class LineDisplay(Display):
    """One line per change, never redrawn: for pipes, CI and files."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._before: tuple[WatchRow, ...] = ()
        self._ascii = not writes_unicode(stream)

    def show(self, rows: Sequence[WatchRow], now: datetime) -> None:
        self._write(*watch_lines(self._before, rows, now))
        self._before = tuple(rows)

    def note(self, text: str, now: datetime) -> None:
        self._write(f"{fmt.iso(now)} {text}")

    def close(self, words: str = "") -> None:
        self._write(*([words] if words else []))

    def _write(self, *lines: str) -> None:
        for line in lines:
            self._stream.write(f"{ascii_text(line) if self._ascii else line}\n")
        self._stream.flush()


class TerminalDisplay(Display):
    """The table, redrawn in place at most once a second; a change of status is drawn at once."""

    def __init__(
        self, stream: TextIO, *, environ: Mapping[str, str] = os.environ, size: tuple[int, int] | None = None
    ) -> None:
        self._stream = stream
        self._color = wants_color(stream, environ)
        self._ascii = not writes_unicode(stream)
        self._size = size
        self._drawn: list[int] = []  # the length of each line on the screen
        self._last: datetime | None = None
        self._rows: tuple[WatchRow, ...] = ()
        self._waiting: tuple[Sequence[WatchRow], datetime] | None = None

    def show(self, rows: Sequence[WatchRow], now: datetime) -> None:
        same = [row.look.word for row in rows] == [row.look.word for row in self._rows]
        if self._last is not None and now - self._last < _REDRAW and same:
            self._waiting = (tuple(rows), now)
            return
        self._draw(rows, now)

    def note(self, text: str, now: datetime) -> None:
        """A line above the table, which stays; the table is drawn again below it."""
        self._stream.write(f"{self._back()}\x1b[J{ascii_text(text) if self._ascii else text}\n")
        self._drawn = []
        if self._rows:
            self._draw(self._rows, now)
        self._stream.flush()

    def close(self, words: str = "") -> None:
        """The words stand below the table: above it they could have scrolled away."""
        if self._waiting is not None:
            self._draw(*self._waiting)
        elif words and self._rows and self._last is not None:
            self._draw(self._rows, self._last)
        if words:
            self._stream.write(f"{ascii_text(words) if self._ascii else words}\n")
        self._stream.flush()

    def _draw(self, rows: Sequence[WatchRow], now: datetime) -> None:
        width, height = self._size or shutil.get_terminal_size()
        text = watch_text(rows, now, width, self._color, ascii_only=self._ascii, height=height - 1)
        # Line by line over the old ones, then whatever is below them: nothing is empty in between, so nothing flickers.
        lines = text.split("\n")
        drawn = "".join(f"{line}\x1b[K\n" for line in lines)
        self._stream.write(f"{self._back()}{drawn}\x1b[J")
        self._stream.flush()
        self._drawn = [len(_PAINT.sub("", line)) for line in lines]
        self._rows, self._last, self._waiting = tuple(rows), now, None

    def _back(self) -> str:
        """To the beginning of what was drawn. A terminal that has become narrower since shows long lines as several."""
        width = (self._size or shutil.get_terminal_size())[0]
        rows = sum(max(1, -(-length // width)) for length in self._drawn)
        return f"\x1b[{rows}F" if rows else ""


class NotebookDisplay(Display):
    """One output updated in place with static HTML. ``display`` is IPython's function of that name, or one with its signature."""

    def __init__(self, display: Callable[..., Any]) -> None:
        self._display = display
        self._handle: Any = None
        self._rows: tuple[WatchRow, ...] = ()
        self._notes: tuple[str, ...] = ()

    def show(self, rows: Sequence[WatchRow], now: datetime) -> None:
        self._rows = tuple(rows)
        self._update(now)

    def note(self, text: str, now: datetime) -> None:
        """Below the rows, the last three."""
        self._notes = (*self._notes, f"{fmt.clock(now)} {text}")[-3:]
        self._update(now)

    def close(self, words: str = "") -> None:
        if words:
            self._display({"text/plain": words}, raw=True)

    def _update(self, now: datetime) -> None:
        plain = "\n".join([watch_text(self._rows, now), *self._notes])
        bundle = {"text/html": watch_html(self._rows, now, self._notes), "text/plain": plain}
        if self._handle is not None:
            self._handle.update(bundle, raw=True)
        else:
            self._handle = self._display(bundle, raw=True, display_id=True)


def display_for(stream: TextIO, notebook: bool | None = None, *, environ: Mapping[str, str] = os.environ) -> Display:
    """The display that fits: a notebook's when running in one (or told so), a terminal's for a capable terminal, else lines."""
    display = ipython_display() if (in_notebook() if notebook is None else notebook) else None
    if display is not None:
        return NotebookDisplay(display)
    if stream.isatty() and environ.get("TERM", "") != "dumb":  # its cursor can move back over what was written
        return TerminalDisplay(stream, environ=environ)
    return LineDisplay(stream)


def writes_unicode(stream: TextIO) -> bool:
    """Whether the stream's encoding has our glyphs."""
    try:
        _PROBE.encode(getattr(stream, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def in_notebook() -> bool:
    """Whether this runs in a Jupyter kernel. Loads nothing."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and type(shell).__name__ == "ZMQInteractiveShell"


def ipython_display() -> Callable[..., Any] | None:
    """IPython's function that shows, None where it is not installed."""
    try:
        from IPython.display import display  # noqa: PLC0415 - optional, and only a notebook has it
    except ImportError:
        return None
    found: Callable[..., Any] = display
    return found
