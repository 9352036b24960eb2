"""The table of training images and how a framework value selects one. Refuses to guess: no row, no image."""

from __future__ import annotations

import bisect
import functools
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from ..errors import UnknownName
from ..facts import user_facts
from ..specs.compute import SERVERLESS, Accelerator
from ..specs.framework import (
    Container,
    Framework,
    HuggingFace,
    HuggingFaceNeuronX,
    NeuronX,
    PyTorch,
    TorchNeuron,
    shipped_images,
)
from ..specs.job import JobSpec
from .compiler import SMDDP_PYTORCH
from .instances import find_instance

NEURON = (NeuronX, HuggingFaceNeuronX)
TORCH_NEURON_NOTES: Final = "AWS Neuron 2.33.0, release-notes/components/torchneuron, 2026-10-19"
TORCH_NEURON: Final = ("2.13", "2.14")  # what torch-neuronx 2.13.3.0 and 2.14.3.0 are for
TORCH_NEURON_SDK: Final = (2, 33)
_URI = re.compile(r"(?P<account>\d{12})\.dkr\.ecr\.[a-z0-9-]+\.[a-z.-]+/(?P<repository>[^:@]+):(?P<tag>[^@]+)")
_TAG = re.compile(
    r"(?P<pytorch>\d+\.\d+(\.\d+)?)(-transformers(?P<transformers>\d+\.\d+(\.\d+)?))?-(cpu|gpu|neuronx?)-(?P<python>py\d+)"
    r"(-sdk(?P<neuron_sdk>\d+\.\d+\.\d+))?(-.+)?"
)
_AMAZON_LINUX_TAG = re.compile(r"(?P<pytorch>\d+\.\d+(\.\d+)?)-(cpu|cu\d+)-amzn2023-sagemaker")

