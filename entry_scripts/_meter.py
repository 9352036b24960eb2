"""Owns loss, speed, waiting and padding between two log lines; must not know the model, the data or how a line looks."""

from __future__ import annotations

import math
import time
from typing import Any, Iterable, Iterator

import torch

from _console import Mistake, graphs_only
from _filling import Filling
from _gauges import Gauges


class Meter:
    """Losses add up on the device until `collect`, which is the training loop's only waiting point."""

    def __init__(self, runtime: Any, samples_per_step: int) -> None:
        self._runtime = runtime
        self._samples_per_step = samples_per_step
        self._uncollected_steps = 0
        self._window_loss, self._window_steps = 0.0, 0
        self.total_loss = 0.0
        self._lap_seconds, self._lap_steps = 0.0, 0
        self.seconds, self.steps = 0.0, 0  # of this process, evaluations left out
        self._waited, self._filling = 0.0, Filling()
        self._gauges = Gauges(runtime.device, xla=runtime.name == "xla", is_main=runtime.is_main)
        self._reset_device_sum()

    def _reset_device_sum(self) -> None:
        # Uploaded rather than made there: to XLA a constant would be another graph.
        self._on_device = torch.zeros(()).to(self._runtime.device)

    def start_clock(self) -> None:
        self._since = time.perf_counter()
        self._gauges.resume()

    def stop_clock(self) -> None:
        """What happens until the next start is no training and counts nowhere."""
        now = time.perf_counter()
        self._lap_seconds += now - self._since
        self._since = now
        self._gauges.pause()

    def watch(self, batches: Iterator[Any], filling: Iterable[tuple[int, int]]) -> Iterator[Any]:
        """The same batches; how long the loop waits for each and how full it is goes into the next lap."""
        for tokens, positions in filling:
            before, compiling = time.perf_counter(), self._gauges.compiled()[1]
            batch = next(batches)
            compiled = (
                self._gauges.compiled()[1] - compiling
            )  # XLA's loader cuts the graph, which is no waiting for data
            self._waited += max(0.0, time.perf_counter() - before - compiled)
            self._filling.count(tokens, positions)
            yield batch

    def add(self, loss: Any) -> None:
        self._on_device += loss.detach()

    def end_step(self) -> None:
        self._uncollected_steps += 1
        self._lap_steps += 1

    def collect(self, *, stop: bool) -> bool:
        """Move the losses to the host and agree with the other workers: was any of us asked to stop?"""
        loss, stops = self._runtime.sum_over_workers([self._on_device, float(stop)])
        if not math.isfinite(loss) and not graphs_only():
            raise Mistake(f"loss: got {loss}, wanted a finite number; lower --learning_rate")
        self._reset_device_sum()
        loss /= self._runtime.world_size
        self._window_loss += loss
        self.total_loss += loss
        self._window_steps += self._uncollected_steps
        self._uncollected_steps = 0
        return bool(stops > 0)

    def take_window_loss(self) -> float:
        """Mean loss of the steps since it was last taken."""
        mean = self._window_loss / self._window_steps
        self._window_loss, self._window_steps = 0.0, 0
        return mean

    def lap(self) -> dict[str, float]:
        """Since the last lap: speed of all workers together, this one's waiting, and what the device says."""
        self.stop_clock()
        self._gauges.resume()
        seconds, steps, waited = self._lap_seconds, self._lap_steps, self._waited
        self._lap_seconds, self._lap_steps, self._waited = 0.0, 0, 0.0
        self.seconds, self.steps = self.seconds + seconds, self.steps + steps
        return {
            **self._rates(seconds, steps),
            **shares(self._filling.take(), waited, seconds),
            **self._gauges.values(),
        }

    def total_rates(self) -> dict[str, float]:
        """Speed of all workers together since this process began to train."""
        return self._rates(self.seconds, self.steps)

    def _rates(self, seconds: float, steps: int) -> dict[str, float]:
        per_second = steps / max(seconds, 1e-9)
        return {
            "samples_per_second": round(per_second * self._samples_per_step, 3),
            "steps_per_second": round(per_second, 3),
        }

    def state(self) -> dict[str, float]:
        return {"window_loss": self._window_loss, "window_steps": self._window_steps, "total_loss": self.total_loss}

    def load(self, state: dict[str, float]) -> None:
        self._window_loss, self._window_steps = state["window_loss"], int(state["window_steps"])
        self.total_loss = state["total_loss"]


def shares(filling: tuple[int, int], waited: float, seconds: float, workers: int = 1) -> dict[str, float]:
    """Tokens a second, without padding; their share of all positions; and the share of time spent waiting for data.

    `filling` is what all count together, or one of `workers`, whose like the others are taken to be.
    """
    (tokens, positions), seconds = filling, max(seconds, 1e-9)
    found = {"data_wait": round(min(1.0, waited / seconds), 4)}
    if positions:
        found["tokens_per_second"] = round(tokens * workers / seconds, 1)
        found["padding_fill"] = round(tokens / positions, 4)
    return found
