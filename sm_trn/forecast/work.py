"""What one worker does in a micro-step: operations and bytes over the rates of the datasheet, so every field is seconds.

Nothing here is fitted. ``step`` multiplies these ideal seconds with constants that published rows decide.
"""

from __future__ import annotations

import math

from .architectures import Architecture, ImageModel
from .configuration import Configuration, Head, Sharding, Style
from .step import Work

# Words that NVIDIA's BERT recipes predict of a sequence: max_predictions_per_seq, 20 of 128 and 80 of 512.
MASKED_SHARE = 0.157
# Bytes an optimizer step reads and writes of one parameter: AdamW with float32 state and gradients.
OPTIMIZER_BYTES = 26
# Tensors of a transformer's layer: each is a few launches of an optimizer that is not fused.
TENSORS_PER_LAYER = 16
# Bytes of an element that an activation of several operations moves beside one of one, counted by PyTorch's dispatcher in float32.
COMPOSED_MOVED = 164
# Elements that a token's activation moves for each expert that it goes to: copied, weighted, added, and twice that backward.
ROUTED = 21
EXPERT_KERNELS = 33  # of one expert after another, in three passes: transformers, MixtralSparseMoeBlock
# Bytes that a weight of 4 bits moves until it has 16: shift, cast, mask, zero point and scale. AutoGPTQ, qlinear_cuda_old.py.
UNPACKED_BYTES = 16.5
# Of Python around each module, in times of a launch, where ZeRO-3 fetches and releases its weights: steps of Qwen's full fine-tuning take
# as long for 256 tokens as for 2,048.
HOOKED_LAUNCHES = 14
TILE = 128  # lengths on NeuronCores are padded to tiles of 128


def work_of(configuration: Configuration) -> Work:
    """The work of a configuration, in seconds at datasheet rates."""
    if isinstance(configuration.model, ImageModel):
        return _images(configuration, configuration.model)
    return _transformer(configuration, configuration.model)


def fastest_seconds(c: Configuration, work: Work | None = None) -> float:
    """Seconds of a step if every unit ran at its datasheet's peak and everything overlapped. ``work`` is its own, where it is known."""
    work = work or work_of(c)
    # With nothing recomputed, as a recipe that is not told may do without.
    saved = 3 / (3 + c.recompute.value) if not c.forward_only else 1.0
    each = max((work.matrix + work.convolution) * saved, work.weights * saved)
    return each * max(work.micro_steps, 1)


def model_flop(c: Configuration) -> float:
    """FLOP of a step as papers count them: no recomputation, attention in full."""
    if isinstance(c.model, ImageModel):
        return c.model.gflop_forward * 1e9 * c.global_batch * (1 if c.forward_only else 3)
    weights = c.model.active_parameters + c.model.width * c.model.vocabulary * (1.0 if c.head is Head.TOKENS else 0.0)
    passes = 1 if c.forward_only else 2 if c.adapters else 3
    attention = 4 * c.model.layers * c.model.width * c.sequence
    return passes * (2 * weights + attention) * (c.sequence + c.target) * c.global_batch


def _passes(c: Configuration) -> float:
    """How many forward passes' worth of multiplications a micro-step is: forward, and twice that backward."""
    if c.only_forward:
        return 1
    return (2 if c.adapters else 3) + c.recompute.value


