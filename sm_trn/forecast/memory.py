"""Memory of one worker by part, and the largest batch that fits it."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace

from .architectures import Architecture, ImageModel
from .configuration import Configuration, Head, Recompute, Sharding, Style

GIB = 2**30
CONTEXT_GIB = 0.75  # of the driver, its libraries and the framework's own handles
USABLE = 0.95  # of what the framework sees: the rest is lost to fragments of the allocator
# Bytes a sample keeps for the backward pass, fitted to published largest batches: of a layer's position and width, of a score,
# and of a logit. Mixed precision; a compiler keeps less.
EAGER = (56.0, 9.0, 10.2)
COMPILED = (36.0, 6.7, 5.8)
# In float32 an eager layer keeps this much more than in mixed precision, not twice: there the outputs of softmax and normalisation
# are float32 already, and masks a byte. Counted, tensor by tensor, of a BERT layer.
FLOAT32 = 1.25
OLD = 1.4  # PyTorch 1.9 and before in mixed precision: softmax and casts in float32
OLD_BEFORE = 2021.9
TENSORFLOW_COMPILED = 1.64
IMAGE_BYTES = 6.0  # times an activation's own bytes: outputs, normalised outputs, and workspaces of convolutions
# Nine in ten published largest batches lie within this factor of the estimated one; there are none for NeuronCores.
DOUBT, NEURON_DOUBT = 1.5, 2.0
# Bytes that an activation of several operations keeps of an element beside one of one, in float32.
COMPOSED_KEPT = 12.0
RELATIVE = 1.46  # relative positions keep scores twice: DeBERTa, XLNet
RELATIVE_COMPILED = 1.04


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
    def total(self) -> float:
        return math.fsum(float(getattr(self, part.name)) for part in fields(self))


def stored_parameters(c: Configuration) -> float:
    """Parameters that one worker is responsible for before data-parallel sharding."""
    m = c.model
    if isinstance(m, ImageModel):
        return m.parameters
    return m.parameters / (c.tensor * c.pipeline * c.laid_over)


def memory(c: Configuration) -> MemoryParts:
    """What one worker needs for a training step of this configuration, in GiB."""
    parameters = stored_parameters(c)
    replicas = c.data * c.context
    each = 4.0 if c.autocast or c.precision in {"fp32", "tf32"} else 2.0
    half = c.adapters and c.precision not in {
        "fp32",
        "tf32",
    }  # frozen weights are loaded in 16 bits where the rest has them
    kept = c.weight_bits / 8 if c.weight_bits else 2.0 if half else each
    full = c.sharding in {Sharding.FULL, Sharding.OFFLOAD}
    weights = parameters * kept / (replicas if full else 1)
    trained = 0.0 if c.forward_only else parameters * (0.01 if c.adapters or c.weight_bits else 1.0)
    gradients = trained * each / (replicas if full or c.sharding is Sharding.GRADIENTS else 1)
    # The optimizer's own state; where sharded weights have 16 bits, a float32 copy of them beside
    copied = each != 4.0 and c.sharding is not Sharding.NONE and not c.half_states
    states = c.optimizer_bytes * (0.5 if c.half_states else 1.0) + (4.0 if copied else 0.0)
    optimizer = trained * states / (replicas if c.sharding is not Sharding.NONE else 1)
    if c.sharding is Sharding.OFFLOAD:
        optimizer, gradients = 0.0, 0.0
    activations, logits = sample_bytes(c)
    buffers = 0.11 * gradients if replicas > 1 else 0.0
    if full:  # the layer that is gathered, and the next
        buffers = 2 * 2 * parameters / max(getattr(c.model, "layers", 1), 1)
    fixed = (weights + gradients + optimizer) / GIB
    batch = c.micro_batch * (0.3 if c.only_forward else 1)
    # A pipeline keeps the activations of as many micro-batches as it has stages.
    in_flight = min(c.pipeline, max(c.micro_steps, 1))
    held = activations * batch * in_flight / GIB + logits * batch / GIB
    return MemoryParts(
        weights=weights / GIB,
        gradients=gradients / GIB,
        optimizer=optimizer / GIB,
        activations=activations * batch * in_flight / GIB,
        logits=logits * batch / GIB,
        buffers=buffers / GIB + CONTEXT_GIB,
        fragments=(fixed + held) * (1 / USABLE - 1),
    )


def sample_bytes(c: Configuration) -> tuple[float, float]:
    """Bytes that one sample keeps for the backward pass: of layers, and of logits."""
    if isinstance(c.model, ImageModel):
        compiled = 0.75 if c.style in {Style.COMPILED, Style.NEURON} else 1.0
        area = c.sequence / c.model.resolution**2
        return c.model.million_activations * 1e6 * area * c.element_bytes * IMAGE_BYTES / 2 * compiled, 0.0
    wide = FLOAT32 if c.style is Style.EAGER and c.element_bytes == 4 else c.element_bytes / 2
    return _transformer_bytes(c, c.model, wide)


def _transformer_bytes(c: Configuration, m: Architecture, wide: float) -> tuple[float, float]:
    compiled = c.style in {Style.COMPILED, Style.NEURON}
    position, score, logit = (
        COMPILED if compiled and c.style is Style.COMPILED else (40.0, 5.0, 7.0) if compiled else EAGER
    )
    if c.style is Style.FUSED:
        position = 34.0
    scale = 1.0
    if c.family == "tensorflow" and compiled and m.kind != "vision":
        scale = TENSORFLOW_COMPILED
    if not compiled and c.release < OLD_BEFORE and c.element_bytes == 2:
        scale *= OLD
    if m.kind == "disentangled-encoder":
        scale *= RELATIVE_COMPILED if compiled else RELATIVE
    source, target = c.sequence / c.context, c.target / c.context
    layers = m.layers / (c.pipeline * c.laid_over)
    if m.kind == "encoder-decoder" and target:
        positions = layers / 2 * (source + 1.5 * target)
        scores = layers / 2 * (source**2 + target**2 + source * target)
        said = target
    else:
        positions, scores, said = layers * source, layers * source**2 / (max(1, c.context)), source
    inner = 0.35 * m.inner * m.active_experts / (4 * m.width) * (1.5 if m.gated else 1.0) + 0.65
    kept = position * positions * m.width * inner + (0.0 if c.flash else score * m.heads * scores)
    if m.composed and c.style is Style.EAGER:
        kept += COMPOSED_KEPT * c.power_share * positions * m.inner / wide
    kept /= c.tensor
    if c.recompute is Recompute.FULL:
        kept = kept / max(layers, 1) + 2 * positions * m.width
    elif c.recompute is not Recompute.NONE:
        kept = 0.65 * position * positions * m.width * inner / c.tensor
    words = said if c.head is Head.TOKENS else said * 0.157 if c.head is Head.MASKED else 1
    return kept * scale * wide, logit * words * m.vocabulary * min(scale, 1.4) * wide / c.tensor


def usable_gib(c: Configuration) -> float:
    """Memory of a worker as its framework sees it."""
    return c.chip.usable_gib


def surely_too_large(c: Configuration) -> bool:
    """Whether a training step does not fit even where it keeps as little for a sample as nine in ten published ones do."""
    lone = memory(replace(c, micro_batch=1.0))
    doubt = NEURON_DOUBT if c.neuron else DOUBT
    kept = (lone.activations + lone.logits) * c.micro_batch / doubt
    return _fixed(lone) + kept > usable_gib(c) * USABLE


def _fixed(parts: MemoryParts) -> float:
    return (parts.weights + parts.gradients + parts.optimizer) * 0.94 + parts.buffers


def largest_batch(c: Configuration) -> int:
    """The most samples of one worker's micro-step that fit its memory; 0 where not one does."""
    lone = memory(replace(c, micro_batch=1.0))
    each = lone.activations + lone.logits
    room = usable_gib(c) * USABLE - _fixed(lone)
    return max(0, math.floor(room / each)) if each > 0 else 0
