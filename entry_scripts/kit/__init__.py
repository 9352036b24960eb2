"""What the scripts share. Importing it sets the environment that accelerate, transformers and
torch_xla read on import.
"""

from __future__ import annotations

import contextlib

import sm_spot
from kit.device import set_environment

with contextlib.suppress(sm_spot.UsageError):  # said in a sentence when the flags are read
    set_environment()
