"""Owns everything that differs between CPU, CUDA, Neuron and XLA; must not know what is trained, nor on which data.

    detect()        the runtime for this process
    TorchRuntime    cpu/gloo, cuda/nccl, cuda/smddp, neuron/neuron (trn2 and later): one code path, a table of names
    XlaRuntime      trn1 and the SageMaker Training Compiler

`step()` alone owns the order reduce, clip, optimizer, scheduler, zero, cut the graph.
Only cpu/gloo and (single worker) XLA on CPU have been run by the authors; the others follow their documentation.
"""

from __future__ import annotations

import abc
import contextlib
import hashlib
import importlib.util
import json
import os
import socket
from pathlib import Path
from typing import Any, Iterable, Iterator, Mapping, MutableMapping, NamedTuple, Sequence

import torch
import torch.distributed as dist

from _console import Mistake
from _memory import keep_memory
from _parts import Grain
from _waves import at_once, turn, workers_here

Environ = MutableMapping[str, str]
Batch = Mapping[str, Any]


class Backend(NamedTuple):
    """One row: which device, which collectives, whether they may overlap with the backward pass, and how batches are cut."""

    device_type: str
    collectives: str
    overlap: bool
    grain: Grain | None


# On a CPU, measured with BERTs 64 to 768 wide: a pass costs what 190 down to 20 positions cost, and between 40 and 100 the
# rate is flat. On CUDA, not measured: what a launch of each kernel would cost, and lengths that its matrix units like.
ON_CPU, ON_CUDA = Grain(multiple=4, pass_tokens=64), Grain(multiple=8, pass_tokens=4096)

# On CPU one flat all-reduce keeps the order of every sum, also after a resume: DDP re-cuts its buckets after the first
# step, which with more than two workers changes the last bit. Accelerators gain more from overlap than from that bit.
BACKENDS: Mapping[str, Backend] = {
    "cpu": Backend("cpu", "gloo", overlap=False, grain=ON_CPU),
    "cuda": Backend("cuda", "nccl", overlap=True, grain=ON_CUDA),
    "smddp": Backend("cuda", "smddp", overlap=True, grain=ON_CUDA),
    "neuron": Backend("neuron", "neuron", overlap=True, grain=None),
}
NAMES = (*BACKENDS, "xla")
NEURON_DEVICE = Path("/dev/neuron0")
NEURON_CACHE = "/var/tmp/neuron-compile-cache"  # noqa: S108 - the compiler's own default

# Set before torch_xla is imported, and only where the job has not set them itself.
# Values as in AWS's own training samples: https://awsdocs-neuron.readthedocs-hosted.com
NEURON_DEFAULTS = {
    "NEURON_CC_FLAGS": "--model-type=transformer",
    "NEURON_FUSE_SOFTMAX": "1",
    "NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS": "3",
    "MALLOC_ARENA_MAX": "64",
}


class Place(NamedTuple):
    """Where this process stands among the workers."""

    rank: int
    world_size: int
    local_rank: int

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> Place:
        """From torchrun's variables, else from Open MPI's (which is what starts SMDDP's workers)."""

        def number(name: str, mpi_name: str, absent: int) -> int:
            return int(environ.get(name, environ.get("OMPI_COMM_WORLD_" + mpi_name, absent)))

        return cls(number("RANK", "RANK", 0), number("WORLD_SIZE", "SIZE", 1), number("LOCAL_RANK", "LOCAL_RANK", 0))


