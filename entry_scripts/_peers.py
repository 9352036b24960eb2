"""Owns what workers that Trainer has connected tell one another; must not know what they train."""

from __future__ import annotations

import os
from typing import Any

import torch
import torch.distributed as dist

from _runtime import choose


def on_xla() -> bool:
    return choose(os.environ) == "xla"


def seed_everything(seed: int) -> None:
    torch.manual_seed(seed)
    if on_xla():
        import torch_xla.core.xla_model as xm

        xm.set_rng_state(seed)


def wait_for_all(world_size: int) -> None:
    if world_size == 1:
        return
    if on_xla():
        import torch_xla.core.xla_model as xm

        xm.rendezvous("sm_trn")
    else:
        dist.barrier()


def any_of_us(seen: bool, device: Any, world_size: int) -> bool:  # noqa: FBT001 - the one value it is about
    """Whether it is true on any worker. A collective that waits for the device: not for every step."""
    if world_size == 1:
        return seen
    total = torch.tensor(float(seen)).to(device)
    if on_xla():
        import torch_xla.core.xla_model as xm

        total = xm.all_reduce("sum", total)
    else:
        dist.all_reduce(total)
    return bool(total.item() > 0)
