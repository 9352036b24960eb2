"""What accelerate and Trainer leave to a job: the device by evidence, its environment, turns to
load, and gauges.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import math
import os
import socket
import time
from typing import Any, Iterator, Mapping, MutableMapping

from kit import NEURON_DEVICE, speaks_xla
from sm_spot import UsageError, barrier, place

import torch

NAMES = ("cpu", "cuda", "neuron", "xla")
# workers of a machine; 8 as in optimum-neuron's num_local_ranks_per_step
LOADING_AT_ONCE = "SM_TRN_LOADING_AT_ONCE"
# Set before torch_xla is imported, and only where the job has not set them itself. Values as in
# AWS's own training samples: https://awsdocs-neuron.readthedocs-hosted.com. The compiler's default
# cache is lost with the machine.
NEURON_DEFAULTS = {
    "NEURON_CC_FLAGS": "--model-type=transformer --retry_failed_compilation",
    "NEURON_COMPILE_CACHE_URL": "/var/tmp/neuron-compile-cache",  # noqa: S108 - the compiler's own default
    "NEURON_FUSE_SOFTMAX": "1",
    "NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS": "3",
    "NEURON_RT_STOCHASTIC_ROUNDING_EN": "1",
    "NEURON_RT_STOCHASTIC_ROUNDING_SEED": "0",
    "TOKENIZERS_PARALLELISM": "false",
}
EFA = {
    "FI_PROVIDER": "efa",
    "FI_EFA_USE_DEVICE_RDMA": "1",
    "FI_EFA_FORK_SAFE": "1",
}  # between machines


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


def wants_smddp(environ: Mapping[str, str] = os.environ) -> bool:
    """SageMaker's toolkit passes its own hyperparameters as JSON in SM_FRAMEWORK_PARAMS."""
    flags = json.loads(environ.get("SM_FRAMEWORK_PARAMS") or "{}")
    asked = bool(flags.get("sagemaker_distributed_dataparallel_enabled", False))
    return asked and importlib.util.find_spec("smdistributed") is not None


def set_environment(environ: MutableMapping[str, str] = os.environ) -> str:
    """Set what is not set, before accelerate and torch_xla are imported, and return the kind of
    device.
    """
    name = choose(environ)
    here = place(environ)
    if name != "xla":
        # accelerate and transformers take it wherever it can be imported
        environ.setdefault("USE_TORCH_XLA", "0")
    if name == "xla":
        defaults = dict(NEURON_DEFAULTS)
        if here.hosts > 1:
            defaults.update(EFA)
        if "--cache_dir" in environ.get("NEURON_CC_FLAGS", ""):
            del defaults["NEURON_COMPILE_CACHE_URL"]
        for variable, value in defaults.items():
            environ.setdefault(variable, value)
    elif name == "cpu":
        local = here.hosts == 1 or environ.get("MASTER_ADDR", "").startswith(("127.", "localhost"))
        interfaces = [interface for _, interface in socket.if_nameindex()]
        if local and "lo" in interfaces:
            environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # whatever the host name resolves to
    else:
        torch.set_float32_matmul_precision("high")  # TF32 where the GPU has it
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


def compilations() -> tuple[int, float]:
    """Number of this process's compilations by XLA, and their seconds; none where nothing
    compiles.
    """
    if choose() != "xla":
        return 0, 0.0
    counted = importlib.import_module("torch_xla.debug.metrics").metric_data("CompileTime")
    # it counts nanoseconds
    return (int(counted[0]), float(counted[1]) / 1e9) if counted else (0, 0.0)


class Meter:
    """Speed of all workers together, this worker's waiting, and how full batches are, between two
    log lines.
    """

    def __init__(self, samples_per_step: int) -> None:
        self._samples = samples_per_step
        self._workers = place().size
        self._since = 0.0
        self._running = False
        # of this lap
        self._seconds = 0.0
        self._waited = 0.0
        self._steps = 0
        self.total_seconds = 0.0
        self.total_steps = 0
        self._total_tokens = 0
        self._batches: list[
            tuple[int, int]
        ] = []  # tokens and positions of batches made and not yet trained on

    def start(self) -> None:
        if not self._running:
            self._since = time.perf_counter()
            self._running = True

    def stop(self) -> None:
        """What happens until the next start, evaluation above all, is no training and counts
        nowhere.
        """
        if self._running:
            self._seconds += time.perf_counter() - self._since
            self._running = False

    def waited(self, seconds: float) -> None:
        """For a batch."""
        self._waited += max(0.0, seconds)

    def batch(self, batch: Mapping[str, Any]) -> None:
        """Made by a collator, some time before it is used."""
        positions = batch["input_ids"].numel()
        tokens = positions
        if "attention_mask" in batch:
            tokens = int(batch["attention_mask"].sum())
        self._batches.append((tokens, positions))

    def step(self) -> None:
        self._steps += 1

    def lap(self, micro_batches: int) -> dict[str, float]:
        """Since the last lap; `micro_batches` a step."""
        self.stop()
        self.start()
        seconds = max(self._seconds, 1e-9)
        steps = self._steps
        used, self._batches = (
            self._batches[: steps * micro_batches],
            self._batches[steps * micro_batches :],
        )
        tokens = self._workers * sum(tokens for tokens, _ in used)
        positions = self._workers * sum(positions for _, positions in used)
        values = {
            "samples_per_second": round(steps * self._samples / seconds, 3),
            "steps_per_second": round(steps / seconds, 3),
            "data_wait": round(min(1.0, self._waited / seconds), 4),
        }
        # of this worker, whose like the others are taken to be; none where loaders have processes
        if positions:
            values["tokens_per_second"] = round(tokens / seconds, 1)
            values["padding_fill"] = round(tokens / positions, 4)
        self.total_seconds += self._seconds
        self.total_steps += steps
        self._total_tokens += tokens
        self._seconds = 0.0
        self._waited = 0.0
        self._steps = 0
        values.update(device_values())
        return values

    def summary(self) -> dict[str, float]:
        """Speed of all workers together since this process began to train."""
        seconds = max(self.total_seconds, 1e-9)
        values = {
            "train_runtime": round(self.total_seconds, 4),
            "train_samples_per_second": round(self.total_steps * self._samples / seconds, 3),
            "train_steps_per_second": round(self.total_steps / seconds, 3),
        }
        if self._total_tokens:
            values["train_tokens_per_second"] = round(self._total_tokens / seconds, 1)
        return values


def device_values() -> dict[str, float]:
    """What the device has to say; nothing on a CPU."""
    values: dict[str, float] = {}
    if choose() == "xla":
        count, seconds = compilations()
        values["compiles"] = count
        values["compile_seconds"] = round(seconds, 3)
    elif torch.cuda.is_available():
        values["accelerator_memory_gb"] = round(torch.cuda.max_memory_allocated() / 1e9, 3)
    return values
