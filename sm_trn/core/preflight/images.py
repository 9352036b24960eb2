"""IMG rules: does a container for this job exist, and is it the one that was meant?"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from ..catalog import images
from ..catalog.instances import find_instances
from ..specs.compute import Compute
from ..specs.framework import Container, HuggingFace, NeuronX, PyTorch, TorchNeuron
from ..specs.job import JobSpec
from ..specs.problems import Advice, AnyOf, Change, Field, Problem, Severity, rules_of

_RULES = rules_of(__package__)
_OWN = "account.dkr.ecr.region.amazonaws.com/name:tag"


def unknown_image(job: JobSpec) -> Iterator[Problem]:
    """IMG001: no published image has these versions; the SDK guesses for Trainium and fails late for GPUs."""
    if isinstance(job.framework, TorchNeuron):
        if images.minor(job.framework.pytorch) not in images.TORCH_NEURON:
            yield _RULES["IMG001"].problem(
                Field("framework.pytorch"),
                "torch-neuronx of AWS Neuron 2.33.0 (2026-10-19) is not for this PyTorch",
                got=repr(job.framework.pytorch),
                wanted=" or ".join(images.TORCH_NEURON),
                fix=Change(framework=TorchNeuron(images.TORCH_NEURON[-1])),
                severity=Severity.WARNING,
                evidence=images.TORCH_NEURON_NOTES,
            )
        return
    if _named(job) or _misfit(job) or images.matching(job):
        return
    if job.compiled and not isinstance(job.framework, images.NEURON):
        return  # COMP002 says it, with the compiler's own list
    if images.newer_than_table(job):
        yield _RULES["IMG001"].problem(
            Field("framework"),
            "newer than this package's table of images",
            got=images.describe(job),
            wanted=f"at most {images.table_end(job)}, or image_uri",
            fix=Advice("run sm-trn catalog update, or set image_uri"),
            severity=Severity.WARNING,
        )
        return
    good = images.nearest(job)
    yield _RULES["IMG001"].problem(
        Field("framework"),
        f"no {job.framework.family} image has these versions",
        got=images.describe(job),
        wanted=images.wanted(job),
        fix=AnyOf(
            *([Change(framework=images.framework_of(good))] if good is not None else []),
            "image_uri; sm-trn catalog images lists all",
        ),
    )


def wrong_python(job: JobSpec) -> Iterator[Problem]:
    """IMG002: each version was published with one Python, few with two; the SDK refuses others when the job is sent."""
    versions = images.matching(job)
    if _named(job) or _misfit(job) or not versions or images.choose(job) is not None:
        return
    yield _RULES["IMG002"].problem(
        Field("framework.python"),
        "the container of these versions has another Python",
        got=repr(job.framework.python),
        wanted=", ".join(dict.fromkeys(row.python for row in versions if row.python is not None)),
        fix=Change(python=versions[-1].python),
    )


def _named(job: JobSpec) -> bool:
    """Return True if the job says itself what runs, so that no table is asked."""
    return bool(job.image_uri) or isinstance(job.framework, Container)


def _misfit(job: JobSpec) -> str | None:
    """The instance type that no image of the framework runs on."""
    strange = images.misfit(job, images.processors(job.framework.family))
    if strange is None and isinstance(job.framework, TorchNeuron):
        return next((row.name for row in find_instances(job.compute.instances) if row.chip == "Trainium1"), None)
    return strange


def no_image(job: JobSpec) -> Iterator[Problem]:
    """IMG006: a container of one's own is found by its URI only, an algorithm by its name; of TorchNeuron's no tag is known."""
    framework = job.framework
    if isinstance(framework, TorchNeuron) and not job.image_uri and not _misfit(job) and images.choose(job) is None:
        yield _RULES["IMG006"].problem(
            Field("image_uri"),
            "AWS has a TorchNeuron training container (AWS Neuron, 2026-10-16), but no page read here gives its tag",
            got="no image_uri",
            wanted="the URI of a copy in your registry",
            fix=Change(image_uri=_OWN),
            evidence="AWS Neuron 2.33.0, setup/pytorch/dlc, 2026-10-16; the containers' README ends at 2.32.0, 2026-08-17",
        )
    if not isinstance(framework, Container) or job.serverless:
        return
    if bool(job.image_uri) == bool(framework.algorithm):
        yield _RULES["IMG006"].problem(
            Field("image_uri"),
            "a Container needs an image or an algorithm",
            got="both" if job.image_uri else "neither",
            wanted="one of them",
            fix=Change(image_uri=_OWN),
        )


def wrong_accelerator(job: JobSpec) -> Iterator[Problem]:
    """IMG003: a GPU image on Trainium, a Neuron image on GPUs: both SDKs send it. Hugging Face publishes none for CPUs."""
    native = isinstance(job.framework, TorchNeuron)
    strange = None if _named(job) and not native else _misfit(job)
    if strange is None:
        return
    there = images.processor(strange)
    if native and there == "neuron":
        yield _RULES["IMG003"].problem(
            Field("framework"),
            "TorchNeuron runs on Trainium2 and Trainium3 only (AWS Neuron 2.33.0, 2026-10-19)",
            got=f"{strange!r} (Trainium1)",
            wanted="ml.trn2 or newer",
            fix=AnyOf(
                Change(compute=Compute("ml.trn2.48xlarge", count=job.compute.hosts)),
                Change("the XLA road", framework=NeuronX("2.9.0"), image_uri=None),
            ),
            evidence=images.TORCH_NEURON_NOTES,
        )
        return
    yield _RULES["IMG003"].problem(
        Field("framework"),
        f"{type(job.framework).__name__} containers do not run on this instance",
        got=f"{strange!r} ({there.upper()})",
        wanted=f"a Neuron container, such as {_neuron_row(job).repository}"
        if _on_trainium1(strange)
        else f"a {'TorchNeuron' if there == 'neuron' else there.upper()} container",
        fix=_neuron_fix(job, strange) if there == "neuron" else _pytorch_fix(job),
    )


def old_gpus(job: JobSpec) -> Iterator[Problem]:
    """IMG007: containers since PyTorch 1.13 do not run on P2, those since 2.9 not on P3."""
    row = images.choose(job)
    if _named(job) or _misfit(job) or row is None or not (reason := images.unfit(row, job)):
        return
    p2 = images.machine(job).startswith("ml.p2.")
    yield _RULES["IMG007"].problem(
        Field("framework.version"),
        reason,
        got=f"pytorch {job.framework.pytorch!r} on {images.machine(job)!r}",
        wanted=f"{'1.12' if p2 else '2.8'} or older, or newer machines",
        fix=AnyOf(
            Change(framework=PyTorch("1.12.1", python="py38") if p2 else PyTorch("2.8.0", python="py312")),
            Change(compute=Compute("ml.g5.xlarge", count=job.compute.hosts)),
        ),
        evidence="SageMaker SDK 2.257.7, image_uris._validate_instance_deprecation"
        if p2
        else "CUDA Toolkit 13.0 release notes",
    )


def _neuron_row(job: JobSpec) -> images.ImageRow:
    """The Neuron image nearest to what the job names: its own versions if there are any, else the newest that trains on XLA."""
    wanted = job.framework.transformers
    rows = [row for row in images.rows("huggingface-neuronx" if wanted else "neuronx") if row.xla_training]
    same = [row for row in rows if row.pytorch == job.framework.pytorch and row.transformers in {wanted, None}]
    return (same or rows)[-1]


def _on_trainium1(instance: str) -> bool:
    return any(row.chip == "Trainium1" for row in find_instances([instance]))


def _neuron_fix(job: JobSpec, instance: str) -> Change:
    if _on_trainium1(instance):
        return Change(framework=images.framework_of(_neuron_row(job)))
    version = images.minor(job.framework.pytorch)
    return Change(
        framework=TorchNeuron(version if version in images.TORCH_NEURON else images.TORCH_NEURON[-1]), image_uri=_OWN
    )


def _pytorch_fix(job: JobSpec) -> Change:
    """PyTorch's own container nearest to the version that the job names, of those that run on its machines."""
    good = images.nearest(job.replace(framework=PyTorch(job.framework.pytorch or "0", python="")))
    own = {"image_uri": None} if job.image_uri else {}
    return Change("or another instance", framework=images.framework_of(good or images.rows("pytorch")[-1]), **own)


