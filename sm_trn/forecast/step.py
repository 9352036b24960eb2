"""Seconds of an optimizer step: a roofline of the chip's datasheet with one efficiency for each of its units.

Multiplications are divided by the peak of their precision, bytes by the memory's rate, and each is multiplied with a constant that
datasheets, kernels' papers and recipes suggest. None is fitted: ``tests/forecast/evaluate.py`` shows what that is worth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from .configuration import Configuration, Sharding, Style

# Share of the matrix units' peak that wide products reach, and what of that a chip holds: T4 and L4 are kept below their
# clock by 70 W, Hopper's units are too fast for Ampere's kernels. Neuron multiplies float32 in bf16 by default.
TENSOR_CORES, FLOAT32, NEURON_FLOAT32 = 0.75, 0.9, 0.55
CHIP = {
    "volta": 0.8, "turing": 0.55, "kepler": 0.7, "ampere": 1.0, "ampere-small": 0.85, "ada-small": 0.55, "ada": 0.75, "hopper": 0.8,
    "blackwell": 0.7, "trainium1": 0.65, "trainium2": 0.5,
}  # fmt: skip
UNKNOWN_CHIP = 0.7  # of a generation that no row speaks of: its physics alone, with NO_BASIS around them
HALF_WIDTH, HALF_TOKENS = 80, 700  # a layer so narrow, or a micro-step of so few tokens on an A100, reaches half of it
# Attention, forward and backward on an A100: Dao 2023, which measured FlashAttention and FlashAttention-2. Less of Hopper's peak (2024).
ATTENTION = {0: 0.45, 1: 0.32, 2: 0.52}
HOPPER_ATTENTION = 0.65
TRAFFIC = {True: 1.9, False: 1.4}  # times the least that activations move, of an eager model and of any other
SCORES = 18  # passes over scores that are written, forward and backward
COMPOSED_MOVED = 164  # bytes of float32 that an element of a composed activation moves: PyTorch's dispatcher
# Kernels of an eager layer in three passes (PyTorch's dispatcher, transformers 5.17: 87 to 144), those of LoRA at all its products (peft
# 0.21), and seconds of a launch, of Trainer on the hosts of two H200s; a compiled or fused layer hides them.
KERNELS, ADAPTER_KERNELS, LAUNCH = 130, 206, 20e-6
OPTIMIZER_BYTES = 26 * 3.0  # of a parameter: AdamW with float32 state and gradients, moved in three unfused rounds
TENSOR_LAUNCH = {True: 640e-6, False: 200e-6}  # seconds of an optimizer's launches for a layer, eager and otherwise
LINK, NEURON_LINK, EXPOSED = 0.5, 0.35, 0.15  # of a link's rate; of hidden communication that is seen all the same
# What bounds 80 % of published over estimated seconds, by how a model is trained: docs/guides/estimate.md.
WIDTHS = {"full weights": (0.77, 1.40), "LoRA": (0.75, 1.50), "quantised weights": (0.5, 2.2)}
# Generations of which no published row is known, nor of one like them; and how many times slower one may be than estimated.
WITHOUT_BASIS, NO_BASIS = {"trainium2", "kepler", "blackwell"}, 3.0


@dataclass(frozen=True, slots=True)
class Interval:
    """Three quantiles of a quantity: a tenth of outcomes lie below ``p10``, a tenth above ``p90``."""

    p10: float
    p50: float
    p90: float

    def __post_init__(self) -> None:
        if not self.p10 <= self.p50 <= self.p90:
            raise ValueError(f"interval: got {self.p10}, {self.p50}, {self.p90}, wanted them in order")

    def scaled(self, factor: float) -> Interval:
        """The interval in another unit. ``factor`` is positive."""
        return Interval(self.p10 * factor, self.p50 * factor, self.p90 * factor)

    def plus(self, other: Interval) -> Interval:
        """The sum of two quantities that err independently: distances to the median add as squares."""
        below = math.hypot(self.p50 - self.p10, other.p50 - other.p10)
        above = math.hypot(self.p90 - self.p50, other.p90 - other.p50)
        middle = self.p50 + other.p50
        return Interval(middle - below, middle, middle + above)


def method(c: Configuration) -> str:
    """How a model is trained, which decides the width of the interval: a key of ``WIDTHS``."""
    return "quantised weights" if c.weight_bits else "LoRA" if c.adapters else "full weights"


def step_seconds(c: Configuration) -> tuple[float, float]:
    """Seconds of an optimizer step, and the least that the hardware allows: its multiplications at the datasheet's peak.

    What a device does at once is joined by a 4-norm: the longest decides.
    """
    ideal, busy, exchange = _work(c)
    kernels = c.model.layers / c.pipeline * (KERNELS + ADAPTER_KERNELS * c.adapted) * c.driven * c.passes / 3
    compute = _norm(busy, kernels * LAUNCH if c.style is Style.EAGER else 0.0)
    gather, reduce = _collectives(c)
    micro = _norm(compute, gather) + gather * EXPOSED + exchange
    if not c.neuron:  # gradients leave during the last backward pass: two thirds of one micro-step
        reduce = _norm(0.67 * micro, reduce) - 0.67 * micro + reduce * EXPOSED
    seconds = micro * (c.micro_steps + c.pipeline - 1) + reduce  # the first and last of a pipeline wait
    if not c.forward_only:
        share = _trained(c) if c.adapters else 1 / (c.data if c.sharding is not Sharding.NONE else 1)
        tensors = c.model.layers / c.pipeline * (0.4 if c.adapters else 1.0) * TENSOR_LAUNCH[c.style is Style.EAGER]
        seconds += _stored(c) * share * OPTIMIZER_BYTES / c.chip.memory_rate + tensors
    return seconds, ideal * c.micro_steps


def _peak(c: Configuration, precision: str) -> float:
    """FLOP/s of one worker; a chip without the unit does it in the next wider precision that it has."""
    unit = "bf16" if c.neuron and precision == "fp32" else precision
    return next(peak for each in (unit, "bf16", "fp16", "tf32", "fp32") if (peak := c.chip.peak(each)) is not None)


def _work(c: Configuration) -> tuple[float, float, float]:
    """Of a micro-step: seconds at the peak; those of multiplications, attention and memory traffic; those of tensor parallel exchange."""
    m, samples, passes, split, memory_rate = c.model, c.micro_batch, c.passes, c.tensor * c.pipeline, c.chip.memory_rate
    both = m.kind == "encoder-decoder" and c.target > 0
    tokens = samples * ((c.sequence + c.target) / 2 if c.target else c.sequence)  # a layer sees its own side's
    predicted = samples * ((c.target or c.sequence) * c.predicted or 1.0)
    peak, half = _peak(c, c.precision), _peak(c, c.half)
    # Tiles of a product grow with tokens × width; a faster chip needs more of them at once, and each expert has its own.
    width = m.width / math.sqrt(c.tensor)
    tiles = tokens * m.active_experts / m.experts * m.width / c.tensor / 1024 * math.sqrt(312e12 / peak)
    held = CHIP.get(c.chip.generation, UNKNOWN_CHIP)
    units = FLOAT32 if c.precision == "fp32" else TENSOR_CORES
    units = (NEURON_FLOAT32 if c.neuron and c.element_bytes == 4 else units) * held
    reached = units * width / (width + HALF_WIDTH) * tiles / (tiles + HALF_TOKENS)
    body = 2 * m.active_parameters * tokens / split / peak
    head = 2 * m.width * m.vocabulary * predicted / split * (1 if c.forward_only else 3) / half
    squares = c.sequence**2 * (0.5 if m.causal and c.flash else 1.0)
    if both:
        squares = (c.sequence**2 + c.target**2 / 2 + c.target * c.sequence) / 2
    speed = ATTENTION[c.flash] * (HOPPER_ATTENTION if c.chip.generation in {"hopper", "blackwell"} else held)
    repeated = passes + (0.5 if c.flash and not c.forward_only else 0.0)
    attention = 4 * m.layers * (m.attention_width or m.width) * squares * samples * repeated / split / half / speed
    # An adapter reads each product's input again, and reads and writes its output twice more; without autocast in float32 (peft).
    share = 0.33 if c.forward_only else (1 + c.recompute / 3) * (1 + (0.7 if c.autocast else 1.2) * c.adapted)
    layers = m.layers / c.pipeline
    moved = (66 * m.width + 3 * m.inner * m.active_experts * (3 if m.gated else 2)) * c.element_bytes
    moved = layers * tokens / c.tensor * (moved + COMPOSED_MOVED * c.composed_bytes * m.inner) * share
    if (
        c.weight_bits
    ):  # read, looked up where they have 4 bits, written in 16 before each product: bitsandbytes, MatMul4Bit
        moved += m.layer_parameters * (c.weight_bits / 8 + 2) * (2 if c.weight_bits == 4 else 1) * passes / split
    if not c.flash:
        written = (c.sequence**2 + c.target**2 + c.target * c.sequence) / 2 if both else c.sequence**2
        moved += 1.3 * SCORES * m.heads * written * samples * m.layers / split * c.element_bytes * share
    moved += 14 * m.vocabulary * predicted / split * (0.3 if c.forward_only else 1)
    rounds = (2 if c.forward_only else 4 + 2 * c.recompute) * (c.tensor - 1) / c.tensor  # all-reduces of the tokens
    exchange = layers * rounds * tokens * m.width * 4 / c.chip.link_rate
    ideal = body * (passes - (0 if c.forward_only else c.recompute)) + head
    traffic = moved * TRAFFIC[c.style is Style.EAGER] / memory_rate
    return ideal, (body * passes + head) / reached + attention + traffic, exchange


def _stored(c: Configuration) -> float:
    return c.model.parameters / (c.tensor * c.pipeline)


def _trained(c: Configuration) -> float:
    """The share of the model's parameters that get gradients."""
    return 0.01 if c.adapters else 1.0


