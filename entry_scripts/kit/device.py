"""What accelerate and Trainer leave to a job: the device by evidence, its environment, turns to
load, and gauges.
"""

from __future__ import annotations

import contextlib
import importlib.util
import math
import os
import socket
import time
from collections import defaultdict
from typing import Any, Callable, Iterator, Mapping, MutableMapping

from kit import NEURON_DEVICE, speaks_xla
from sm_spot import UsageError, barrier, place

import torch

NAMES = ("cpu", "cuda", "neuron", "xla")
# workers of a machine; 8 as in optimum-neuron's num_local_ranks_per_step
LOADING_AT_ONCE = "SM_TRN_LOADING_AT_ONCE"
# Set before torch_xla is imported, and only where the job has not set them itself. Values as in
# AWS's own training samples: https://awsdocs-neuron.readthedocs-hosted.com
NEURON_DEFAULTS = {
    "NEURON_CC_FLAGS": "--model-type=transformer --retry_failed_compilation",
    "NEURON_FUSE_SOFTMAX": "1",
    "NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS": "3",
    "NEURON_RT_STOCHASTIC_ROUNDING_EN": "1",
    "NEURON_RT_STOCHASTIC_ROUNDING_SEED": "0",
    "TOKENIZERS_PARALLELISM": "false",
}


# --- choosing ---


def choose(environ: Mapping[str, str] = os.environ) -> str:
    """The kind of device; starts nothing. torch_xla being importable is no reason to use it:
    evidence is.
    """
    asked = environ.get("SM_TRN_RUNTIME")
    if asked:
        if asked not in NAMES:
            raise UsageError(f"SM_TRN_RUNTIME: got {asked!r}, wanted one of {', '.join(NAMES)}")
        return asked
    # Inferentia's older torch_neuron also adds torch.neuron, without a device in it.
    native = getattr(torch, "neuron", None)
    if native is not None and hasattr(native, "is_available") and native.is_available():
        return "neuron"
    if speaks_xla(environ) and importlib.util.find_spec("torch_xla"):
        return "xla"
    if NEURON_DEVICE.exists():
        raise UsageError(
            f"device: got {NEURON_DEVICE} but neither torch.neuron nor torch_xla, wanted one of them; use an image with "
            "torch-neuronx, or set SM_TRN_RUNTIME=cpu to train on the CPU"
        )
    return "cuda" if torch.cuda.is_available() else "cpu"


def set_environment(environ: MutableMapping[str, str] = os.environ) -> str:
    """Set what is not set, before accelerate and torch_xla are imported, and return the kind of
    device.
    """
    name = choose(environ)
    if name == "xla":
        for variable, value in NEURON_DEFAULTS.items():
            environ.setdefault(variable, value)
        return name
    # accelerate and transformers take it wherever it can be imported
    environ.setdefault("USE_TORCH_XLA", "0")
    if name != "cpu":
        torch.set_float32_matmul_precision("high")  # TF32 where the GPU has it
        return name
    local = environ.get("MASTER_ADDR", "").startswith(("127.", "localhost"))
    interfaces = [interface for _, interface in socket.if_nameindex()]
    if (local or place(environ).hosts == 1) and "lo" in interfaces:
        environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # whatever the host name resolves to
    return name


def has_bf16(name: str) -> bool:
    """Whether the device computes in bfloat16 as fast as it can: Ampere and later, Neuron."""
    if name == "cuda":
        return bool(torch.cuda.get_device_capability()[0] >= 8)
    return name == "neuron" or (name == "xla" and NEURON_DEVICE.exists())


def waves_of(local_rank: int, workers: int, at_once: int) -> tuple[int, int]:
    """In which wave this worker of a machine loads, and the number of the last: 0 has the first
    worker alone.
    """
    return math.ceil(local_rank / at_once), math.ceil((workers - 1) / at_once)


