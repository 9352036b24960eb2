"""What is copied with a script. Imported first, it hears a SIGTERM that comes while the libraries load, for seconds."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

EARLY: list[int] = []  # the signals that came before a StopRequest was there to remember them
if Path(sys.argv[0]).resolve().parent == Path(__file__).resolve().parent.parent:  # a script beside this is what runs
    signal.signal(signal.SIGTERM, lambda number, _frame: EARLY.append(number))