class Runtime(abc.ABC):
    """What a training loop may ask of its device. The base holds what needs no device."""

    name: str
    device: Any
    rank: int
    world_size: int
    local_rank: int
    eager_attention = False
    grain: Grain | None = None  # how batches are cut; None where every new length is compiled

    @property
    def is_main(self) -> bool:
        return self.rank == 0

    def loading_turn(self) -> contextlib.AbstractContextManager[None]:
        """One worker per machine downloads, the others find it in the cache. Inside there can be no collective."""
        return turn(self.local_rank, workers_here(self.world_size), self.barrier, at_once())

    def workers_values(self, value: float) -> list[float]:
        """Every worker's value, in the order of ranks."""
        mine = [value if rank == self.rank else 0.0 for rank in range(self.world_size)]
        return self.sum_over_workers(mine)

    def unwrap(self, model: Any) -> Any:
        return getattr(model, "module", model)

    def cpu_state_dict(self, model: Any) -> dict[str, Any]:
        """The weights on the host. The model itself stays where it is."""
        state: dict[str, Any] = to_cpu(self.unwrap(model).state_dict())
        return state

    def seed_step(self, seed: int, step: int) -> None:
        """Dropout becomes a function of (seed, step, rank): nothing to save, nothing to restore."""
        drawn = hashlib.sha256(f"{seed}/{step}/{self.rank}".encode()).digest()
        number = int.from_bytes(drawn[:4], "big") >> 1
        torch.default_generator.manual_seed(number)
        self.seed_device(number)

    @abc.abstractmethod
    def seed_device(self, seed: int) -> None: ...

    @abc.abstractmethod
    def barrier(self) -> None: ...

    @abc.abstractmethod
    def sum_over_workers(self, values: Sequence[Any]) -> list[float]:
        """One fused collective; waits for the device."""

    def close(self) -> None:
        if dist.is_initialized():
            dist.destroy_process_group()


class TorchRuntime(Runtime):
    """torch.distributed on any device that torch itself knows."""

    def __init__(self, backend: Backend, place: Place, environ: Environ) -> None:
        self.name = f"{backend.device_type}/{backend.collectives}"
        self.rank, self.world_size, self.local_rank = place
        self._backend, self.grain = backend, backend.grain
        self.device = self._own_device()
        if backend.collectives == "smddp":
            import smdistributed.dataparallel.torch.torch_smddp  # noqa: F401 - registers the backend
        if self.world_size > 1:
            if backend.collectives == "gloo":
                prefer_loopback(environ)
            dist.init_process_group(backend.collectives)

    def _own_device(self) -> Any:
        kind = self._backend.device_type
        if kind == "cpu":
            keep_memory()
            return torch.device("cpu")
        module = getattr(torch, kind)
        if self.local_rank >= module.device_count():
            raise Mistake(
                f"workers: got local rank {self.local_rank}, wanted below {module.device_count()}, "
                f"the number of {kind} devices here; start fewer workers per machine"
            )
        module.set_device(self.local_rank)
        return torch.device(kind, self.local_rank)

    def barrier(self) -> None:
        if self.world_size > 1:
            dist.barrier()

    def seed_device(self, seed: int) -> None:
        if self.device.type != "cpu":
            getattr(torch, self.device.type).manual_seed(seed)

    def prepare(self, model: Any) -> Any:
        """On the device, the same on every worker."""
        model = model.to(self.device)
        if self.world_size == 1:
            return model
        if self._backend.overlap:
            ids = None if self.device.type == "cpu" else [self.local_rank]
            return torch.nn.parallel.DistributedDataParallel(model, device_ids=ids, gradient_as_bucket_view=True)
        for tensor in model.state_dict().values():
            dist.broadcast(tensor, src=0)
        return model

    def batches(self, host_batches: Iterable[Batch]) -> Iterator[dict[str, Any]]:
        for batch in host_batches:
            yield {name: tensor.to(self.device, non_blocking=True) for name, tensor in batch.items()}

    def autocast(self, *, bf16: bool) -> Any:
        return torch.autocast(self.device.type, dtype=torch.bfloat16) if bf16 else contextlib.nullcontext()

    def accumulating(self, model: Any, *, last: bool) -> Any:
        """Around a micro-batch: only the last one of a step needs to talk to the other workers."""
        return contextlib.nullcontext() if last or not hasattr(model, "no_sync") else model.no_sync()

    def step(self, optimizer: Any, scheduler: Any, max_grad_norm: float) -> None:
        """Reduce, clip, step, schedule, zero. Under DDP the last backward has reduced already."""
        if self.world_size > 1 and not self._backend.overlap:
            self._average_gradients(optimizer)
        clip(optimizer, max_grad_norm)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()

    def _average_gradients(self, optimizer: Any) -> None:
        gradients = [parameter.grad for parameter in parameters_of(optimizer) if parameter.grad is not None]
        flat = torch.cat([gradient.reshape(-1) for gradient in gradients])
        dist.all_reduce(flat)
        flat /= self.world_size
        for gradient, mean in zip(gradients, flat.split([gradient.numel() for gradient in gradients])):
            gradient.copy_(mean.view_as(gradient))

    def sum_over_workers(self, values: Sequence[Any]) -> list[float]:
        total = stacked(values, self.device)
        if self.world_size > 1:
            dist.all_reduce(total)
        return [float(value) for value in total.tolist()]


