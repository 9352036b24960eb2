"""The constants of the model of speed: which of them a configuration uses, and the two that published rows move.

All others stay at what datasheets, kernels and recipes suggest: fitted, they foretold repositories that the fit had not seen no better.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from types import MappingProxyType

from .architectures import Architecture
from .configuration import Configuration, Sharding, Style
from .intervals import spread_of
from .step import Rates

FLASH2 = 2023.55  # years: FlashAttention-2 came out
# Frozen weights of 8 bits: two public jobs took once and twice the estimate, three others two to five times.
EIGHT_BITS = 2.0
LEARNED = 2024.0  # years: cuBLAS made the most of Hopper's new units
PCIE = 30e9  # links slower than this, a worker, are PCIe and no NVLink


@dataclass(frozen=True, slots=True)
class Prior:
    """A constant's median before any row is seen, and the spread of its logarithm (0.1 is about ten per cent); 0: it is not fitted."""

    median: float
    spread: float = 0.0


# A constant has a spread only where published rows moved it: constants.json holds it.
PRIORS: Mapping[str, Prior] = MappingProxyType(
    {
        "peak.half": Prior(0.75),
        "peak.tf32": Prior(0.75),
        "peak.fp32": Prior(0.85, 0.25),
        "peak.fp8": Prior(0.60),
        "peak.autocast32": Prior(0.55),  # Neuron multiplies float32 in bf16 by default
        "chip.volta": Prior(0.80),
        "chip.turing": Prior(0.55),  # T4: 70 W hold its clock below the datasheet's
        "chip.kepler": Prior(0.70),
        "chip.ampere": Prior(1.0),
        "chip.ampere-small": Prior(0.85),
        "chip.ada-small": Prior(0.55),  # L4: 72 W
        "chip.ada": Prior(0.75),
        "chip.hopper": Prior(0.80),
        "chip.hopper.learned": Prior(1.15),  # on top of that: the same chips in rounds 3.1 to 4.1 of MLPerf Training
        "chip.blackwell": Prior(0.70),
        "chip.trainium1": Prior(0.65),
        "chip.trainium2": Prior(0.50),
        "saturation.width": Prior(77, 0.5),
        "saturation.tokens": Prior(700),
        # Forward and backward together on an A100: FlashAttention-2 (2023), which measured both.
        "attention.flash": Prior(0.32),
        "attention.flash2": Prior(0.52),
        "attention.eager": Prior(0.45),
        "attention.neuron": Prior(0.30),
        "attention.hopper": Prior(0.65),
        "convolution.half": Prior(0.40),
        "convolution.tf32": Prior(0.40),
        "convolution.fp32": Prior(0.75),
        "convolution.neuron": Prior(0.35),
        "convolution.diffusion": Prior(0.40),
        "traffic.eager": Prior(1.9),
        "traffic.tuned": Prior(1.5),
        "traffic.fused": Prior(1.4),
        "traffic.compiled": Prior(1.1),
        "traffic.neuron": Prior(1.4),
        "traffic.image": Prior(24),
        "traffic.image32": Prior(24),
        "scores": Prior(1.3),
        # Of Trainer on the hosts of two H200s, where they limit small batches: 14 and 28 microseconds. No published row is limited so.
        "launch.eager": Prior(20e-6),
        "launch.tuned": Prior(5e-6),
        "launch.fused": Prior(5e-6),
        "launch.compiled": Prior(4e-6),
        "launch.neuron": Prior(1e-6),
        "launch.image": Prior(4e-6),
        "graph.gpu": Prior(1e-4),
        "graph.neuron": Prior(3e-3),
        "optimizer.eager": Prior(3.0),
        "optimizer.tuned": Prior(2.0),
        "optimizer.fused": Prior(2.0),
        "optimizer.compiled": Prior(2.5),
        "optimizer.neuron": Prior(3.0),
        "tensor.eager": Prior(40e-6),
        "tensor.tuned": Prior(15e-6),
        "tensor.fused": Prior(15e-6),
        "tensor.compiled": Prior(15e-6),
        "tensor.neuron": Prior(5e-6),
        "link.gpu": Prior(0.6),
        "link.pcie": Prior(0.5),
        "link.neuron": Prior(0.35),
        "network.gpu": Prior(0.6),
        "network.neuron": Prior(0.35),
        "gather.gpu": Prior(0.7),
        "exposed": Prior(0.15),
        "overlap.gpu": Prior(1.0),
        "overlap.neuron": Prior(1e-9),
        "exchange.gpu": Prior(1.4),
        "exchange.neuron": Prior(1.5),
        "bubble.plain": Prior(1.0),
        "bubble.interleaved": Prior(0.4),
        "drift.neuron": Prior(0.08),
        "drift.gpu": Prior(1e-9),
    }
)


