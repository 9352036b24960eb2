"""Owns AdamW and the linear schedule; must not know devices or the loop."""

from __future__ import annotations

from typing import Any

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

    optimizer = torch.optim.AdamW(groups, lr=learning_rate)
    return optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