def _transformer(c: Configuration, m: Architecture) -> Work:
    samples, split = c.micro_batch, c.tensor * c.pipeline
    length = c.sequence / c.context
    tokens = samples * (
        length if not c.target else (c.sequence + c.target) / 2
    )  # each layer sees its own side's tokens
    predicted = samples * _predicted(c, m)
    second = c.companion**2  # a smaller network beside the model: its weights, and below its activations
    passes, peak = _passes(c), _rate(c, c.precision)
    half = _rate(c, c.half)
    hbm = c.chip.memory_rate
    matrix = 2 * (m.active_parameters * _projections(m) * (1 + second) * tokens) / split * passes / peak
    # A frozen model still needs the gradient through its head.
    head = 2 * (m.width * m.vocabulary * predicted) / split * (1 if c.forward_only else 3) / half
    attention = _attention(c, m, samples) * (passes + (0.5 if c.flash and not c.forward_only else 0)) / split / half
    layers = m.layers / c.pipeline
    share = _traffic_share(c)
    bytes_of = c.element_bytes * hbm**-1
    # What is prepared for quantised training has norms in float32, and so are the sums between its layers: peft, utils/other.py.
    wide = 2 if c.weight_bits and c.autocast and c.style is Style.EAGER and c.element_bytes == 2 else 1
    inner = m.inner * m.active_experts * (3 if m.gated else 2)
    routed = ROUTED * m.active_experts if m.experts > 1 else 0
    traffic = (
        layers * tokens * ((66 * wide + routed) * m.width + 3 * inner) / c.tensor * bytes_of * share * (1 + c.companion)
    )
    if m.composed and c.style is Style.EAGER:
        traffic += layers * tokens * m.inner / c.tensor * COMPOSED_MOVED * c.power_share / hbm * share
    traffic *= 1.4 if m.kind in {"memory-decoder", "disentangled-encoder"} else 1.0
    traffic += _dequantised(c, m) / split / hbm
    scores = 0.0 if c.flash else _scores(c, m, samples) / split * bytes_of * share * (1 + c.companion)
    logits = 14 * m.vocabulary * predicted / split / hbm * (1 if not c.forward_only else 0.3)
    stored = (m.layer_parameters + m.embedding_parameters) / split
    reduce_host, reduce_net = _reduce(c, stored)
    gather_host, gather_net = _gather(c, stored)
    return Work(
        matrix=matrix + head,
        attention=attention,
        convolution=0.0,
        traffic=traffic,
        scores=scores,
        logits=logits,
        image_traffic=0.0,
        weights=stored * (2.0 if c.weight_bits else c.element_bytes) * passes / hbm,
        kernels=layers
        * _kernels(c, m)
        * c.driven
        * (passes / 3)
        * (2 if c.companion else 2.5 if m.kind == "memory-decoder" else 1),
        optimizer=_optimizer(c, stored) * (1 + second) / hbm,
        tensors=0.0 if c.forward_only else layers * TENSORS_PER_LAYER * (0.4 if c.adapters else 1.0),
        host_reduce=reduce_host,
        net_reduce=reduce_net,
        gather_host=gather_host,
        gather_net=gather_net,
        tensor_exchange=_tensor(c, m, tokens, layers),
        width=m.width / math.sqrt(c.tensor),
        # Tiles of a product grow with tokens × width; a faster chip needs more of them at once.
        tokens=tokens * m.active_experts / m.experts * m.width / c.tensor / 1024 * math.sqrt(312e12 / peak),
        bubble=(c.pipeline - 1) / max(c.micro_steps, 1),
        micro_steps=c.micro_steps,
        samples=c.global_batch,
        years=min(c.release, 2025.0) - 2023.5,
    )


def _images(c: Configuration, m: ImageModel) -> Work:
    samples, passes = c.micro_batch, _passes(c)
    hbm = c.chip.memory_rate
    area = c.sequence / m.resolution**2  # of an image ``sequence`` is its pixels
    work = (m.gflop_forward * passes + m.gflop_forward_only) * 1e9 * samples * area
    reduce_host, reduce_net = _reduce(c, m.parameters)
    return Work(
        matrix=0.0,
        attention=0.0,
        convolution=work / _rate(c, c.precision),
        traffic=0.0,
        scores=0.0,
        logits=0.0,
        image_traffic=m.million_activations * 1e6 * samples * area * c.element_bytes * passes / 3 / hbm,
        weights=m.parameters * c.element_bytes * passes / hbm,
        kernels=m.layers * 9 * (0.5 if c.neuron else 1) * (passes / 3),
        optimizer=_optimizer(c, m.parameters) / hbm,
        tensors=0.0 if c.forward_only else m.layers * 3,
        host_reduce=reduce_host,
        net_reduce=reduce_net,
        gather_host=0.0,
        gather_net=0.0,
        tensor_exchange=0.0,
        width=1e9,
        tokens=samples * area * 196 * math.sqrt(312e12 / _rate(c, c.precision)),
        bubble=0.0,
        micro_steps=c.micro_steps,
        samples=c.global_batch,
        years=min(c.release, 2025.0) - 2023.5,
    )