def _precision(c: Configuration) -> str:
    if c.precision in {"fp16", "bf16"}:
        return "half"
    if c.neuron:
        return "autocast32"
    if c.precision == "tf32" and c.chip.tf32 is None:
        return "fp32"
    if c.precision == "fp8" and c.chip.fp8 is None:
        return "half"
    return c.precision


def chosen(c: Configuration) -> Mapping[str, tuple[str, ...]]:
    """The names of the constants whose product is each of ``Rates``."""
    style, precision, neuron = c.style.value, _precision(c), c.neuron
    pcie = not neuron and c.chip.link_rate < PCIE
    kind = "neuron" if neuron else "gpu"
    chip = f"chip.{c.generation}"
    tuned = c.generation == "hopper" and c.release > LEARNED and c.style is not Style.EAGER
    learned = ("chip.hopper.learned",) if tuned else ()
    diffusion = c.images and c.model.name.startswith("stable-diffusion")
    convolution = "diffusion" if diffusion else "neuron" if neuron else precision.replace("fp8", "half")
    flash = "attention.flash2" if c.release > FLASH2 else "attention.flash"
    attention = ("attention.neuron" if neuron else flash if c.flash else "attention.eager",)
    # Attention written for Ampere reaches less of a later chip's peak: FlashAttention-3 (2024). Transformer Engine, which NeMo calls, has
    # cuDNN's own.
    ported: tuple[str, ...] = (chip,)
    if c.generation in {"hopper", "blackwell"}:
        ported = () if c.family == "nemo" else ("attention.hopper",)
    sharded = c.sharding in {Sharding.FULL, Sharding.GRADIENTS}
    return {
        "efficiency": (f"peak.{precision}", chip, *learned),
        "width": ("saturation.width",),
        "tokens": ("saturation.tokens",),
        "attention": attention + ported,
        "convolution": (f"convolution.{convolution}", chip),
        "traffic": (f"traffic.{style}",),
        "scores": (f"traffic.{style}", "scores"),
        "image_traffic": ("traffic.image32" if c.element_bytes == 4 else "traffic.image",),
        "launch": ("launch.image" if c.images and not neuron else f"launch.{style}",),
        "graph": (f"graph.{kind}",),
        "optimizer": (f"optimizer.{style}",),
        "tensor_launch": (f"tensor.{style}",),
        "link": ("link.pcie" if pcie else "gather.gpu" if sharded and not neuron else f"link.{kind}",),
        "network": (f"network.{kind}",),
        "exposed": ("exposed",),
        "overlap": (f"overlap.{kind}",),
        "exchange": (f"exchange.{kind}",),
        "bubble": ("bubble.interleaved" if c.interleaved else "bubble.plain",),
        "drift": (f"drift.{kind}",),
    }


@dataclass(frozen=True, slots=True)
class Constants:
    """Values of all constants by name."""

    values: Mapping[str, float]

    def rates(self, c: Configuration) -> Rates:
        """Those that this configuration uses."""
        return Rates(**{name: math.prod(self.values[each] for each in used) for name, used in chosen(c).items()})


@dataclass(frozen=True, slots=True)
class Fit:
    """What the fit left: constants of all rows, and how far each repository was off that was left out.

    ``residuals`` are natural logarithms of published over estimated seconds, by group, a repository and a model; ``spread`` is what bounds
    most of them. ``support`` counts the repositories that have a generation and a precision, or a method.
    """

    constants: Constants
    residuals: Mapping[str, tuple[float, ...]]
    spread: tuple[float, float]
    support: Mapping[str, int]


@functools.cache
def shipped() -> Fit:
    """The constants that come with the package, and what estimates by them missed."""
    body = json.loads(files(__package__).joinpath("constants.json").read_text("utf-8"))
    base = {name: prior.median for name, prior in PRIORS.items()} | body["constants"]
    residuals = MappingProxyType({group: tuple(values) for group, values in body["residuals"].items()})
    return Fit(
        constants=Constants(MappingProxyType(base)),
        residuals=residuals,
        spread=spread_of(residuals),
        support=MappingProxyType(body["support"]),
    )


def support_key(c: Configuration) -> str:
    """What two rows must share to speak for one another: generation and precision of the chip, images or not."""
    return f"{c.generation} {_precision(c)}{' images' if c.images else ''}"


def methods_of(c: Configuration) -> tuple[str, ...]:
    """How a model trains otherwise than by all of its dense weights: rows of one way do not speak for another."""
    mixture = isinstance(c.model, Architecture) and c.model.experts > 1
    ways = (("adapters", c.adapters), ("quantised weights", c.weight_bits > 0), ("experts", mixture))
    return tuple(name for name, taken in ways if taken)


def supported(c: Configuration) -> int:
    """How many repositories speak for a configuration: those of its chip and precision, or of how it trains where they are fewer."""
    return min(shipped().support.get(key, 0) for key in (support_key(c), *methods_of(c)))


def method_doubt(c: Configuration) -> float:
    """How much wider an interval is for a method of which what is published does not agree."""
    return EIGHT_BITS if c.weight_bits == 8 else 1.0
