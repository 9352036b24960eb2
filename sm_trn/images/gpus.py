"""NVIDIA's chips: their compute capability, the first CUDA that has code for them, and rules of what a chip does not have."""

from __future__ import annotations

from collections.abc import Iterator

from ..core.catalog import images
from ..core.catalog.instances import find_instances
from ..core.preflight import reading
from ..core.specs.compute import Accelerator
from ..core.specs.framework import Container
from ..core.specs.job import JobSpec
from ..core.specs.problems import Advice, Field, Problem, rules_of

_RULES = rules_of(__package__)
_AMPERE = 8.0  # the first with bfloat16 and TF32; FlashAttention 2 begins there too (its README)
_FLASH, _DYNAMIC = "flash_attention_2", "dynamic=True"
# Source: NVIDIA, CUDA GPUs and Legacy CUDA GPUs.
CAPABILITY = {
    "K80": 3.7, "V100": 7.0, "T4": 7.5, "A100-40GB": 8.0, "A100-80GB": 8.0, "A10G": 8.6, "L4": 8.9, "L40S": 8.9,
    "H100-80GB": 9.0, "H200": 9.0, "B200": 10.0, "GB200": 10.0, "B300": 10.3,
}  # fmt: skip
# Capability, the first CUDA that compiles for it, and the first PyTorch that is built with that: release notes of CUDA 11.8 and 12.8.
_FIRST = ((10.0, "12.8", (2, 7)), (9.0, "11.8", (2, 0)))


def chips(job: JobSpec) -> Iterator[Problem]:
    """CHIP001, 002, 004: bfloat16, TF32 and FlashAttention 2 came with Ampere; a CPU has no fp16, Neuron no dynamic shapes."""
    rows = find_instances(job.compute.instances)
    old = [row for row in rows if CAPABILITY.get(row.chip or "", _AMPERE) < _AMPERE]
    neuron = [row for row in rows if row.accelerator is Accelerator.NEURON]
    cpu = [row for row in rows if row.accelerator is Accelerator.CPU]
    if not old and not neuron and not cpu:
        return
    written = reading.keywords(job)
    on = {name for name, values in written.items() if values == {True}}
    on = {name for name in on if name not in job.hyperparameters} | {
        name for name, value in job.arguments.items() if str(value).lower() in {"true", "1"}
    }
    flash = written.get("attn_implementation") == {_FLASH}
    flash |= _FLASH in map(str, job.hyperparameters.values()) or "use_flash_attention_2" in on
    halves: tuple[str, ...] = ("bf16", "tf32")
    lacking = [("CHIP001", name, old) for name in halves if name in on]
    lacking += [("CHIP001", "fp16", cpu)] if "fp16" in on else []
    lacking += [("CHIP002", _FLASH, old + neuron)] if flash else []
    if written.get("dynamic") == {True} and "neuron" in written.get("backend", ()):
        lacking.append(("CHIP004", _DYNAMIC, neuron))
    for rule, name, without in lacking:
        for row in without[:1]:
            yield _RULES[rule].problem(
                Field("compute.instance"),
                f"{name} on a chip without it",
                got=f"{name} on {row.chip or 'a CPU'} ({row.name})",
                wanted={_FLASH: "attn_implementation='sdpa'", _DYNAMIC: "dynamic=False"}.get(
                    name, f"an instance whose chip has {name}"
                ),
                fix=Advice(f"leave {name} out, or choose another instance: an A10G, L4, A100 or newer"),
            )


def too_new(job: JobSpec) -> Iterator[Problem]:
    """CHIP003: an older CUDA has no code for a newer chip, and the first kernel ends the job."""
    if job.image_uri or isinstance(job.framework, Container):
        return
    row, version = images.choose(job), job.framework.pytorch
    parts = (row.pytorch if row is not None else version or "").split(".")[:2]
    pytorch = tuple(int(part) for part in parts if part.isdigit())
    for each in find_instances(job.compute.instances) if pytorch else ():
        capability = CAPABILITY.get(each.chip or "", 0.0)
        cuda, least = next(((cuda, torch) for first, cuda, torch in _FIRST if capability >= first), ("", (0,)))
        if pytorch < least:
            yield _RULES["CHIP003"].problem(
                Field("framework.version"),
                f"this PyTorch has no code for {each.chip}",
                got=f"PyTorch {job.framework.pytorch!r} on {each.name!r}",
                wanted=f"CUDA {cuda}, which comes with PyTorch {'.'.join(map(str, least))}, or newer",
                fix=Advice("choose a newer container, or an older GPU"),
            )


RULES = (chips, too_new)