def _projections(m: Architecture) -> float:
    """Keys and values of the segment before are made again for each segment of a model with memory."""
    return (
        1 + m.attention_parameters / 2 / (m.attention_parameters + m.feed_forward_parameters)
        if m.kind == "memory-decoder"
        else 1.0
    )


def _dequantised(c: Configuration, m: Architecture) -> float:
    """Bytes that quantised weights move in a micro-step: each product that uses one first writes it out in 16 bits.

    Source: bitsandbytes, autograd/_functions.py: ``MatMul4Bit`` in both directions. A weight of 4 bits is looked up besides, which takes as
    long again: LitGPT's tables with and without it, on A10G and A100. What PyTorch's own operations unpack is kept for the way back.
    """
    if c.unpacked:
        return m.layer_parameters * UNPACKED_BYTES * (1 + c.recompute.value)
    moved = (c.weight_bits / 8 + 2) * (2 if c.weight_bits == 4 else 1)
    return m.layer_parameters * moved * _passes(c) if c.weight_bits else 0.0


def _rate(c: Configuration, precision: str) -> float:
    """FLOP/s of one worker; a chip without the unit does it in the next wider precision that it has."""
    if c.neuron and precision == "fp32":  # the Neuron compiler casts multiplications to bf16 unless told otherwise
        precision = "bf16"
    for each in (precision, "bf16", "fp16", "tf32", "fp32"):
        peak = c.chip.peak(each)
        if peak is not None:
            return peak
    raise ValueError(f"chip {c.chip.name!r}: the table has no rate")


def _predicted(c: Configuration, m: Architecture) -> float:
    """Positions of a sample that are multiplied with the vocabulary."""
    if m.kind == "encoder-decoder":
        return c.target or c.sequence
    if m.kind == "memory-decoder":  # most words are in the first cluster of the adaptive softmax: 20,000 of 267,735
        return c.sequence * 0.12
    if c.head is Head.TOKENS:
        return c.sequence / c.context
    return c.sequence * MASKED_SHARE if c.head is Head.MASKED else 1.0


def _attention(c: Configuration, m: Architecture, samples: float) -> float:
    """FLOP of one forward pass over all layers: two products of S × S × width."""
    width = m.attention_width or m.width
    length = math.ceil(c.sequence / TILE) * TILE if c.neuron else c.sequence
    if m.kind == "encoder-decoder" and c.target:
        sides = (length**2 + c.target**2 / 2 + c.target * length) / 2
        return 4 * m.layers * width * sides * samples
    span = 2 * length * length if m.kind == "memory-decoder" else length * length  # keys of the segment before, too
    skipped = 0.5 if m.causal and c.flash else 1.0
    return 4 * m.layers * width * span * skipped * samples / c.context


def _scores(c: Configuration, m: Architecture, samples: float) -> float:
    """Elements of scores that pass memory: softmax, mask, dropout, and their gradients."""
    passes = 32 * 2 if m.kind == "memory-decoder" else 8 if c.style in {Style.COMPILED, Style.NEURON} else 18
    if m.kind == "disentangled-encoder":
        passes *= 2
    length = c.sequence
    span = length**2
    if m.kind == "encoder-decoder" and c.target:
        span = (length**2 + c.target**2 + c.target * length) / 2
    return passes * m.heads * span * samples * m.layers / c.context