def compile_cache_of(environ: Mapping[str, str]) -> str:
    """Where Neuron's compiler keeps what it has made: a job's own choice, else a folder that is lost with the machine."""
    flags = environ.get("NEURON_CC_FLAGS", "").replace("--cache_dir=", "--cache_dir ").split()
    asked = flags[flags.index("--cache_dir") + 1] if "--cache_dir" in flags[:-1] else None
    return environ.get("NEURON_COMPILE_CACHE_URL") or asked or NEURON_CACHE


class XlaRuntime(Runtime):
    """torch_xla, under every name its functions have had from 1.11 to 2.9."""

    # SDPA looks into its mask on the host: one more graph and one more wait in every step.
    eager_attention = True

    def __init__(self, place: Place, environ: Environ) -> None:
        for name, value in {**NEURON_DEFAULTS, "TOKENIZERS_PARALLELISM": "false"}.items():
            environ.setdefault(name, value)
        import torch_xla.core.xla_model as xm

        self._xm, self.compile_cache = xm, compile_cache_of(environ)
        # torchrun's workers meet through torch.distributed; xla_spawn's (Training Compiler) are connected already.
        if "RANK" in environ and place.world_size > 1:
            import torch_xla.distributed.xla_backend  # noqa: F401 - registers the backend

            dist.init_process_group("xla")
        self.name = "xla"
        self.device = xm.xla_device()
        self.rank, self.world_size, self.local_rank = self._place(place)

    def _place(self, place: Place) -> Place:
        if hasattr(self._xm, "xrt_world_size"):  # torch_xla before 2.7
            local = self._xm.get_local_ordinal()
            return Place(self._xm.get_ordinal(), self._xm.xrt_world_size(), local)
        import torch_xla.runtime as xr

        local = place.local_rank if place.world_size > 1 else xr.local_ordinal()
        return Place(xr.global_ordinal(), xr.world_size(), local)

    def barrier(self) -> None:
        if self.world_size > 1:
            self._xm.rendezvous("sm_trn")

    def seed_device(self, seed: int) -> None:
        self._xm.set_rng_state(seed, self.device)

    def prepare(self, model: Any) -> Any:
        # No broadcast: weights come from the same files and the same seed on every worker.
        return model.to(self.device)

    def batches(self, host_batches: Iterable[Batch]) -> Iterator[dict[str, Any]]:
        """Uploads in the background, and cuts the graph between batches."""
        from torch_xla.distributed.parallel_loader import MpDeviceLoader

        return iter(MpDeviceLoader(host_batches, self.device))

    def autocast(self, *, bf16: bool) -> Any:
        # Never XLA_USE_BF16: it turns the attention mask's minimum into infinities, and losses into NaN.
        return torch.autocast("xla", dtype=torch.bfloat16) if bf16 else contextlib.nullcontext()

    def accumulating(self, model: Any, *, last: bool) -> Any:  # noqa: ARG002 - the interface of both runtimes
        return contextlib.nullcontext()

    def step(self, optimizer: Any, scheduler: Any, max_grad_norm: float) -> None:
        """Reduce, clip, step, schedule, zero, cut the graph: without the cut the graph grows with every step."""
        self._xm.reduce_gradients(optimizer)
        clip(optimizer, max_grad_norm)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        self._cut_graph()

    def _cut_graph(self) -> None:
        import torch_xla

        # mark_step until 2.6 or so, then torch_xla.sync; the old name warns.
        (getattr(torch_xla, "sync", None) or self._xm.mark_step)()

    def sum_over_workers(self, values: Sequence[Any]) -> list[float]:
        if self.world_size == 1:  # what is there is fetched; putting it together first would be one more graph
            return [float(torch.as_tensor(value).cpu()) for value in values]
        total = self._xm.all_reduce("sum", stacked(values, self.device))
        return [float(value) for value in total.cpu().tolist()]


