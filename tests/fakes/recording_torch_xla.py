"""A torch_xla that records the order of calls and computes on the CPU. It proves what we call, not what a device does.

It imitates torch_xla 2.9.0, read from its wheel; each part names the file and the line.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any

import torch
from fakes.stand_in import module, standing_in


class RecordingTorchXla:
    """`old` has the names of torch_xla 1.11 to 2.6 (xrt_world_size, mark_step), otherwise those of 2.7 and later."""

    def __init__(self, *, old: bool = False, rank: int = 0, world_size: int = 1) -> None:
        self.calls: list[str] = []
        self._old, self._rank, self._world_size = old, rank, world_size

    def record(self, name: str, answer: Any = None) -> Any:
        """A function that only records that it was called, and gives `answer`."""

        def recorded(*_args: Any, **_kwargs: Any) -> Any:
            self.calls.append(name)
            return answer

        return recorded

    @contextlib.contextmanager
    def installed(self) -> Iterator[RecordingTorchXla]:
        with standing_in("torch_xla", self._modules()):
            yield self

    def _modules(self) -> Iterator[ModuleType]:
        core = {
            "xla_device": self.record("xla_device", torch.device("cpu")),
            "reduce_gradients": self.record("reduce"),  # core/xla_model.py line 1129
            "set_rng_state": self.record("seed"),
            "rendezvous": self.record("rendezvous"),
            "all_reduce": self._all_reduce,  # line 396
            "wait_device_ops": self.record("wait"),
            "get_memory_info": lambda _device: {"bytes_used": 3_000_000_000, "bytes_limit": 16_000_000_000},
        }
        old_core = {
            "xrt_world_size": lambda: self._world_size,
            "get_ordinal": lambda: self._rank,
            "get_local_ordinal": lambda: self._rank,
            "mark_step": self.record("cut"),  # line 1031
        }
        new_runtime = {
            "world_size": lambda: self._world_size,  # runtime.py lines 106, 131 and 143
            "global_ordinal": lambda: self._rank,
            "local_ordinal": lambda: self._rank,
        }
        yield module("torch_xla", {} if self._old else {"sync": self.record("cut")})  # torch_xla.py line 78
        yield module("torch_xla.core", {})
        yield module("torch_xla.core.xla_model", {**core, **(old_core if self._old else {})})
        yield module("torch_xla.distributed", {})
        yield module("torch_xla.distributed.parallel_loader", {"MpDeviceLoader": self._loader})
        yield module("torch_xla.distributed.xla_backend", {})
        yield module("torch_xla.debug", {})
        yield module("torch_xla.debug.metrics", {"metric_data": self._metric_data})
        if not self._old:
            yield module("torch_xla.runtime", new_runtime)

    def _all_reduce(self, kind: str, tensor: Any) -> Any:
        self.calls.append(f"all_reduce {kind}")
        # The other workers add the same, have no larger number, and one of them has nothing.
        return {"sum": tensor * self._world_size, "max": tensor, "min": tensor * 0}[kind]

    def _metric_data(self, name: str) -> Any:
        """As the real one: number, nanoseconds, samples; None before the first. Here the first cut compiles."""
        return (1, 2_500_000_000.0, []) if name == "CompileTime" and "cut" in self.calls else None

    def _loader(self, loader: Iterable[Any], device: Any) -> Iterator[Any]:
        for batch in loader:
            self.calls.append("upload")
            yield {name: tensor.to(device) for name, tensor in batch.items()}
