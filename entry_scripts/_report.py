"""Owns what a Trainer script says while it trains: Trainer's dictionaries as our metric lines, with what they lack.

Must not know the task, the model, the data or how a checkpoint is kept.
"""

from __future__ import annotations

import time
from typing import Any

from transformers import TrainerCallback

from _console import Console
from _gauges import Gauges
from _meter import shares
from _peers import on_xla


class Report(TrainerCallback):  # type: ignore[misc]  # transformers is untyped here
    """Trainer's dictionaries as our metric lines, with the step and the speed in them."""

    def __init__(self, console: Console, spot: Any, gauges: Gauges, filling: Any, sizes: tuple[int, int]) -> None:
        self._console, self._spot, self._gauges, self._filling = console, spot, gauges, filling
        self._samples, tokens = sizes  # samples per step, tokens per sample at most
        self._step_tokens = float(self._samples * tokens)  # until steps' own have been counted
        self._counted = (0, 0)  # tokens, and the steps that they were in
        self._since, self._step, self._first_step = 0.0, 0, 0
        self._waited, self._heard = 0.0, (0.0, 0.0)  # seconds; when an event was last heard, and what was compiled then

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002 - Trainer's signature
        self._since, self._step, self._first_step = time.perf_counter(), state.global_step, state.global_step
        self._gauges.resume()

    def _hear(self, *_args: Any, **_kwargs: Any) -> None:
        self._heard = time.perf_counter(), self._gauges.compiled()[1]

    on_epoch_begin = on_substep_end = on_save = on_evaluate = _hear

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002 - Trainer's signature
        # Since the last event Trainer has only fetched a batch; XLA's loader also cuts the graph and compiles it then.
        then, compiled = self._heard
        if then:
            self._waited += max(0.0, time.perf_counter() - then - (self._gauges.compiled()[1] - compiled))

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002 - Trainer's signature
        if state.global_step == self._first_step + 1:
            seconds = round(time.perf_counter() - self._since, 3)
            first = {"first_step_seconds": seconds, "total_steps": state.max_steps}
            self._console.metrics({**first, **({"shapes": 1} if on_xla() else {})})
            # compilation and warm-up are in no step line's speed
            self._since, self._step, self._waited = time.perf_counter(), state.global_step, 0.0
            self._filling.take(args.gradient_accumulation_steps)
        self._hear()

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:  # noqa: ARG002 - as above
        values = {name: plain(value) for name, value in (logs or {}).items() if name != "total_flos"}
        if "train_runtime" in values:
            if self._spot.interrupted:
                return  # the summary of a run that has not ended
            values.update(self._rates(values["train_runtime"], state.global_step - self._first_step, "train_"))
        elif "loss" in values:
            now = time.perf_counter()
            steps, seconds = state.global_step - self._step, now - self._since
            if steps:
                values.update(self._rates(seconds, steps, ""))
                filling = self._filling.take(steps * args.gradient_accumulation_steps)
                self._count(filling[0] * args.world_size, steps)
                values.update(shares(filling, self._waited, seconds, args.world_size))
            values.update(self._gauges.values())
            self._since, self._step, self._waited = now, state.global_step, 0.0
        self._hear()
        self._console.metrics({**values, "step": state.global_step})

    def _count(self, tokens: int, steps: int) -> None:
        """Tokens without padding, so that the summary means by them what the lines mean."""
        if tokens:
            self._counted = self._counted[0] + tokens, self._counted[1] + steps
            self._step_tokens = self._counted[0] / self._counted[1]

    def _rates(self, seconds: float, steps: int, prefix: str) -> dict[str, float]:
        """Of all workers together, in this process's time: a resumed run counts only what it did itself."""
        per_second = steps / max(seconds, 1e-9)
        return {
            prefix + "samples_per_second": round(per_second * self._samples, 3),
            prefix + "steps_per_second": round(per_second, 3),
            prefix + "tokens_per_second": round(per_second * self._step_tokens, 1),
        }


def plain(value: Any) -> Any:
    """Numbers of numpy and torch as Python's own, which print as numbers. Ten decimals: learning rates are small."""
    return round(float(value), 10) if hasattr(value, "item") or isinstance(value, float) else value
