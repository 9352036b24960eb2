"""Owns the program `neuron-monitor`: starts it where it exists, keeps its newest report; must not know metric lines.

The form of its reports: https://awsdocs-neuron.readthedocs-hosted.com, "Neuron Monitor User Guide".
"""

from __future__ import annotations

import atexit
import contextlib
import json
import shutil
import subprocess
import threading
from typing import IO, Any

PROGRAM = "neuron-monitor"


class NeuronMonitor:
    """One process beside the script. It ends with the script; should the script be killed, at its next report's write."""

    def __init__(self) -> None:
        self._newest: dict[str, float] = {}
        program = shutil.which(PROGRAM)
        self._process = None
        if program is None:
            return
        try:
            self._process = subprocess.Popen([program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)  # noqa: S603 - a program of the image, by its full path
        except OSError:
            return  # it is a help, not a need
        atexit.register(self.close)
        threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True).start()

    def _read(self, lines: IO[str]) -> None:
        for line in lines:
            with contextlib.suppress(ValueError, TypeError, AttributeError):  # half a line, or a later version's form
                self._newest = utilisation(json.loads(line))

    def values(self) -> dict[str, float]:
        """Of the newest report; nothing where there is none yet, or no such program."""
        return dict(self._newest)

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            atexit.unregister(self.close)


def utilisation(report: Any) -> dict[str, float]:
    """Mean of the cores in use, in percent, and bytes held on the devices; of all processes of this machine."""
    cores, held = [], 0.0
    for runtime in report.get("neuron_runtime_data") or []:
        own = runtime.get("report") or {}
        used = (own.get("neuroncore_counters") or {}).get("neuroncores_in_use") or {}
        cores += [float(core["neuroncore_utilization"]) for core in used.values() if "neuroncore_utilization" in core]
        held += float(((own.get("memory_used") or {}).get("neuron_runtime_used_bytes") or {}).get("neuron_device") or 0)
    found = {"neuroncore_utilization": round(sum(cores) / len(cores), 2)} if cores else {}
    return {**found, **({"neuron_memory_gb": round(held / 1e9, 3)} if held else {})}
