"""Owns loss and speed between two log lines; must not know the model, the data or how a line looks."""

from __future__ import annotations

import math
import time
from typing import Any

import torch

from _console import Mistake


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
        self._reset_device_sum()

    def _reset_device_sum(self) -> None:
        # Uploaded rather than made there: to XLA a constant would be another graph.
        self._on_device = torch.zeros(()).to(self._runtime.device)

    def start_clock(self) -> None:
        self._since = time.perf_counter()

    def stop_clock(self) -> None:
        """What happens until the next start is no training and counts nowhere."""
        now = time.perf_counter()
        self._lap_seconds += now - self._since
        self._since = now

    def add(self, loss: Any) -> None:
        self._on_device += loss.detach()

    def end_step(self) -> None:
        self._uncollected_steps += 1
        self._lap_steps += 1

    def collect(self, *, stop: bool) -> bool:
        """Move the losses to the host and agree with the other workers: was any of us asked to stop?"""
        loss, stops = self._runtime.sum_over_workers([self._on_device, float(stop)])
        if not math.isfinite(loss):
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
        """Speed of all workers together since the last lap."""
        self.stop_clock()
        seconds, steps = self._lap_seconds, self._lap_steps
        self._lap_seconds, self._lap_steps = 0.0, 0
        self.seconds, self.steps = self.seconds + seconds, self.steps + steps
        return self._rates(seconds, steps)

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
