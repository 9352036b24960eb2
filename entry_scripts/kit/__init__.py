"""What is copied with a script. It is imported before the libraries, which load for seconds."""

from __future__ import annotations

import gc
import signal
import sys
from pathlib import Path

gc.set_threshold(100_000, 50, 100)  # libraries make many objects and few cycles: searched less often, they load faster
EARLY: list[int] = []  # SIGTERM, where it came before a StopRequest was there to remember it
if Path(sys.argv[0]).resolve().parent == Path(__file__).resolve().parent.parent:  # a script beside this is what runs
    signal.signal(signal.SIGTERM, lambda number, _frame: EARLY.append(number))
