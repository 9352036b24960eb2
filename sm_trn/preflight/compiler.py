"""COMP rules: where SageMaker Training Compiler works. It is frozen, so the list is final."""

from __future__ import annotations

from collections.abc import Iterator

from ..catalog import compiler, find_instance, images
from ..specs import Container, HuggingFace, JobSpec, Problem, Severity
from ..strategies import PyTorchXLA, SMDataParallel

GUIDE = "SageMaker developer guide, training-compiler-support"
SDK = "SageMaker SDK 2.257.7, TrainingCompilerConfig.validate"
XLA_FLOOR = {"huggingface": "1.11", "pytorch": "1.12"}


def instance_class(job: JobSpec) -> Iterator[Problem]:
    """COMP001: five GPU families, and not their successors."""
    name = job.compute.instance
    instance = find_instance(name)
    known = instance is not None and instance.family in compiler.COMPILER_FAMILIES
    if not job.compiled or known or not name:  # groups: LIMIT019
        return
    there = images.processor(name)
    yield Problem(
        id="COMP001",
        severity=Severity.ERROR,
        where="compiler",
        what="SageMaker Training Compiler does not run on this instance",
        got=f"{name!r} ({there.upper()})",
        wanted=", ".join(f"ml.{family}" for family in compiler.COMPILER_FAMILIES),
        fix="compiler=None (Neuron compiles by itself)"
        if there == "neuron"
        else "compute=Compute('ml.p4d.24xlarge', …)",
        evidence=SDK,
    )


def versions(job: JobSpec) -> Iterator[Problem]:
    """COMP002: it has images for a handful of versions only."""
    own = bool(job.image_uri) or isinstance(job.framework, (*images.NEURON, Container))
    if not job.compiled or own or images.matching(job):
        return
    yield Problem(
        id="COMP002",
        severity=Severity.ERROR,
        where="compiler",
        what="SageMaker Training Compiler has no image of these versions",
        got=images.describe(job),
        wanted=images.wanted(job).removeprefix("wanted "),
        fix="a combination of the list, or compiler=None",
        evidence=GUIDE,
    )


def launcher(job: JobSpec) -> Iterator[Problem]:
    """COMP003, COMP004: on several workers it needs its own launcher and refuses SMDDP."""
    if not job.compiled:
        return
    if isinstance(job.distribution, SMDataParallel):
        yield Problem(
            id="COMP004",
            severity=Severity.ERROR,
            where="distribution",
            what="SageMaker Training Compiler does not work with smdistributed",
            got=repr(SMDataParallel.name),
            wanted=repr(PyTorchXLA.name),
            fix="distribution=PyTorchXLA()",
            evidence=SDK,
        )
        return
    floor = XLA_FLOOR.get(job.framework.family)
    needs = floor is not None and tuple(map(int, floor.split("."))) <= _minor(job.framework.pytorch)
    if needs and not isinstance(job.distribution, PyTorchXLA) and (job.compute.count > 1 or job.distribution):
        yield Problem(
            id="COMP003",
            severity=Severity.ERROR,
            where="distribution",
            what="compiled training on several workers needs the compiler's own launcher",
            got=repr(job.distribution.name) if job.distribution else f"none, on {job.compute.count} instances",
            wanted=repr(PyTorchXLA.name),
            fix="distribution=PyTorchXLA()",
            evidence=SDK,
        )


def launcher_version(job: JobSpec) -> Iterator[Problem]:
    """COMP007: the launcher came with PyTorch 1.11 in Hugging Face containers, with 1.12 in PyTorch's."""
    floor = XLA_FLOOR.get(job.framework.family)
    if not job.compiled or floor is None or not isinstance(job.distribution, PyTorchXLA):
        return
    if _minor(job.framework.pytorch) < _minor(floor):
        yield Problem(
            id="COMP007",
            severity=Severity.ERROR,
            where="framework.pytorch",
            what=f"{PyTorchXLA.name!r} is not in the compiler's containers before PyTorch {floor}",
            got=repr(job.framework.pytorch),
            wanted=f"{floor} or newer",
            fix="distribution=None on one instance, or a newer framework",
            evidence=SDK,
        )


def own_image(job: JobSpec) -> Iterator[Problem]:
    """COMP005: the compiler is part of its container; another image has none."""
    own = job.image_uri or (isinstance(job.framework, Container) and job.framework.algorithm)
    if job.compiled and own:
        yield Problem(
            id="COMP005",
            severity=Severity.ERROR,
            where="image_uri",
            what="the Training Compiler lives in its own containers",
            got=repr(own),
            wanted="no image_uri, and HuggingFace or PyTorch",
            fix="leave image_uri out, or compiler=None",
            evidence=SDK,
        )


def diagnostics(job: JobSpec) -> Iterator[Problem]:
    """COMP008: the SDK turns debugger and profiler on and then warns that they spoil compiled training."""
    asked = [name for name in ("profiler", "debugger") if getattr(job, name)]
    if job.compiled and asked:
        yield Problem(
            id="COMP008",
            severity=Severity.WARNING,
            where=asked[0],
            what="profiler and debugger slow compiled training down, or break it",
            got=", ".join(f"{name}=True" for name in asked),
            wanted="neither of them",
            fix="leave them out",
            evidence=SDK,
        )


def frozen(job: JobSpec) -> Iterator[Problem]:
    """COMP006: AWS's notice."""
    if job.compiled:
        yield Problem(
            id="COMP006",
            severity=Severity.INFO,
            where="compiler",
            what=compiler.COMPILER_NOTICE,
            got=f"{type(job.framework).__name__} {images.describe(job)}"
            if isinstance(job.framework, HuggingFace)
            else "",
            evidence=GUIDE,
        )


def _minor(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2] if part.isdigit())


RULES = (instance_class, versions, launcher, launcher_version, own_image, diagnostics, frozen)
