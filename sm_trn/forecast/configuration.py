"""How a model is trained, as far as it decides speed and memory."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from ..core.catalog.instances import Chip
from .models import Architecture


class Style(enum.Enum):
    """How operations become kernels."""

    EAGER = "eager"  # PyTorch as Hugging Face's Trainer runs it: one kernel an operation
    FUSED = "fused"  # Composer, Megatron, NeMo, torchtitan, NVIDIA's recipes: fused layers, few launches
    COMPILED = "compiled"  # torch.compile, XLA on GPUs
    NEURON = "neuron"  # graphs of the Neuron compiler


class Sharding(enum.Enum):
    """What data-parallel workers keep a share of."""

    NONE = "none"
    OPTIMIZER = "optimizer"  # ZeRO-1
    GRADIENTS = "gradients"  # ZeRO-2, SHARD_GRAD_OP
    FULL = "full"  # ZeRO-3, FULL_SHARD
    OFFLOAD = "offload"  # ZeRO-3 with state in the host's memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """One training step of a job. ``sequence`` is tokens a sample as computed (padding too), ``target`` those of a
    decoder beside an encoder.

    ``micro_batch`` is samples of one worker's forward pass, ``micro_steps`` how many passes make an optimizer step. ``data``, ``tensor``
    and ``pipeline`` multiply to the workers. ``network_gbps`` is of a host.
    """

    model: Architecture
    chip: Chip
    precision: str  # of the matrix units: fp16, bf16, tf32, fp32, fp8
    style: Style
    sequence: float
    micro_batch: float
    micro_steps: float = 1
    target: float = 0
    data: int = 1
    tensor: int = 1
    pipeline: int = 1
    workers_per_host: int = 1
    driven: int = 1  # of these, how many one process drives: torch.nn.DataParallel, whose kernels wait for one Python
    laid_over: int = 1  # devices over which one process lays the layers, which compute one by one: device_map="auto"
    hosts: int = 1
    network_gbps: float = 25
    sharding: Sharding = Sharding.NONE
    recompute: float = 0.0  # share of the forward pass that runs a second time: 1 is full activation checkpointing
    predicted: float = 0.0  # share of positions that are multiplied with the vocabulary; 0: one label a sample
    adapted: float = 0.0  # share of a layer's seven products that have adapters; 0: all weights are trained
    weight_bits: int = 0  # of quantised frozen weights; 0: not quantised
    optimizer_bytes: float = 8.0  # of state a trained parameter, in float32
    half_states: bool = False  # the state has the 16 bits of the weights
    flash: int = 0  # attention that never writes its scores: 1, and 2 for FlashAttention-2 and what came after it
    autocast: bool = True  # 32-bit weights beside half-precision multiplications
    forward_only: bool = False

    @property
    def workers(self) -> int:
        return self.data * self.tensor * self.pipeline

    @property
    def global_batch(self) -> float:
        return self.micro_batch * self.micro_steps * self.data

    @property
    def adapters(self) -> bool:
        return self.adapted > 0

    @property
    def half(self) -> str:
        """The precision of attention and other 16-bit work on this chip: FP8 jobs run it in bf16."""
        if self.precision in {"tf32", "fp32"}:
            return self.precision
        return "bf16" if self.chip.bf16 is not None else "fp16"

    @property
    def lacks(self) -> bool:
        """Whether the chip has no unit for the precision that the job asks for. Of fp16 alone it is known that every chip computes it."""
        return self.precision != "fp16" and self.chip.peak(self.precision) is None

    @property
    def element_bytes(self) -> float:
        """Bytes of an activation."""
        return 4 if self.precision in {"tf32", "fp32"} else 2

    @property
    def passes(self) -> float:
        """How many forward passes' worth of multiplications a micro-step is: forward, and twice that backward."""
        return 1 if self.forward_only else (2 if self.adapters else 3) + self.recompute

    @property
    def composed_bytes(self) -> float:
        """Bytes of float32 that each element of a composed activation has: under autocast a power is computed in float32."""
        wide = 1.0 if self.autocast else self.element_bytes / 4
        return wide if self.model.composed and self.style is Style.EAGER else 0.0

    @property
    def neuron(self) -> bool:
        return self.style is Style.NEURON