DEFAULT_REGISTRY: Final = "deep-learning-containers"
_DOMAINS: Final = {  # of the partitions beside the one of amazonaws.com: botocore's partitions.json
    "cn-": "amazonaws.com.cn",
    "us-iso-": "c2s.ic.gov",
    "us-isob-": "sc2s.sgov.gov",
    "us-isof-": "csp.hci.ic.gov",
    "eu-isoe-": "cloud.adc-e.uk",
    "eusc-": "amazonaws.eu",
}
_PROCESSORS: Final = {Accelerator.CPU: "cpu", Accelerator.CUDA: "gpu", Accelerator.NEURON: "neuron"}
P2_CEILING: Final = (1, 13)  # SDK 2.257.7, image_uris._validate_instance_deprecation
# CUDA Toolkit 13.0 release notes: "offline compilation and library support" for Volta and older is removed.
CUDA_13: Final = (2, 9)
BEFORE_TURING: Final = frozenset({"V100", "K80"})
# The builds of PyTorch 1.6 for A100s and smdistributed. Source: SDK 2.257.7, image_uris._get_image_tag.
_BUILDS_OF_1_6: Final = {"1.6": "cu110-ubuntu18.04-v3", "1.6.0": "cu110-ubuntu18.04"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageRow:
    """One published image, or one per processor. ``tag`` is a template over the other fields and the processor.

    ``registry`` names a table of regions and the accounts that have the image there. ``container_on_p5`` replaces
    ``container`` on P5 machines, ``container_on_cpu`` on those without accelerators. ``short`` False: there is no image
    under the version without its last number. ``xla_training`` False: Neuron dropped it. ``sdk_v2`` False: SDK v2 does
    not know the image, so its estimators are given the URI. ``python`` None is not published. AWS patches the image from
    ``general_availability`` to ``end_of_patch``, ISO dates; None where AWS's support policy does not list the image.
    """

    family: str
    repository: str
    pytorch: str
    python: str | None
    tag: str
    as_of: str
    source: str
    transformers: str | None = None
    container: str | None = None
    container_on_cpu: str | None = None
    neuron_sdk: str | None = None
    os: str | None = None
    processors: tuple[str, ...] = ("gpu",)
    registry: str = DEFAULT_REGISTRY
    container_on_p5: str | None = None
    short: bool = True
    xla_training: bool = True
    sdk_v2: bool = True
    general_availability: str | None = None
    end_of_patch: str | None = None


@functools.cache
def _table() -> Mapping[str, Any]:
    """The table that ships, and after it the rows of the user's own file: each has the form of images.json."""
    shipped, own = shipped_images(), user_facts().get("images", {})
    return MappingProxyType(
        {
            "rows": [*shipped["rows"], *own.get("rows", [])],
            "registries": {**shipped["registries"], **own.get("registries", {})},
            "support": shipped["support"],
        }
    )


@functools.cache
def rows(family: str) -> tuple[ImageRow, ...]:
    """The images of one family, oldest first."""
    support = _table()["support"].get(family, {})
    parsed = (
        ImageRow(
            **{
                **support.get(minor(row["pytorch"]), {}),
                **row,
                "processors": tuple(row.get("processors", ("gpu",))),
            }
        )
        for row in _table()["rows"]
        if row["family"] == family
    )
    return tuple(sorted(parsed, key=_age))


def _age(row: ImageRow) -> tuple[tuple[int, ...], ...]:
    return (_key(row.pytorch), _key(row.transformers or "0"), _key(row.neuron_sdk or "0"))


@functools.cache
def processors(family: str) -> frozenset[str]:
    """The processors that the images of one family run on."""
    if family == TorchNeuron.family:
        return frozenset({"neuron"})
    return frozenset(name for row in rows(family) for name in row.processors)


@functools.cache
def families() -> tuple[str, ...]:
    return tuple(dict.fromkeys(row["family"] for row in shipped_images()["rows"]))


def registries(row: ImageRow) -> Mapping[str, str]:
    """The regions that have the image, and the account that owns it in each."""
    accounts: Mapping[str, str] = _table()["registries"][row.registry]
    return accounts


def regions() -> tuple[str, ...]:
    return tuple(_table()["registries"][DEFAULT_REGISTRY])


def machine(job: JobSpec) -> str:
    """The instance type that chooses the image: of groups the first with GPUs, as in SDK v2's ``_get_instance_type``."""
    types = job.compute.instances
    return next((name for name in types if processor(name) == "gpu"), types[0])


@functools.lru_cache(maxsize=512)
def processor(instance: str) -> str:
    """``cpu``, ``gpu`` or ``neuron``. A type that the catalogue lacks is taken for what SDK v2 takes it for, by its name."""
    row = find_instance(instance)
    if row is not None:
        return _PROCESSORS[row.accelerator]
    family = instance.removeprefix("ml.")
    if family.startswith(("trn", "inf")):
        return "neuron"
    return "gpu" if family.startswith(("g", "p")) else "cpu"


def family_of(job: JobSpec) -> str:
    """The table that the job's image comes from: the Training Compiler and some strategies have images of their own."""
    if job.distribution is not None and job.distribution.image_family:
        return job.distribution.image_family
    if job.compiled and not isinstance(job.framework, NEURON):
        return f"{job.framework.family}-compiler"
    return job.framework.family


def matching(job: JobSpec) -> tuple[ImageRow, ...]:
    """Rows that fit the versions that the job names, oldest first; an unnamed version fits any."""
    return _matching(family_of(job), job.framework)


@functools.lru_cache(maxsize=256)
def _matching(family: str, framework: Framework) -> tuple[ImageRow, ...]:
    # A Hugging Face image's PyTorch need not be named. An empty version of PyTorch's own images is none.
    pytorch = None if isinstance(framework, HuggingFace) and not framework.pytorch else framework.pytorch
    return tuple(
        row
        for row in rows(family)
        if (pytorch is None or _fits(pytorch, row.pytorch))
        and (row.short or pytorch in {None, row.pytorch})
        and (framework.transformers is None or _fits(framework.transformers, row.transformers or ""))
        and (not isinstance(framework, NEURON) or framework.neuron_sdk in {None, row.neuron_sdk})
    )


def choose(job: JobSpec) -> ImageRow | None:
    """The row that the job will run on: newest that fits and, unless a Neuron release is named, still trains on XLA."""
    return _choose(family_of(job), job.framework)


@functools.lru_cache(maxsize=256)
def _choose(family: str, framework: Framework) -> ImageRow | None:
    fitting = [
        row for row in _matching(family, framework) if row.python is None or framework.python in {None, "", row.python}
    ]
    if isinstance(framework, NEURON) and framework.neuron_sdk is None:
        fitting = [row for row in fitting if row.xla_training]
    return fitting[-1] if fitting else None


def image_uri(job: JobSpec, region: str) -> str:
    """The image's URI in ``region``. Raises UnknownName when no row fits or the region has no registry."""
    if job.image_uri:
        return job.image_uri
    row = choose(job)
    if row is None and isinstance(job.framework, (Container, TorchNeuron)):
        raise UnknownName(
            f"framework: got a {type(job.framework).__name__} without an image, "
            "wanted image_uri='account.dkr.ecr.region.amazonaws.com/name:tag'"
        )
    if row is None and newer_than_table(job):
        raise UnknownName(
            f"framework: got {describe(job)}, which is newer than this table of images (it ends at {table_end(job)}); "
            "set image_uri, or run sm-trn catalog update"
        )
    if row is None:
        raise UnknownName(f"framework: no {family_of(job)!r} image for {describe(job)}; wanted {wanted(job)}")
    if reason := unfit(row, job):
        raise UnknownName(f"framework: got {describe(job)}, wanted an image that runs there: {reason}")
    account = registries(row).get(region)
    if account is None:
        raise UnknownName(
            f"region: got {region!r}, wanted one with {row.repository!r} of {describe(job)}: {', '.join(registries(row))}"
        )
    return f"{ecr_host(account, region)}/{row.repository}:{tag(row, job)}"


def misfit(job: JobSpec, processors: Collection[str]) -> str | None:
    """The job's first instance type that images for ``processors`` do not run on. A CPU group beside others runs any."""
    types = [name for name in job.compute.instances if name != SERVERLESS]
    accelerated = [name for name in types if processor(name) != "cpu"]
    return next((name for name in accelerated or types if processor(name) not in processors), None)


def unfit(row: ImageRow, job: JobSpec) -> str:
    """Why the image does not run on the job's machines; empty when it does."""
    strange = misfit(job, row.processors)
    if strange is not None:
        return f"{row.repository} has images for {' and '.join(row.processors)}, not for {strange!r}"
    if row.family == "pytorch" and machine(job).startswith("ml.p2.") and _key(row.pytorch) >= P2_CEILING:
        return "P2 instances run containers of PyTorch 1.12 and older only"
    gpus = find_instance(machine(job))
    if (
        row.family in {"pytorch", "huggingface"}
        and _key(row.pytorch) >= CUDA_13
        and gpus
        and gpus.chip in BEFORE_TURING
    ):
        return f"containers of PyTorch 2.9 and newer have CUDA 13, which has no code for the {gpus.chip}"
    return ""


def registry(region: str) -> str:
    """The host name of AWS's own images in ``region``. Raises UnknownName where there is none."""
    account = _table()["registries"][DEFAULT_REGISTRY].get(region)
    if account is None:
        raise UnknownName(f"region: got {region!r}, wanted one with AWS's images: {', '.join(regions())}")
    return ecr_host(account, region)


@functools.lru_cache(maxsize=512)
def ecr_host(account: str, region: str) -> str:
    """The host name of an account's images in ``region``, whatever the partition."""
    domain = next((domain for prefix, domain in _DOMAINS.items() if region.startswith(prefix)), "amazonaws.com")
    return f"{account}.dkr.ecr.{region}.{domain}"


def recognise(uri: str) -> Framework | None:
    """The framework in one of AWS's own training images, by its repository and tag; None for any other image.

    The versions are as long as the tag writes them. Whether they select this very image again is for the caller to see.
    """
    match = _URI.fullmatch(uri)
    if match is None:
        return None
    there = [
        row
        for family in families()
        for row in rows(family)
        if row.repository == match["repository"] and match["account"] in registries(row).values()
    ]
    if on_amazon_linux := _AMAZON_LINUX_TAG.fullmatch(match["tag"]):  # such a tag does not name its Python: a row does
        version = on_amazon_linux["pytorch"]
        python = next((row.python for row in there if _fits(version, row.pytorch)), None)
        return None if python is None else PyTorch(version, python=python)
    tagged = _TAG.fullmatch(match["tag"])
    if tagged and "training" in match["repository"] and _key(tagged["neuron_sdk"] or "0") >= TORCH_NEURON_SDK:
        return TorchNeuron(tagged["pytorch"])
    return _tagged(min(row.family for row in there), tagged) if tagged and there else None


def _tagged(family: str, tagged: re.Match[str]) -> Framework | None:
    """The framework of a tag that names its versions; None for a Hugging Face repository without theirs."""
    pytorch, python, transformers, release = (
        tagged["pytorch"],
        tagged["python"],
        tagged["transformers"],
        tagged["neuron_sdk"],
    )
    if family.startswith("huggingface") and transformers is None:
        return None
    if family == "huggingface-neuronx":
        return HuggingFaceNeuronX(transformers, pytorch=pytorch, python=python, neuron_sdk=release)
    if family.startswith("huggingface"):
        return HuggingFace(transformers, pytorch=pytorch, python=python)
    if family.startswith("neuron"):
        return NeuronX(pytorch, python=python, neuron_sdk=release)
    return PyTorch(pytorch, python=python)


def tag(row: ImageRow, job: JobSpec) -> str:
    """The tag as the SDK writes it: a short version stays short, because ECR carries both tags."""
    framework = job.framework
    written: dict[str, str | None] = {"pytorch": framework.pytorch, "transformers": framework.transformers}
    if isinstance(framework, NEURON):  # neuronx images have full tags only
        written = {"pytorch": row.pytorch, "transformers": row.transformers}
    instance = machine(job)
    container = row.container
    if row.container_on_p5 and instance.startswith("ml.p5"):
        container = row.container_on_p5
    elif row.container_on_cpu and processor(instance) == "cpu":
        container = row.container_on_cpu
    named = row.tag.format(
        processor=processor(instance),
        python=row.python,
        container=container,
        neuron_sdk=row.neuron_sdk,
        os=row.os,
        **written,
    )
    build = _BUILDS_OF_1_6.get(framework.pytorch) if row.family == "pytorch" and processor(instance) == "gpu" else None
    smdistributed = job.distribution is not None and job.distribution.name.startswith("smdistributed")
    return f"{named}-{build}" if build and (smdistributed or instance.startswith("ml.p4d.")) else named


def describe(job: JobSpec) -> str:
    """The versions that the job names, in words."""
    framework = job.framework
    if isinstance(framework, Container):
        return f"image {job.image_uri or framework.algorithm!r}"
    named = (("transformers", framework.transformers), ("pytorch", framework.pytorch), ("python", framework.python))
    words = [f"{name} {version!r}" for name, version in named if version]
    if isinstance(framework, NEURON) and framework.neuron_sdk:
        words.append(f"Neuron {framework.neuron_sdk!r}")
    return ", ".join(words)


def newer_than_table(job: JobSpec) -> bool:
    """Return True if the job names a version above every row of its family: the table may be older than the image."""
    known = rows(family_of(job))
    versions: dict[str, str | None] = {name: getattr(job.framework, name, None) for name in _VERSIONS}
    return not matching(job) and any(
        version is not None and all(_key(version) > _key(getattr(row, name) or "0") for row in known)
        for name, version in versions.items()
    )


_VERSIONS: Final = ("pytorch", "transformers", "neuron_sdk")


def table_end(job: JobSpec) -> str:
    """Where the table of the job's family ends: its newest versions, and the date of its newest row."""
    known = rows(family_of(job))
    newest = known[-1]
    words = [f"{name} {version}" for name in _VERSIONS if (version := getattr(newest, name)) is not None]
    return f"{', '.join(words)} of {max(row.as_of for row in known)}"


def nearest(job: JobSpec) -> ImageRow | None:
    """The good image nearest to the versions that a job names: of its family and for its machines, and for its distribution where that is
    a library of the container; patched on the day of the table where one is. None where no image of the family runs there.
    """
    smddp = job.distribution is not None and job.distribution.name == "smdistributed.dataparallel"
    running = [
        row for row in rows(family_of(job)) if not unfit(row, job) and row.xla_training and row.python is not None
    ]
    good = [row for row in running if not smddp or row.pytorch in SMDDP_PYTORCH]
    patched = [row for row in good if (row.end_of_patch or "") > row.as_of]
    age = _key(job.framework.pytorch or "0"), _key(job.framework.transformers or "0")
    place = bisect.bisect(list(map(_age, good)), age) - 0.5
    return min(reversed(patched or good), key=lambda row: abs(good.index(row) - place), default=None)


def framework_of(row: ImageRow) -> Framework:
    """The framework value that selects a row."""
    if row.family == "huggingface-neuronx":
        return HuggingFaceNeuronX(row.transformers or "", pytorch=row.pytorch)
    if row.transformers is not None:
        return HuggingFace(row.transformers, pytorch=row.pytorch, python=row.python or "")
    if row.family == TorchNeuron.family:
        return TorchNeuron(row.pytorch)
    if row.family in {"neuronx", "neuron-legacy"}:
        return NeuronX(row.pytorch)
    return PyTorch(row.pytorch, python=row.python or "")


def wanted(job: JobSpec) -> str:
    """The good image nearest to what the job names, in words."""
    good = None if isinstance(job.framework, Container) else nearest(job)
    return f"the nearest is {in_words(good)}" if good is not None else "image_uri, for an image of your own"


def in_words(row: ImageRow) -> str:
    """A row's versions, and until when AWS patches it where it does."""
    named = (
        ("transformers", row.transformers), ("pytorch", row.pytorch), ("python", row.python), ("Neuron", row.neuron_sdk),
    )  # fmt: skip
    until = f", patched until {row.end_of_patch}" if (row.end_of_patch or "") > row.as_of else ""
    return " ".join(f"{name} {version!r}" for name, version in named if version) + until


def minor(version: str) -> str:
    """``2.8`` of ``2.8.0``."""
    return ".".join(version.split(".")[:2])


def _key(version: str) -> tuple[int, ...]:
    return tuple(int("0" + re.sub(r"\D", "", part)) for part in version.split("."))


def _fits(wanted: str, version: str) -> bool:
    return wanted in {version, minor(version)}
