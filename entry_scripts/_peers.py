"""Owns what Trainer's workers need before they are connected, and tell one another then; must not know the task."""

from __future__ import annotations

import contextlib
import os
from typing import Any

import torch
import torch.distributed as dist

from _memory import keep_memory
from _parts import Grain
from _runtime import BACKENDS, NEURON_DEFAULTS, Place, choose, prefer_loopback
from _waves import at_once, turn, workers_here


def set_environment() -> None:
    """Before Trainer connects the workers; what the job has set itself stays."""
    if on_xla():
        for name, value in NEURON_DEFAULTS.items():
            os.environ.setdefault(name, value)
    if on_cpu():
        prefer_loopback(os.environ)
        keep_memory()


def on_cpu() -> bool:
    return choose(os.environ) == "cpu"


def on_xla() -> bool:
    return choose(os.environ) == "xla"


def grain_of(args: Any) -> Grain | None:
    """How batches are cut; None where a batch stays whole: each length is compiled, or a library owns the backward."""
    name = choose(os.environ)
    owned = any(getattr(args, library, None) for library in ("deepspeed", "fsdp", "mp_parameters"))
    return None if name == "xla" or owned else BACKENDS[name].grain


def seed_everything(seed: int) -> None:
    """torch's generators; `torch.manual_seed` itself takes a stack trace for each device that is not there."""
    torch.default_generator.manual_seed(seed)
    if torch.cuda.is_initialized():
        torch.cuda.manual_seed_all(seed)
    if hasattr(getattr(torch, "neuron", None), "manual_seed"):
        torch.neuron.manual_seed(seed)
    if on_xla():
        import torch_xla.core.xla_model as xm

        xm.set_rng_state(seed)


def workers() -> int:
    """All processes; with tensor or pipeline parallelism these are more than the replicas of the model."""
    if on_xla():
        import torch_xla.core.xla_model as xm

        if hasattr(xm, "xrt_world_size"):  # torch_xla before 2.7
            return int(xm.xrt_world_size())
        import torch_xla.runtime as xr

        return int(xr.world_size())
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def wait_for_all() -> None:
    if workers() == 1:
        return
    if on_xla():
        import torch_xla.core.xla_model as xm

        xm.rendezvous("sm_trn")
    else:
        dist.barrier()


def loading_turn(args: Any) -> contextlib.AbstractContextManager[None]:
    """One worker per machine downloads, the others find it in the cache; then they load in waves."""
    place = Place.read(os.environ)
    args.device  # noqa: B018 - asking for it connects the workers
    return turn(place.local_rank, workers_here(place.world_size), wait_for_all, at_once())


def settled(model: Any, args: Any) -> Any:
    """On XLA at home on its device before the next worker's turn; elsewhere Trainer, or what it drives, knows when."""
    return model.to(args.device) if on_xla() else model


def any_of_us(seen: bool, device: Any) -> bool:
    """Whether it is true on any worker. A collective that waits for the device: not for every step."""
    if workers() == 1:
        return seen
    total = torch.tensor(float(seen)).to(device)
    if on_xla():
        import torch_xla.core.xla_model as xm

        total = xm.all_reduce("sum", total)
    else:
        dist.all_reduce(total)
    return bool(total.item() > 0)
