"""Where a watch is shown: lines for a pipe, a table redrawn in place for a terminal, one updated output for a notebook.

Writes only to the stream it was given. Reads no clock: ``now`` comes with the rows.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Protocol, TextIO

from . import format as fmt
from .watch import WatchRow, watch_lines
from .watch_card import watch_html
from .watch_table import watch_text

_REDRAW = timedelta(seconds=1)
_PROBE = "●○◇✓✗■↓↑×…█▒░┄▁"


class Display(Protocol):
    """Shows what a watch sees, and notes what no row can say; ``close`` leaves the last state where it is."""

    def show(self, rows: Sequence[WatchRow], now: datetime) -> None: ...

    def note(self, text: str, now: datetime) -> None: ...

    def close(self) -> None: ...


class LineDisplay:
    """One line per change, never redrawn: for pipes, CI and files."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._before: tuple[WatchRow, ...] = ()
        self._ascii = not writes_unicode(stream)

    def show(self, rows: Sequence[WatchRow], now: datetime) -> None:
        for line in watch_lines(self._before, rows, now):
            self._stream.write((_ascii(line) if self._ascii else line) + "\n")
        self._before = tuple(rows)
        self._stream.flush()

    def note(self, text: str, now: datetime) -> None:
        line = f"{fmt.iso(now)} {text}"
        self._stream.write((_ascii(line) if self._ascii else line) + "\n")
        self._stream.flush()

    def close(self) -> None:
        self._stream.flush()


class TerminalDisplay:
    """The table, redrawn in place at most once a second; a change of status is drawn at once."""

    def __init__(
        self, stream: TextIO, *, environ: Mapping[str, str] = os.environ, size: tuple[int, int] | None = None
    ) -> None:
        self._stream = stream
        self._color = wants_color(stream, environ)
        self._ascii = not writes_unicode(stream)
        self._size = size
        self._drawn = 0
        self._last: datetime | None = None
        self._words: list[str] = []
        self._rows: tuple[WatchRow, ...] = ()
        self._waiting: tuple[tuple[WatchRow, ...], datetime] | None = None

    def show(self, rows: Sequence[WatchRow], now: datetime) -> None:
        words = [row.look.word for row in rows]
        if self._last is not None and now - self._last < _REDRAW and words == self._words:
            self._waiting = (tuple(rows), now)
            return
        self._draw(rows, now)

    def note(self, text: str, now: datetime) -> None:
        """A line above the table, which stays; the table is drawn again below it."""
        rows = self._rows
        back = f"\x1b[{self._drawn}F\x1b[J" if self._drawn else ""
        self._stream.write(f"{back}{_ascii(text) if self._ascii else text}\n")
        self._drawn = 0
        if rows:
            self._draw(rows, now)
        self._stream.flush()

    def close(self) -> None:
        if self._waiting is not None:
            self._draw(*self._waiting)
        self._stream.flush()

    def _draw(self, rows: Sequence[WatchRow], now: datetime) -> None:
        width, height = self._size or shutil.get_terminal_size()
        text = watch_text(rows, now, width, self._color, ascii_only=self._ascii, height=height - 1)
        back = f"\x1b[{self._drawn}F\x1b[J" if self._drawn else ""
        self._stream.write(f"{back}{text}\n")
        self._stream.flush()
        self._drawn = text.count("\n") + 1
        self._rows = tuple(rows)
        self._last, self._words, self._waiting = now, [row.look.word for row in rows], None


class NotebookDisplay:
    """One output updated in place with static HTML; lines on ``stream`` where IPython is not there.

    ``display`` is IPython's function of that name, or one with its signature.
    """

    def __init__(self, stream: TextIO | None = None, *, display: Callable[..., Any] | None = None) -> None:
        self._display = display or _ipython_display()
        self._lines = LineDisplay(stream or sys.stdout)
        self._handle: Any = None
        self._rows: tuple[WatchRow, ...] = ()
        self._notes: tuple[str, ...] = ()

    def show(self, rows: Sequence[WatchRow], now: datetime) -> None:
        if self._display is None:
            self._lines.show(rows, now)
            return
        self._rows = tuple(rows)
        self._update(now)

    def note(self, text: str, now: datetime) -> None:
        """Below the rows, the last three."""
        if self._display is None:
            self._lines.note(text, now)
            return
        self._notes = (*self._notes, f"{fmt.clock(now)} {text}")[-3:]
        self._update(now)

    def _update(self, now: datetime) -> None:
        said = "\n".join(self._notes)
        bundle = {
            "text/html": watch_html(self._rows, now, self._notes),
            "text/plain": watch_text(self._rows, now) + (f"\n{said}" if said else ""),
        }
        if self._display is None:
            return
        if self._handle is None:
            self._handle = self._display(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)

    def close(self) -> None:
        self._lines.close()


def display_for(stream: TextIO, notebook: bool | None = None, *, environ: Mapping[str, str] = os.environ) -> Display:
    """The display that fits: a notebook's when running in one (or told so), a terminal's for a capable terminal, else lines."""
    if in_notebook() if notebook is None else notebook:
        return NotebookDisplay(stream)
    if stream.isatty() and environ.get("TERM", "") != "dumb":
        return TerminalDisplay(stream, environ=environ)
    return LineDisplay(stream)


def wants_color(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """FORCE_COLOR turns colour on, NO_COLOR and TERM=dumb off; else a terminal gets it and a pipe does not."""
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR", "0") not in {"", "0"}:
        return True
    return stream.isatty() and environ.get("TERM", "") != "dumb"


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


def _ipython_display() -> Callable[..., Any] | None:
    try:
        from IPython.display import display  # noqa: PLC0415 - optional, and only a notebook has it
    except ImportError:
        return None
    found: Callable[..., Any] = display
    return found


def _ascii(line: str) -> str:
    return line.replace("×", "x").encode("ascii", "replace").decode("ascii")