def detect(environ: Environ = os.environ) -> Any:
    """The runtime that this process should use, or a Mistake. `SM_TRN_RUNTIME` decides when it is set."""
    name, place = choose(environ), Place.read(environ)
    if name == "xla":
        return XlaRuntime(place, environ)
    return TorchRuntime(BACKENDS[name], place, environ)


def choose(environ: Mapping[str, str]) -> str:
    """The name alone; starts nothing. torch_xla being importable is no reason to use it: evidence is."""
    asked = environ.get("SM_TRN_RUNTIME")
    if asked:
        if asked not in NAMES:
            raise Mistake(f"SM_TRN_RUNTIME: got {asked!r}, wanted one of {', '.join(NAMES)}")
        return asked
    # Inferentia's older torch_neuron also adds torch.neuron, without a device in it.
    if getattr(getattr(torch, "neuron", None), "is_available", bool)():
        return "neuron"
    if xla_evidence(environ) and importable("torch_xla"):
        return "xla"
    if NEURON_DEVICE.exists():
        raise Mistake(
            f"device: got {NEURON_DEVICE} but neither torch.neuron nor torch_xla, wanted one of them; "
            "use an image with torch-neuronx, or set SM_TRN_RUNTIME=cpu to train on the CPU"
        )
    if not torch.cuda.is_available():
        return "cpu"
    wants_smddp = framework_flag(environ, "sagemaker_distributed_dataparallel_enabled")
    return "smddp" if wants_smddp and importable("smdistributed") else "cuda"


def xla_evidence(environ: Mapping[str, str]) -> bool:
    """A launcher that speaks XLA, a Neuron device, or the Training Compiler's own flag."""
    launched = "PJRT_DEVICE" in environ or "GPU_NUM_DEVICES" in environ
    launched = launched or any(name.startswith(("XRT_", "NEURON_RT_")) for name in environ)
    return launched or NEURON_DEVICE.exists() or framework_flag(environ, "sagemaker_training_compiler_enabled")


def framework_flag(environ: Mapping[str, str], name: str) -> bool:
    """SageMaker's toolkit passes its own hyperparameters as JSON in SM_FRAMEWORK_PARAMS."""
    return bool(json.loads(environ.get("SM_FRAMEWORK_PARAMS") or "{}").get(name, False))


def importable(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def prefer_loopback(environ: Environ) -> None:
    """All workers on this machine: let gloo use the loopback interface, whatever the host name resolves to."""
    one_machine = environ.get("LOCAL_WORLD_SIZE") == environ.get("WORLD_SIZE")
    one_machine = one_machine or environ.get("MASTER_ADDR", "").startswith(("127.", "localhost"))
    if one_machine and "lo" in (name for _, name in socket.if_nameindex()):
        environ.setdefault("GLOO_SOCKET_IFNAME", "lo")


def parameters_of(optimizer: Any) -> list[Any]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def clip(optimizer: Any, max_grad_norm: float) -> None:
    if max_grad_norm > 0:
        torch.nn.utils.clip_grad_norm_(parameters_of(optimizer), max_grad_norm)


def stacked(values: Sequence[Any], device: Any) -> Any:
    return torch.stack([torch.as_tensor(value, dtype=torch.float32, device=device).detach() for value in values])


def to_cpu(state: Any) -> Any:
    """A nested state with every tensor copied to the host."""
    if isinstance(state, torch.Tensor):
        return state.detach().cpu().clone()
    if isinstance(state, Mapping):
        return {key: to_cpu(value) for key, value in state.items()}
    if isinstance(state, (list, tuple)):
        return type(state)(to_cpu(value) for value in state)
    return state