def _traffic_share(c: Configuration) -> float:
    if c.forward_only:
        return 0.33
    # A frozen layer has no gradient of its weights to pass on, but an adapter reads each product's input again, and reads and writes
    # its output twice more: as many elements as the layer's own. Without autocast it does so in float32: peft, tuners/lora/layer.py.
    adapted = (0.7 if c.autocast else 1.2) * c.adapted if c.adapters else 0.0
    return (1 + adapted) * (1 + c.recompute.value / 3)


def _kernels(c: Configuration, m: Architecture) -> float:
    """Kernels that a layer launches in three passes, forward and twice that backward, and what its host does besides, in launches.

    Of eager layers they are counted by PyTorch's dispatcher (transformers 5.17, peft 0.21): 87 to 144 of BERT, GPT-2, OPT, Llama and Qwen.
    A Llama layer with LoRA at all its products launches 224 in its two passes, and 316 with one of them repeated.
    """
    if c.style is not Style.EAGER:
        return {Style.TUNED: 80, Style.FUSED: 45, Style.COMPILED: 30, Style.NEURON: 0}[c.style]
    kernels = 130 + (206 * c.adapted if c.adapters else 0) + (EXPERT_KERNELS * m.experts if m.experts > 1 else 0)
    if c.family == "deepspeed" and c.sharding in {Sharding.FULL, Sharding.OFFLOAD}:
        kernels += 3 * HOOKED_LAUNCHES * (15 if c.adapters else 7)  # modules of a layer that have weights
    return kernels


def _optimizer(c: Configuration, stored: float) -> float:
    """Bytes that an optimizer step moves on one worker."""
    if c.forward_only:
        return 0.0
    if c.adapters:
        return stored * _trained(c) * OPTIMIZER_BYTES
    shared = c.sharding is not Sharding.NONE
    return stored * OPTIMIZER_BYTES / (c.data * c.context if shared else 1)


def _reduce(c: Configuration, stored: float) -> tuple[float, float]:
    """Seconds of a gradient all-reduce inside a host and between hosts, hierarchical ring."""
    if c.data * c.context <= 1 or c.forward_only or c.sharding in {Sharding.FULL, Sharding.OFFLOAD}:
        return 0.0, 0.0
    wide = 4.0 if c.autocast or c.precision in {"tf32", "fp32"} else 2.0
    sent = 2 * stored * wide * _trained(c)
    return _ring(c, sent)


def _ring(c: Configuration, sent: float) -> tuple[float, float]:
    local = max(1, min(c.data, c.workers_per_host // max(1, c.tensor * (c.pipeline if c.hosts == 1 else 1))))
    across = max(1, math.ceil(c.data / local))
    inside = sent * (local - 1) / local / c.chip.link_rate
    # Every worker's share leaves the host through the network that they share.
    node = c.network_gbps * 1e9 / 8
    between = sent * (across - 1) / across * (c.workers_per_host / local) / node if across > 1 else 0.0
    return inside, between


def _gather(c: Configuration, stored: float) -> tuple[float, float]:
    """Seconds to gather sharded weights in a micro-step, once for each pass, and to scatter the gradients of those that are trained."""
    gathered = {Sharding.FULL: 2.0, Sharding.OFFLOAD: 2.0, Sharding.GRADIENTS: 0.0}.get(c.sharding)
    if gathered is None or c.data * c.context <= 1:
        return 0.0, 0.0
    wide = 4.0 if c.precision in {"tf32", "fp32"} else 2.0
    return _ring(c, stored * (gathered * (c.weight_bits / 8 or wide) + wide * _trained(c)))


def _trained(c: Configuration) -> float:
    """The share of the model's parameters that get gradients."""
    return 0.01 if c.adapters else 1.0


def _tensor(c: Configuration, m: Architecture, tokens: float, layers: float) -> float:
    """Seconds of tensor parallel exchanges: four all-reduces a layer of the tokens' activations."""
    if c.tensor == 1:
        return 0.0
    rounds = 2 if c.forward_only else 4 + 2 * c.recompute.value
    return layers * rounds * tokens * m.width * 2 * 2 * (c.tensor - 1) / c.tensor / c.chip.link_rate
