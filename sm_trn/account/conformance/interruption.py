"""What tells a run to end: Ctrl-C, SIGTERM, or SIGHUP of a terminal that is closed. It must not know what a run does."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Final

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PATIENCE = 2  # so many signals are only noted while something is removed; ``timeout`` and terminals send two of them


class Interrupted(KeyboardInterrupt):
    """The run was told to end, by the signal ``number``."""

    def __init__(self, number: int) -> None:
        super().__init__(f"Interrupted by {signal.Signals(number).name}.")
        self.number = number


class Interruption:
    """While it is entered, a signal is noted. It raises Interrupted inside ``allowed``, at the end, or where it is the third.

    A signal that is ignored, or that somebody else has a handler for, stays as it is; so do all outside the main thread.
    """

    def __init__(self) -> None:
        self._met = list[int]()
        self._allowed = False
        self._before = dict[signal.Signals, object]()

    def __enter__(self) -> Interruption:
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                if signal.getsignal(number) in {signal.SIG_DFL, signal.default_int_handler}:
                    self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)  # type: ignore[arg-type]  # what signal() gave
        if self._met and kind is None:
            raise Interrupted(self._met[0])

    @contextlib.contextmanager
    def allowed(self) -> Iterator[None]:
        """Inside, a signal raises Interrupted at once; one that was noted before raises it at the start."""
        self._allowed = True
        try:
            if self._met:
                raise Interrupted(self._met[0])
            yield
        finally:
            self._allowed = False

    def _note(self, number: int, _frame: FrameType | None) -> None:
        self._met.append(number)
        if self._allowed or len(self._met) > PATIENCE:
            self._allowed = False
            raise Interrupted(number)
