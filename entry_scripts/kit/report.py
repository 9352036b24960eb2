"""What a script says while it trains: metric lines of one form, throughput, padding, compilations, the device's memory and use.

    {'loss': 0.61, 'learning_rate': 0.00002, 'epoch': 0.5, 'step': 20, 'samples_per_second': 91.2, 'data_wait': 0.01, …}

Reading any of it never waits for the device.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import math
import shutil
import subprocess
import threading
import time
from typing import Any, Mapping

from kit.spot import UsageError, graphs_only


def metric_line(values: Mapping[str, Any]) -> str:
    """One dictionary in Trainer's form that `ast.literal_eval` and the classic metric regexes read alike.

    Floats are written out in full: 0.00005, never 5e-05, of which `'learning_rate': ([0-9.]*)` would read 5.
    """
    return "{" + ", ".join(f"'{name}': {_literal(value)}" for name, value in values.items()) + "}"


def _literal(value: Any) -> str:
    value = value.item() if hasattr(value, "item") else value  # numpy's and torch's numbers
    if not isinstance(value, float) or not math.isfinite(value):
        return repr(value)
    whole, _, decimals = f"{value:.10f}".partition(".")
    return whole + "." + (decimals.rstrip("0") or "0")


def refuse_nan(loss: float) -> None:
    if not math.isfinite(loss) and not graphs_only():
        raise UsageError(
            f"loss: got {loss}, wanted a finite number; lower the learning rate, or use bf16 instead of fp16"
        )


class Console:
    """Prints on the main worker only, each line at once: a killed process has said what it knew."""

    def __init__(self, *, is_main: bool) -> None:
        self.is_main = is_main

    def metrics(self, values: Mapping[str, Any]) -> None:
        if not graphs_only():
            self.say(metric_line(values))

    def say(self, text: str) -> None:
        if self.is_main:
            print(text, flush=True)


class Meter:
    """Speed of all workers together, this worker's waiting, and how full batches are, between two log lines."""

    def __init__(self, runtime: Any, samples_per_step: int) -> None:
        self._runtime, self._samples, self._workers = runtime, samples_per_step, runtime.world_size
        self._since, self._seconds, self._waited = time.perf_counter(), 0.0, 0.0
        self._steps, self.steps, self.seconds = 0, 0, 0.0  # the last two: of this process, evaluations left out
        self._batches: list[tuple[int, int]] = []  # tokens and positions of batches made and not yet trained on
        self._tokens = 0
        self._running, self._compiled, self._before = False, (0, 0.0), (0, 0.0)
        self._monitor = NeuronMonitor() if runtime.on_neuron and runtime.is_main else None

    def start(self) -> None:
        if not self._running:
            self._since, self._before, self._running = time.perf_counter(), self._runtime.compilations(), True

    def stop(self) -> None:
        """What happens until the next start, evaluation above all, is no training and counts nowhere."""
        if self._running:
            self._seconds += time.perf_counter() - self._since
            self._compiled, self._running = self.compiled(), False

    def compiled(self) -> tuple[int, float]:
        """Graphs and seconds so far."""
        if not self._running:
            return self._compiled
        now, before, known = self._runtime.compilations(), self._before, self._compiled
        return known[0] + now[0] - before[0], known[1] + now[1] - before[1]

    def waited(self, seconds: float) -> None:
        """For a batch."""
        self._waited += max(0.0, seconds)

    def batch(self, tokens: int, positions: int) -> None:
        self._batches.append((int(tokens), int(positions)))

    def step(self) -> None:
        self._steps += 1

    def lap(self, micro_batches: int = 1) -> dict[str, Any]:
        """Since the last lap. `micro_batches` a step: loaders make batches before they are used."""
        self.stop()
        self.start()
        seconds, steps, self._seconds, self._steps = self._seconds, self._steps, 0.0, 0
        self.seconds, self.steps = self.seconds + seconds, self.steps + steps
        used, self._batches = self._batches[: steps * micro_batches], self._batches[steps * micro_batches :]
        tokens, positions = sum(own for own, _ in used) * self._workers, sum(size for _, size in used) * self._workers
        self._tokens += tokens
        found = {**self._rates(seconds, steps), "data_wait": round(min(1.0, self._waited / max(seconds, 1e-9)), 4)}
        self._waited = 0.0
        if positions:  # of this worker, whose like the others are taken to be; none where loaders have processes
            found["tokens_per_second"] = round(tokens / max(seconds, 1e-9), 1)
            found["padding_fill"] = round(tokens / positions, 4)
        return {**found, **self.device()}

    def _rates(self, seconds: float, steps: int, prefix: str = "") -> dict[str, float]:
        rate = steps / max(seconds, 1e-9)
        rates = {prefix + "samples_per_second": rate * self._samples, prefix + "steps_per_second": rate}
        return {name: round(value, 3) for name, value in rates.items()}

    def summary(self) -> dict[str, float]:
        """Speed of all workers together since this process began to train."""
        found = {"train_runtime": round(self.seconds, 4), **self._rates(self.seconds, self.steps, "train_")}
        return {**found, **({"train_tokens_per_second": round(self._tokens / self.seconds, 1)} if self._tokens else {})}

    def device(self) -> dict[str, float]:
        """What the device has to say; nothing on a CPU."""
        found: dict[str, float] = {}
        if self._runtime.name == "xla":
            count, seconds = self.compiled()
            found.update(compiles=count, compile_seconds=round(seconds, 3))
        memory = self._runtime.memory()
        if memory:
            found["accelerator_memory_gb"] = round(memory / 1e9, 3)
        return {**found, **(self._monitor.values if self._monitor else {})}


class NeuronMonitor:
    """The program `neuron-monitor` beside the script, and its newest report.

    Form of its reports: https://awsdocs-neuron.readthedocs-hosted.com, "Neuron Monitor User Guide".
    """

    def __init__(self) -> None:
        self.values: dict[str, float] = {}
        program = shutil.which("neuron-monitor")
        with contextlib.suppress(OSError):  # it is a help, not a need
            if program is not None:
                self.process = subprocess.Popen([program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)  # noqa: S603 - a program of the image, by its full path
                atexit.register(self.process.kill)
                threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self.process.stdout or ():
            with contextlib.suppress(ValueError, TypeError, AttributeError):  # half a line, or a later version's form
                self.values = utilisation(json.loads(line))


def utilisation(report: Any) -> dict[str, float]:
    """Mean of the cores in use, in percent, and gigabytes held on the devices; of all processes of this machine."""
    cores, held = [], 0.0
    for runtime in report.get("neuron_runtime_data") or []:
        own = runtime.get("report") or {}
        used = (own.get("neuroncore_counters") or {}).get("neuroncores_in_use") or {}
        cores += [float(core["neuroncore_utilization"]) for core in used.values() if "neuroncore_utilization" in core]
        held += float(((own.get("memory_used") or {}).get("neuron_runtime_used_bytes") or {}).get("neuron_device") or 0)
    found = {"neuroncore_utilization": round(sum(cores) / len(cores), 2)} if cores else {}
    return {**found, **({"neuron_memory_gb": round(held / 1e9, 3)} if held else {})}
