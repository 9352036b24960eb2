"""How a model is trained, as far as it decides speed and memory: the value that every term of the estimate reads."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from ..core.catalog.chips import Chip
from .architectures import DECODERS, Architecture, ImageModel, Model


class Style(enum.Enum):
    """How operations become kernels: what decides traffic and launches, whatever the framework is called."""

    EAGER = "eager"  # PyTorch as Hugging Face's Trainer runs it: one kernel an operation
    TUNED = "tuned"  # fused kernels of a vendor's recipe: apex, fused LAMB
    FUSED = "fused"  # Composer, Megatron, NeMo, torchtitan: fused layers, few launches
    COMPILED = "compiled"  # torch.compile, XLA on GPUs
    NEURON = "neuron"  # graphs of the Neuron compiler


class Sharding(enum.Enum):
    """What data-parallel workers keep a share of."""

    NONE = "none"
    OPTIMIZER = "optimizer"  # ZeRO-1
    GRADIENTS = "gradients"  # ZeRO-2, SHARD_GRAD_OP
    FULL = "full"  # ZeRO-3, FULL_SHARD
    OFFLOAD = "offload"  # ZeRO-3 with state in the host's memory


class Recompute(enum.Enum):
    """Activation checkpointing: what of the forward pass runs a second time."""

    NONE = 0.0
    SELECTIVE = 0.15
    ALTERNATE = 0.5  # every second product: torchtitan's selective checkpointing of operations
    FULL = 1.0


class Head(enum.Enum):
    """What is made of the last layer: it decides logits, for small models the largest part of memory."""

    TOKENS = "tokens"  # a word for each position: causal and masked language models of Hugging Face
    MASKED = "masked"  # a word for the masked positions alone: NVIDIA's BERT recipes
    LABEL = "label"  # classification, spans, images


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """One training step of a job. ``sequence`` is tokens a sample as computed (padding too), ``target`` those of a decoder.

    ``micro_batch`` is samples of one worker's forward pass, ``micro_steps`` how many passes make an optimizer step.
    ``data``, ``tensor``, ``pipeline`` and ``context`` multiply to the workers. ``network_gbps`` is of a host.
    ``release`` is the software's date in years.
    """

    model: Model
    chip: Chip
    precision: str  # of the matrix units: fp16, bf16, tf32, fp32, fp8
    style: Style
    family: str
    sequence: float
    micro_batch: float
    micro_steps: float = 1
    target: float = 0
    data: int = 1
    tensor: int = 1
    pipeline: int = 1
    context: int = 1
    workers_per_host: int = 1
    driven: int = 1  # of these, how many one process drives: torch.nn.DataParallel, whose kernels wait for one Python
    laid_over: int = (
        1  # devices over which one process lays the layers, which compute one after another: device_map="auto"
    )
    hosts: int = 1
    network_gbps: float = 25
    sharding: Sharding = Sharding.NONE
    recompute: Recompute = Recompute.NONE
    head: Head = Head.LABEL
    companion: float = 0.0  # width of a second network that is trained beside it, as a share: ELECTRA's generator
    adapters: bool = False
    adapted: float = 1.0  # share of a layer's products that have adapters
    weight_bits: int = 0  # of quantised frozen weights; 0: not quantised
    unpacked: bool = False  # by PyTorch's own operations, as GPTQ's layers do in training
    optimizer_bytes: float = 8.0  # of state a trained parameter, in float32
    half_states: bool = False  # the state has the 16 bits of the weights
    flash: bool = False  # attention that never writes its scores
    autocast: bool = True  # 32-bit weights beside half-precision multiplications
    forward_only: bool = False
    interleaved: bool = False
    release: float = 2023.5

    @property
    def workers(self) -> int:
        return self.data * self.tensor * self.pipeline * self.context

    @property
    def global_batch(self) -> float:
        return self.micro_batch * self.micro_steps * self.data

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
    def power_share(self) -> float:
        """Bytes of a power over those of float32: under autocast it is computed in float32, and else as wide as activations are."""
        return 1.0 if self.autocast else self.element_bytes / 4

    @property
    def causal(self) -> bool:
        return isinstance(self.model, Architecture) and self.model.kind in DECODERS

    @property
    def images(self) -> bool:
        return isinstance(self.model, ImageModel)

    @property
    def only_forward(self) -> bool:
        """Whether no gradient goes back through the layers: nothing is trained, or of an image model the head alone."""
        return self.forward_only or (self.images and self.adapters)

    @property
    def tokens_per_sample(self) -> float:
        return self.sequence + self.target

    @property
    def generation(self) -> str:
        return self.chip.generation

    @property
    def neuron(self) -> bool:
        return self.style is Style.NEURON
