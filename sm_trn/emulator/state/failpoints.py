"""A failpoint is a named moment in the middle of a change, at which a test may let the process die as if it were killed.

Nothing happens unless SM_TRN_DIE_AT names an instant, as in ``object-placed:3``:
the third time that it is reached.
"""

from __future__ import annotations

import os
import signal
import threading

_WANTED, _, _TIMES = os.environ.get("SM_TRN_DIE_AT", "").partition(":")
_lock = threading.Lock()
_left = int(_TIMES or 1)


def failpoint(name: str) -> None:
    """Die here, at once and without a farewell, if that was asked for."""
    global _left  # noqa: PLW0603 - the count is of the process, as its death is
    if name != _WANTED:
        return
    with _lock:
        _left -= 1
        if _left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
