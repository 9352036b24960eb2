"""Memory of one worker by part, and the largest batch that fits it."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace

from .configuration import Configuration, Sharding, Style

GIB = 2**30
CONTEXT_GIB = 0.75  # of the driver, its libraries and the framework's own handles
USABLE = 0.95  # of what the framework sees: the rest is lost to fragments of the allocator
# Bytes a sample keeps for the backward pass, in mixed precision: of a layer's position and width, of a score, and of a logit. Fitted to the
# largest batches that the Training Compiler's documentation publishes; on H200 53 steps of Trainer are met within 35 %.
KEPT = {
    Style.EAGER: (56.0, 9.0, 10.2),
    Style.FUSED: (34.0, 9.0, 10.2),
    Style.COMPILED: (36.0, 6.7, 5.8),
    Style.NEURON: (40.0, 5.0, 7.0),
}
# In float32 an eager layer keeps this much more than in mixed precision, not twice: there the outputs of softmax and normalisation
# are float32 already, and masks a byte. Counted, tensor by tensor, of a BERT layer.
FLOAT32 = 1.25
COMPOSED_KEPT = 12.0  # bytes of an element of a composed activation beside a plain one's, in float32
RELATIVE = 1.46  # relative positions keep scores twice: DeBERTa, XLNet
FORWARD = 0.3  # of activations where no gradient goes back
# Nine in ten published largest batches lie within this factor of the estimated one; there are none for NeuronCores.
DOUBT, NEURON_DOUBT = 1.5, 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryParts:
    """GiB of one worker, by what holds them."""

    weights: float
    gradients: float
    optimizer: float
    activations: float
    logits: float
    buffers: float
    fragments: float

    @property
    def state(self) -> float:
        """What training keeps of a model, whatever the batch."""
        return self.weights + self.gradients + self.optimizer

    @property
    def total(self) -> float:
        return math.fsum(float(getattr(self, part.name)) for part in fields(self))


def memory(c: Configuration) -> MemoryParts:
    """What one worker needs for a training step of this configuration, in GiB."""
    parameters = c.model.parameters / (c.tensor * c.pipeline * c.laid_over)
    wide = 4.0 if c.autocast or c.element_bytes == 4 else 2.0
    frozen = 2.0 if c.adapters and c.element_bytes == 2 else wide  # loaded in 16 bits where the rest has them
    full = c.sharding in {Sharding.FULL, Sharding.OFFLOAD}
    trained = 0.0 if c.forward_only else parameters * (0.01 if c.adapters or c.weight_bits else 1.0)
    weights = parameters * (c.weight_bits / 8 or frozen) / (c.data if full else 1)
    gradients = trained * wide / (c.data if full or c.sharding is Sharding.GRADIENTS else 1)
    # Where sharded weights have 16 bits, a float32 copy of them lies beside the optimizer's own state.
    copied = wide != 4.0 and c.sharding is not Sharding.NONE and not c.half_states
    state = c.optimizer_bytes * (0.5 if c.half_states else 1.0) + (4.0 if copied else 0.0)
    optimizer = trained * state / (c.data if c.sharding is not Sharding.NONE else 1)
    if c.sharding is Sharding.OFFLOAD:
        optimizer, gradients = 0.0, 0.0
    buffers = 0.11 * gradients if c.data > 1 else 0.0  # of DistributedDataParallel
    if full:  # the layer that is gathered, and the next
        buffers = 2 * 2 * parameters / max(c.model.layers, 1)
    activations, logits = sample_bytes(c)
    batch = c.micro_batch * (FORWARD if c.passes == 1 else 1)
    activations *= batch * min(c.pipeline, max(c.micro_steps, 1))  # a pipeline keeps those of as many micro-batches
    logits *= batch
    used = weights + gradients + optimizer + activations + logits
    parts = {"weights": weights, "gradients": gradients, "optimizer": optimizer, "activations": activations,
             "logits": logits, "buffers": buffers + CONTEXT_GIB * GIB, "fragments": used * (1 / USABLE - 1)}  # fmt: skip
    return MemoryParts(**{name: size / GIB for name, size in parts.items()})


def sample_bytes(c: Configuration) -> tuple[float, float]:
    """Bytes that one sample keeps for the backward pass: of layers, and of logits."""
    m = c.model
    wide = FLOAT32 if c.style is Style.EAGER and c.element_bytes == 4 else c.element_bytes / 2
    position, score, logit = KEPT[c.style]
    layers = m.layers / (c.pipeline * c.laid_over)
    positions, squares = layers * c.sequence, layers * c.sequence**2
    if m.kind == "encoder-decoder" and c.target:
        positions = layers / 2 * (c.sequence + 1.5 * c.target)
        squares = layers / 2 * (c.sequence**2 + c.target**2 + c.sequence * c.target)
    # What a layer keeps beside one whose inner width is four times its own, and of scores that are written.
    inner = 0.65 + 0.35 * m.inner * m.active_experts / (4 * m.width) * (1.5 if m.gated else 1.0)
    kept = position * positions * m.width * inner + (0.0 if c.flash else score * m.heads * squares)
    kept += COMPOSED_KEPT * c.composed_bytes * positions * m.inner / wide
    if c.recompute >= 1:
        kept = kept / max(layers, 1) + 2 * positions * m.width
    if m.kind == "disentangled-encoder" and c.style is Style.EAGER:
        kept *= RELATIVE
    words = (c.target or c.sequence) * c.predicted or 1
    return kept * wide / c.tensor, logit * words * m.vocabulary * wide / c.tensor


def _fixed(parts: MemoryParts) -> float:
    return parts.state * 0.94 + parts.buffers


def surely_too_large(c: Configuration) -> bool:
    """Whether a training step does not fit even where it keeps as little for a sample as nine in ten published ones do."""
    lone = memory(replace(c, micro_batch=1.0))
    kept = (lone.activations + lone.logits) * c.micro_batch / (NEURON_DOUBT if c.neuron else DOUBT)
    return _fixed(lone) + kept > c.chip.usable_gib * USABLE


def largest_batch(c: Configuration) -> int:
    """The most samples of one worker's micro-step that fit its memory; 0 where not one does."""
    lone = memory(replace(c, micro_batch=1.0))
    each = lone.activations + lone.logits
    return max(0, math.floor((c.chip.usable_gib * USABLE - _fixed(lone)) / each)) if each > 0 else 0
