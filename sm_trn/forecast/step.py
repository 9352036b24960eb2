"""Seconds of an optimizer step, part by part: ideal seconds of ``work`` times fitted constants.

The arithmetic is plain, so that the fit can hand in arrays of rows where an estimate hands in one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

HOST_DOUBT = 1.4  # a host launches kernels up to so much faster or slower: measured on the hosts of two H200s


@dataclass(frozen=True, slots=True)
class Work:
    """Ideal seconds of one worker in one micro-step, and of one optimizer step; counts of kernels and tensors; plain sizes."""

    matrix: float  # multiplications with weights, over the peak of their precision
    attention: float  # scores and their product with values, over the peak of 16-bit work
    convolution: float  # multiplications of convolutions
    traffic: float  # activations of layers through memory
    scores: float  # attention scores through memory, where they are written
    logits: float  # logits through memory
    image_traffic: float  # activations of convolutions through memory
    weights: float  # weights read once a pass: what a small batch waits for
    kernels: float
    optimizer: float
    tensors: float
    host_reduce: float  # gradients inside a host
    net_reduce: float  # gradients between hosts
    gather_host: float  # sharded weights inside a host, a micro-step
    gather_net: float
    tensor_exchange: float
    width: float
    tokens: float  # of a micro-step, per unit of the chip's speed
    bubble: float
    micro_steps: float
    samples: float  # global batch
    years: float  # of software since mid 2023


@dataclass(frozen=True, slots=True)
class Rates:
    """The constants of one configuration, chosen by its chip, precision and software. All positive."""

    efficiency: float  # of the matrix units' peak, for wide layers and many tokens
    width: float  # the width at which half of that is reached
    tokens: float  # the tokens of a micro-step at which half of it is reached, on a chip of 312 TFLOP/s
    attention: float  # efficiency of attention
    convolution: float
    traffic: float  # times the ideal seconds of activations
    scores: float
    image_traffic: float
    launch: float  # seconds a kernel
    graph: float  # seconds a micro-step, whatever its size
    optimizer: float  # times the ideal seconds of an optimizer step
    tensor_launch: float  # seconds a tensor of an optimizer step
    link: float  # share of the links' rate that collectives reach
    network: float
    exposed: float  # share of overlapped communication that is seen all the same
    overlap: float  # 1: communication hides behind computation; 0: it never does
    exchange: float  # times the ideal seconds of tensor parallel exchanges
    bubble: float  # share of the pipeline's bubble that is left
    drift: float  # speed gained in a year of releases


@dataclass(frozen=True, slots=True)
class StepParts:
    """Seconds of one optimizer step by part; ``total`` is not their sum where parts hide behind one another."""

    matrix: float
    attention: float
    traffic: float
    launch: float
    collectives: float
    optimizer: float
    waiting: float
    total: float


def step_parts(work: Work, rates: Rates) -> StepParts:
    """Seconds of an optimizer step.

    Parts that a device does at once are joined by a 4-norm: the longest decides, and a close second costs a little.
    """
    reached = (
        rates.efficiency * (work.width / (work.width + rates.width)) * (work.tokens / (work.tokens + rates.tokens))
    )
    matrix = _norm(work.matrix / reached + work.convolution / rates.convolution, work.weights * 1.2)
    attention = work.attention / rates.attention
    traffic = (
        (work.traffic + work.logits) * rates.traffic
        + work.scores * rates.scores
        + work.image_traffic * rates.image_traffic
    )
    busy = matrix + attention + traffic
    launch = work.kernels * rates.launch
    compute = _norm(busy, launch) + rates.graph
    gather = work.gather_host / rates.link + work.gather_net / rates.network
    exchange = work.tensor_exchange * rates.exchange
    micro = _norm(compute, gather) + gather * rates.exposed + exchange
    reduce = work.host_reduce / rates.link + work.net_reduce / rates.network
    # Gradients leave during the last backward pass: two thirds of one micro-step.
    window = micro * 0.67
    hidden = _norm(window, reduce) - window + reduce * rates.exposed
    reduce = hidden * rates.overlap + reduce * (1 - rates.overlap)
    bubble = micro * work.bubble * rates.bubble * work.micro_steps
    optimizer = work.optimizer * rates.optimizer + work.tensors * rates.tensor_launch
    scale = (1 + rates.drift) ** (-1 * work.years)
    total = (micro * work.micro_steps + bubble + reduce + optimizer) * scale
    steps = work.micro_steps * scale
    return StepParts(
        matrix=matrix * steps,
        attention=attention * steps,
        traffic=traffic * steps,
        launch=(compute - busy) * steps,
        collectives=(micro - compute) * steps + reduce * scale,
        optimizer=optimizer * scale,
        waiting=bubble * scale,
        total=total,
    )


def host_seconds(work: Work, rates: Rates) -> tuple[float, float]:
    """Seconds of an optimizer step on a fast host and on a slow one: they differ where launches limit the step."""
    fast, slow = rates.launch / HOST_DOUBT, rates.launch * HOST_DOUBT
    return step_parts(work, replace(rates, launch=fast)).total, step_parts(work, replace(rates, launch=slow)).total


def _norm(first: float, second: float) -> float:
    """The 4-norm of two durations that overlap."""
    joined: float = (first**4 + second**4 + 1e-36) ** 0.25
    return joined
