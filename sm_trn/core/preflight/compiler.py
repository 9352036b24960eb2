"""COMP rules: where SageMaker Training Compiler works. It is frozen, so the list is final."""

from __future__ import annotations

from collections.abc import Iterator

from ..catalog import compiler, images
from ..catalog.instances import find_instance
from ..specs.compute import Compute
from ..specs.framework import Container, HuggingFace
from ..specs.job import JobSpec
from ..specs.problems import AnyOf, Change, Field, Problem, rules_of
from ..strategies.smddp import SMDataParallel
from ..strategies.xla import PyTorchXLA

XLA_FLOOR = {"huggingface": "1.11", "pytorch": "1.12"}

_RULES = rules_of(__package__)


def instance_class(job: JobSpec) -> Iterator[Problem]:
    """COMP001: five GPU families, and not their successors."""
    name = job.compute.instance
    instance = find_instance(name)
    known = instance is not None and instance.family in compiler.COMPILER_FAMILIES
    if not job.compiled or known or not name:  # groups: LIMIT019
        return
    there = images.processor(name)
    yield _RULES["COMP001"].problem(
        Field("compiler"),
        "SageMaker Training Compiler does not run on this instance",
        got=f"{name!r} ({there.upper()})",
        wanted=", ".join(f"ml.{family}" for family in compiler.COMPILER_FAMILIES),
        fix=Change("because Neuron compiles by itself", compiler=None)
        if there == "neuron"
        else Change(compute=Compute("ml.p4d.24xlarge", count=job.compute.hosts)),
    )


def versions(job: JobSpec) -> Iterator[Problem]:
    """COMP002: it has images for a handful of versions only."""
    own = bool(job.image_uri) or isinstance(job.framework, (*images.NEURON, Container))
    if not job.compiled or own or images.matching(job):
        return
    yield _RULES["COMP002"].problem(
        Field("compiler"),
        "SageMaker Training Compiler has no image of these versions",
        got=images.describe(job),
        wanted=images.wanted(job),
        fix=AnyOf("choose versions that have one", Change(compiler=None)),
    )


def launcher(job: JobSpec) -> Iterator[Problem]:
    """COMP003, COMP004: on several workers it needs its own launcher and refuses SMDDP."""
    if not job.compiled:
        return
    if isinstance(job.distribution, SMDataParallel):
        yield _RULES["COMP004"].problem(
            Field("distribution"),
            "SageMaker Training Compiler does not work with smdistributed",
            got=repr(SMDataParallel.name),
            wanted=repr(PyTorchXLA.name),
            fix=Change(distribution=PyTorchXLA()),
        )
        return
    floor = XLA_FLOOR.get(job.framework.family)
    needs = floor is not None and tuple(map(int, floor.split("."))) <= _minor(job.framework.pytorch)
    if needs and not isinstance(job.distribution, PyTorchXLA) and (job.compute.count > 1 or job.distribution):
        yield _RULES["COMP003"].problem(
            Field("distribution"),
            "compiled training on several workers needs the compiler's own launcher",
            got=repr(job.distribution.name) if job.distribution else f"none, on {job.compute.count} instances",
            wanted=repr(PyTorchXLA.name),
            fix=Change(distribution=PyTorchXLA()),
        )


def launcher_version(job: JobSpec) -> Iterator[Problem]:
    """COMP007: the launcher came with PyTorch 1.11 in Hugging Face containers, with 1.12 in PyTorch's."""
    floor = XLA_FLOOR.get(job.framework.family)
    if not job.compiled or floor is None or not isinstance(job.distribution, PyTorchXLA):
        return
    if _minor(job.framework.pytorch) < _minor(floor):
        yield _RULES["COMP007"].problem(
            Field("framework.pytorch"),
            f"{PyTorchXLA.name!r} is not in the compiler's containers before PyTorch {floor}",
            got=repr(job.framework.pytorch),
            wanted=f"{floor} or newer",
            fix=AnyOf(Change("on one instance", distribution=None), "choose a newer framework"),
        )


def own_image(job: JobSpec) -> Iterator[Problem]:
    """COMP005: the compiler is part of its container; another image has none."""
    own = job.image_uri or (isinstance(job.framework, Container) and job.framework.algorithm)
    if job.compiled and own:
        yield _RULES["COMP005"].problem(
            Field("image_uri"),
            "the Training Compiler lives in its own containers",
            got=repr(own),
            wanted="no image_uri, and HuggingFace or PyTorch",
            fix=AnyOf("leave image_uri out", Change(compiler=None)),
        )


def frozen(job: JobSpec) -> Iterator[Problem]:
    """COMP006: AWS's notice."""
    if job.compiled:
        yield _RULES["COMP006"].problem(
            Field("compiler"),
            compiler.COMPILER_NOTICE,
            got=f"{type(job.framework).__name__} {images.describe(job)}"
            if isinstance(job.framework, HuggingFace)
            else "",
        )


def _minor(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2] if part.isdigit())


RULES = (instance_class, versions, launcher, launcher_version, own_image, frozen)