def _collectives(c: Configuration) -> tuple[float, float]:
    """Seconds to gather sharded weights and scatter gradients in a micro-step, and to reduce gradients in an optimizer step."""
    if c.data <= 1 or c.forward_only:
        return 0.0, 0.0
    wide = 4.0 if c.element_bytes == 4 else 2.0
    gathered = {Sharding.FULL: 2.0, Sharding.OFFLOAD: 2.0, Sharding.GRADIENTS: 0.0}.get(c.sharding)
    gather = 0.0
    if gathered is not None:
        gather = _ring(c, _stored(c) * (gathered * (c.weight_bits / 8 or wide) + wide * _trained(c)))
    if gathered:
        return gather, 0.0
    return gather, _ring(c, 2 * _stored(c) * (4.0 if c.autocast else wide) * _trained(c))


def _ring(c: Configuration, sent: float) -> float:
    """Seconds of a hierarchical ring; every worker's share leaves the host through the network that they share."""
    local = max(1, min(c.data, c.workers_per_host // max(1, c.tensor * (c.pipeline if c.hosts == 1 else 1))))
    across = max(1, math.ceil(c.data / local))
    seconds = sent * (local - 1) / local / c.chip.link_rate
    seconds += sent * (across - 1) / across * (c.workers_per_host / local) * 8e-9 / c.network_gbps
    return seconds / (NEURON_LINK if c.neuron else LINK)


def _norm(first: float, second: float) -> float:
    """The 4-norm of two durations that overlap."""
    joined: float = (first**4 + second**4) ** 0.25
    return joined