@contextlib.contextmanager
def loading_turn(environ: Mapping[str, str] = os.environ) -> Iterator[None]:
    """The first worker of a machine alone: it fills the caches. Then the others in waves: each
    holds a whole model on the host until it is on its device, so move it there inside. Inside there
    can be no collective.
    """
    at_once = environ.get(LOADING_AT_ONCE, "8")
    if not at_once.isdigit() or int(at_once) < 1:
        raise UsageError(
            f"{LOADING_AT_ONCE}: got {at_once!r}, wanted a number of workers from 1 on"
        )
    here = place()
    own, last = waves_of(here.local_rank, here.here, int(at_once))
    for _ in range(own):
        barrier()
    yield  # after a failure in it nobody waits: the launcher ends the others
    for _ in range(last + 1 - own):
        barrier()


# --- gauges ---


class Meter:
    """Speed of all workers together, this worker's waiting, and how full batches are, between two
    log lines.
    """

    def __init__(self, samples_per_step: int) -> None:
        self._samples = samples_per_step
        self._begun = 0.0
        self._ended = 0.0  # 0: what happens until the next step begins is no training
        self._lap: dict[str, float] = defaultdict(float)
        self._totals: dict[str, float] = defaultdict(float)

    def begin_step(self) -> None:
        """Its first batch is here; since the last step this worker has waited for it."""
        self._begun = time.perf_counter()
        if self._ended:
            self._lap["waited"] += self._begun - self._ended

    def end_step(self) -> None:
        since = self._ended or self._begun
        self._ended = time.perf_counter()
        self._lap["seconds"] += self._ended - since
        self._lap["steps"] += 1

    def pause(self) -> None:
        """What follows, evaluation above all, counts nowhere."""
        self._ended = 0.0

    def counting(
        self, collator: Callable[[Any], Any], model: Any = None
    ) -> Callable[[Any], dict[str, Any]]:
        """The collator, and the tokens and padding of what it makes are counted, while `model`
        trains; of this worker, whose like the others are taken to be.
        """

        def collate(features: Any) -> Any:
            batch = collator(features)
            if "input_ids" in batch and (model is None or model.training):
                ids = batch["input_ids"]
                self._lap["positions"] += ids.numel()
                self._lap["tokens"] += int(batch.get("attention_mask", torch.ones_like(ids)).sum())
            return batch

        return collate

    def lap(self) -> dict[str, float]:
        """Since the last lap."""
        lap = self._lap
        self._lap = defaultdict(float)
        for name, value in lap.items():
            self._totals[name] += value
        values = self._rates(lap)
        values["data_wait"] = round(min(1.0, lap["waited"] / max(lap["seconds"], 1e-9)), 4)
        if lap["positions"]:  # none where loaders have processes
            values["padding_fill"] = round(lap["tokens"] / lap["positions"], 4)
        values.update(device_values())
        return values

    def summary(self) -> dict[str, float]:
        """Speed of all workers together since this process began to train."""
        self.lap()
        rates = self._rates(self._totals)
        values = {f"train_{name}": value for name, value in rates.items()}
        return {"train_runtime": round(self._totals["seconds"], 4), **values}

    def _rates(self, sums: Mapping[str, float]) -> dict[str, float]:
        seconds = max(sums["seconds"], 1e-9)
        rates = {
            "samples_per_second": round(sums["steps"] * self._samples / seconds, 3),
            "steps_per_second": round(sums["steps"] / seconds, 3),
        }
        if sums["tokens"]:
            rates["tokens_per_second"] = round(place().size * sums["tokens"] / seconds, 1)
        return rates


def device_values() -> dict[str, float]:
    """What the device has to say; nothing on a CPU."""
    if choose() == "xla":
        counted = importlib.import_module("torch_xla.debug.metrics").metric_data("CompileTime")
        count, nanoseconds = counted[:2] if counted else (0, 0)
        return {"compiles": int(count), "compile_seconds": round(float(nanoseconds) / 1e9, 3)}
    if torch.cuda.is_available():
        return {"accelerator_memory_gb": round(torch.cuda.max_memory_allocated() / 1e9, 3)}
    return {}
