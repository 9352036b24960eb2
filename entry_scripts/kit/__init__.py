"""What the scripts share. Importing it decides, before sm_spot brings transformers, whether the
libraries may take torch_xla: they would wherever it can be imported.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Mapping

NEURON_DEVICE = Path("/dev/neuron0")


def speaks_xla(environ: Mapping[str, str]) -> bool:
    """It was asked for; or there is a Neuron device, or a launcher that starts XLA's workers."""
    asked = environ.get("SM_TRN_RUNTIME")
    if asked:
        return asked == "xla"
    for name in environ:
        if name.startswith(("PJRT_DEVICE", "XRT_", "NEURON_RT_")):
            return True
    return NEURON_DEVICE.exists()


if not speaks_xla(os.environ):
    os.environ.setdefault("USE_TORCH_XLA", "0")
