"""Owns AdamW, in the kernel that a device has for it, and the linear schedule; must not know the loop."""

from __future__ import annotations

import contextlib
from typing import Any, Mapping

import torch


def adamw_with_linear_schedule(
    model: Any, *, learning_rate: float, weight_decay: float, warmup_steps: int, total_steps: int
) -> tuple[Any, Any]:
    """No decay for biases and norms; up to the peak in `warmup_steps`, from there down to 0 after `total_steps`."""
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    groups = [
        {"params": [parameter for parameter in parameters if parameter.ndim > 1], "weight_decay": weight_decay},
        {"params": [parameter for parameter in parameters if parameter.ndim <= 1], "weight_decay": 0.0},
    ]

    def factor(step: int) -> float:
        return min((step + 1) / (warmup_steps + 1), (total_steps - step) / (total_steps - warmup_steps))

    optimizer = _adamw(groups, learning_rate)
    return optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, factor)


def load_optimizer(optimizer: Any, state: Mapping[str, Any]) -> None:
    """What was saved, but for how a step is computed: that is this device's, and the checkpoint may be another's."""
    own = [{name: group[name] for name in ("fused", "foreach") if name in group} for group in optimizer.param_groups]
    groups = [{**saved, **names} for saved, names in zip(state["param_groups"], own)]
    optimizer.load_state_dict({**state, "param_groups": groups})  # by these torch decides where the count of steps lies


def _adamw(groups: Any, learning_rate: float) -> Any:
    """In one kernel where torch has one: for CUDA since 2.0, for CPU since 2.4. Of other devices it may only believe so."""
    kinds = {parameter.device.type for group in groups for parameter in group["params"]}
    if kinds <= {"cpu", "cuda"}:
        with contextlib.suppress(RuntimeError, TypeError):  # not for this device; not in this torch
            return torch.optim.AdamW(groups, lr=learning_rate, fused=True)
    return torch.optim.AdamW(groups, lr=learning_rate)