def out_of_patch(job: JobSpec, today: date) -> Iterator[Problem]:
    """IMG008: AWS patches an image for about a year after its release."""
    row = None if _named(job) else images.choose(job)
    if row is None or row.end_of_patch is None or row.end_of_patch > today.isoformat():
        return
    good = images.nearest(job)
    if good is not None and (good.end_of_patch or "") <= today.isoformat():
        good = None
    yield _RULES["IMG008"].problem(
        Field("framework"),
        f"AWS has not patched this image since {row.end_of_patch}",
        got=images.describe(job),
        consequence="it runs, without security patches and bug fixes",
        wanted=f"the nearest that it does is {images.in_words(good)}" if good is not None else "",
        fix=AnyOf(
            *([Change(framework=images.framework_of(good))] if good is not None else []),
            "choose a newer version when you can, or --ignore IMG008",
        ),
    )


def trainium_road(job: JobSpec) -> Iterator[Problem]:
    """IMG009: AWS ended training through PyTorch/XLA, the only way that trn1 trains, in 2026; what was published before runs on."""
    if not isinstance(job.framework, images.NEURON) or _misfit(job):
        return
    row, move = images.choose(job), "public beta since Neuron 2.33.0, 2026-10-19: device 'neuron', no torch_xla"
    ended = not job.image_uri and row is not None and not row.xla_training
    native = Change(move, framework=TorchNeuron(images.TORCH_NEURON[-1]), image_uri=_OWN)
    plan = Advice(f"plan the move: TorchNeuron on ml.trn2 ({move}), GPUs, or JAX (jax-training-neuronx as image_uri)")
    yield _RULES["IMG009"].problem(
        Field("framework.neuron_sdk" if ended else "framework"),
        "AWS dropped PyTorch/XLA training in Neuron 2.30 (2026-05-21)",
        got=f"Neuron {row.neuron_sdk!r}" if ended and row is not None else "",
        wanted="2.29.1 or older for trn1" if ended else "",
        consequence="images up to Neuron 2.29.1 still run; the last with torch-neuronx 2.9, of 2.30.0, is unsupported for training",
        fix=Advice("leave neuron_sdk out") if ended else plan if _on_trainium1(images.machine(job)) else native,
        severity=Severity.WARNING if ended else Severity.INFO,
    )


def mixed_versions(job: JobSpec) -> Iterator[Problem]:
    """IMG005: HuggingFace versions are both short or both full; the SDK refuses a mixture."""
    framework = job.framework
    if not isinstance(framework, HuggingFace) or job.image_uri:
        return
    if framework.transformers.count(".") == framework.pytorch.count("."):
        return
    yield _RULES["IMG005"].problem(
        Field("framework"),
        "transformers and pytorch must both be short or both be full versions",
        got=f"transformers {framework.transformers!r}, pytorch {framework.pytorch!r}",
        wanted="e.g. '4.21' with '1.11', or '4.21.1' with '1.11.0'",
        fix=Advice("write both the same way"),
    )


RULES = (
    unknown_image,
    wrong_python,
    no_image,
    wrong_accelerator,
    old_gpus,
    trainium_road,
    mixed_versions,
)
