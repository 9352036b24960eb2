"""Owns what a device says of itself at a logged step: compilations, memory, utilisation; must not know loop or lines.

Reading a gauge never waits for the device.
"""

from __future__ import annotations

import contextlib
import importlib
from typing import Any

import torch

from _neuron_monitor import NeuronMonitor

GIGABYTE = 1e9


class Gauges:
    """Of one worker. Compilations count between `resume` and `pause` only: evaluation compiles graphs of its own."""

    def __init__(self, device: Any, *, xla: bool, is_main: bool) -> None:
        self._device, self._xla = device, xla
        self._before, self._count, self._seconds = (0, 0.0), 0, 0.0
        self._running = False
        on_neuron = xla or torch.device(device).type == "neuron"
        self._monitor = NeuronMonitor() if on_neuron and is_main else None

    def resume(self) -> None:
        if not self._running:
            self._before, self._running = compilations(xla=self._xla), True

    def pause(self) -> None:
        self._count, self._seconds = self.compiled()
        self._running = False

    def compiled(self) -> tuple[int, float]:
        """Graphs and seconds so far."""
        if not self._running:
            return self._count, self._seconds
        count, seconds = compilations(xla=self._xla)
        return self._count + count - self._before[0], self._seconds + seconds - self._before[1]

    def values(self) -> dict[str, float]:
        """What there is to say; nothing on a CPU."""
        found: dict[str, float] = {}
        if self._xla:
            count, seconds = self.compiled()
            found.update(compiles=count, compile_seconds=round(seconds, 3))
        memory = accelerator_memory(self._device, xla=self._xla)
        if memory:
            found["accelerator_memory_gb"] = round(memory / GIGABYTE, 3)
        if self._monitor is not None:
            found.update(self._monitor.values())
        return found

    def close(self) -> None:
        if self._monitor is not None:
            self._monitor.close()


def compilations(*, xla: bool) -> tuple[int, float]:
    """Number and seconds of this process's compilations; none where nothing compiles."""
    if not xla:
        return 0, 0.0
    known = importlib.import_module("torch_xla.debug.metrics").metric_data("CompileTime")
    return (int(known[0]), float(known[1]) / 1e9) if known else (0, 0.0)  # it counts nanoseconds


def accelerator_memory(device: Any, *, xla: bool) -> float:
    """Bytes: the most that tensors have held at once, on XLA what is held now; 0 where the device does not say."""
    if xla:
        with contextlib.suppress(RuntimeError, AttributeError, ImportError):  # not every device can be asked
            known = importlib.import_module("torch_xla.core.xla_model").get_memory_info(device)
            if "bytes_used" in known:
                return float(known["bytes_used"])
            return 1024.0 * float(known.get("kb_total", 0) - known.get("kb_free", 0))  # before torch_xla 2.2
        return 0.0
    kind = torch.device(device).type
    most = getattr(getattr(torch, kind, None), "max_memory_allocated", None)
    return float(most(device)) if kind != "cpu" and most else 0.0
