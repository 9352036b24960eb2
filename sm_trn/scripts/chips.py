"""CHIP rules: precisions, kernels and versions that a chip does not have."""

from __future__ import annotations

from collections.abc import Iterator

from ..core.catalog import images
from ..core.catalog.instances import find_instances
from ..core.preflight import reading
from ..core.specs.compute import Accelerator, InstanceType
from ..core.specs.framework import Container
from ..core.specs.job import JobSpec
from ..core.specs.problems import Advice, Field, Problem, rules_of
from ..images.contents import imports_of
from ..images.gpus import CAPABILITY, first_cuda
from .sources import programs
from .training import settings, true

_RULES = rules_of(__package__)
CHIP001 = _RULES["CHIP001"]
CHIP002 = _RULES["CHIP002"]
CHIP003 = _RULES["CHIP003"]

_AMPERE = 8.0  # the first with bfloat16 and TF32; FlashAttention 2 begins there too (its README)
_FLASH = "flash_attention_2"
_BITS = ("load_in_4bit", "load_in_8bit")
_OPTIMIZERS = ("paged_", "adamw_8bit", "bnb", "lion_8bit", "ademamix_8bit", "rmsprop_8bit")  # of bitsandbytes
_TORCH = {(11, 8): (2, 0), (12, 8): (2, 7)}  # the first PyTorch whose builds are of that CUDA


def _gpus(job: JobSpec) -> list[InstanceType]:
    return [row for row in find_instances(job.compute.instances) if row.chip in CAPABILITY]


def precision(job: JobSpec) -> Iterator[Problem]:
    """CHIP001: bfloat16 and TF32 came with Ampere, and a CPU has no fp16 for training."""
    old = [row for row in _gpus(job) if CAPABILITY[row.chip] < _AMPERE]
    none = [row for row in find_instances(job.compute.instances) if row.accelerator is Accelerator.CPU]
    lacking = [(name, row) for row in old[:1] for name in ("bf16", "bf16_full_eval", "tf32")]
    lacking += [("fp16", row) for row in none[:1]]
    for each in settings(job) if lacking else ():
        for name, row in lacking:
            if true(each.values.get(name)):
                yield CHIP001.problem(
                    each.where,
                    f"{name} on a chip without it",
                    got=f"{name} on {row.chip or 'a CPU'} ({row.name})",
                    wanted="an instance whose chip has it" if name != "bf16" else "fp16, or an A10G, L4, A100 or newer",
                    fix=Advice(f"leave {name} out, or choose another instance"),
                )


def kernels(job: JobSpec) -> Iterator[Problem]:
    """CHIP002: FlashAttention 2 needs Ampere or newer, bitsandbytes a GPU."""
    old = [row for row in _gpus(job) if CAPABILITY[row.chip] < _AMPERE]
    neuron = [row for row in find_instances(job.compute.instances) if row.accelerator is Accelerator.NEURON]
    given = reading.keywords(job) if old or neuron else {}
    optimizers = [str(each.values.get("optim", "")) for each in settings(job)] if neuron else []
    asked = given.get("attn_implementation", frozenset()) | given.get("_attn_implementation", frozenset())
    flash = asked == {_FLASH} or _FLASH in map(str, job.hyperparameters.values())
    flash |= given.get("use_flash_attention_2") == frozenset([True]) or _imports_flash(job)
    if flash and (old or neuron):
        row = (old or neuron)[0]
        yield CHIP002.problem(
            Field("compute.instance"),
            "FlashAttention 2 needs an Ampere GPU or newer",
            got=f"{_FLASH} on {row.chip} ({row.name})",
            wanted="attn_implementation='sdpa', or an A10G, L4, A100 or newer",
            fix=Advice("attn_implementation='sdpa'"),
        )
    bits = [name for name in _BITS if given.get(name) == frozenset([True]) or true(job.hyperparameters.get(name))]
    bits += [f"optim={name}" for name in optimizers if name.startswith(_OPTIMIZERS) or "_bnb_" in name]
    if bits and neuron:
        yield CHIP002.problem(
            Field("compute.instance"),
            f"{bits[0]} needs bitsandbytes, which has no kernels for Neuron",
            got=f"{bits[0]} on {neuron[0].chip} ({neuron[0].name})",
            wanted="a GPU instance, or weights in bf16",
            fix=Advice(f"leave {bits[0]} out"),
        )


def _imports_flash(job: JobSpec) -> bool:
    """Whether a program of the job's source imports flash-attn at its top, so that it cannot do without."""
    modules = (module for _, text in programs(job) for module, _ in imports_of(text))
    return any(module.partition(".")[0] == "flash_attn" for module in modules)


def too_new(job: JobSpec) -> Iterator[Problem]:
    """CHIP003: an older CUDA has no code for a newer chip, and the first kernel ends the job."""
    if job.image_uri or isinstance(job.framework, Container):
        return
    row, version = images.choose(job), job.framework.pytorch
    pytorch = tuple(
        int(part) for part in (row.pytorch if row is not None else version or "").split(".")[:2] if part.isdigit()
    )
    for each in _gpus(job) if pytorch else ():
        cuda = first_cuda(each.chip)
        least = _TORCH.get(cuda) if cuda is not None else None
        if cuda is not None and least is not None and pytorch < least:
            yield CHIP003.problem(
                Field("framework.version"),
                f"this PyTorch has no code for {each.chip}",
                got=f"PyTorch {job.framework.pytorch!r} on {each.name!r}",
                wanted=f"CUDA {'.'.join(map(str, cuda))}, which comes with PyTorch {'.'.join(map(str, least))}, or newer",
                fix=Advice("choose a newer container, or an older GPU"),
            )


RULES = (precision, kernels, too_new)
