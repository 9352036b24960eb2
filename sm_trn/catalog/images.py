"""The table of training images and how a framework value selects one. Refuses to guess: no row, no image."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from ..errors import UnknownName
from ..specs import Container, Framework, HuggingFace, HuggingFaceNeuronX, JobSpec, NeuronX, PyTorch

NEURON = (NeuronX, HuggingFaceNeuronX)
_URI = re.compile(r"(?P<account>\d{12})\.dkr\.ecr\.[a-z0-9-]+\.[a-z.]+/(?P<repository>[^:@]+):(?P<tag>[^@]+)")
_TAG = re.compile(
    r"(?P<pytorch>\d+\.\d+(\.\d+)?)(-transformers(?P<transformers>\d+\.\d+(\.\d+)?))?-(cpu|gpu|neuronx?)-(?P<python>py\d+)"
    r"(-sdk(?P<neuron_sdk>\d+\.\d+\.\d+))?(-.+)?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageRow:
    """One published image. ``tag`` is a template over the other fields; ``xla_training`` False: Neuron dropped it."""

    family: str
    repository: str
    pytorch: str
    python: str
    tag: str
    as_of: str
    source: str
    transformers: str | None = None
    container: str | None = None
    neuron_sdk: str | None = None
    os: str | None = None
    account: str | None = None
    regions: tuple[str, ...] = ()
    xla_training: bool = True


@functools.cache
def _table() -> Mapping[str, Any]:
    return MappingProxyType(json.loads(files(__package__).joinpath("images.json").read_text("utf-8")))


def _rows() -> Iterator[ImageRow]:
    return (row for family in families() for row in rows(family))


@functools.cache
def rows(family: str) -> tuple[ImageRow, ...]:
    """The images of one family, oldest first."""
    found = (
        ImageRow(**{**row, "regions": tuple(row.get("regions", ()))})
        for row in _table()["rows"]
        if row["family"] == family
    )
    return tuple(
        sorted(found, key=lambda row: (_key(row.pytorch), _key(row.transformers or "0"), _key(row.neuron_sdk or "0")))
    )


def families() -> tuple[str, ...]:
    return tuple(dict.fromkeys(row["family"] for row in _table()["rows"]))


def regions() -> tuple[str, ...]:
    return tuple(_table()["registries"])


def family_of(job: JobSpec) -> str:
    """The table that the job's image comes from: the Training Compiler and some strategies have images of their own."""
    if job.distribution is not None and job.distribution.image_family:
        return job.distribution.image_family
    if job.compiled and not isinstance(job.framework, NEURON):
        return f"{job.framework.family}-compiler"
    return job.framework.family


def matching(job: JobSpec) -> tuple[ImageRow, ...]:
    """Rows that fit the versions that the job names, oldest first; an unnamed version fits any."""
    framework = job.framework
    return tuple(
        row
        for row in rows(family_of(job))
        if _fits(framework.pytorch, row.pytorch)
        and (framework.transformers is None or _fits(framework.transformers, row.transformers or ""))
        and (not isinstance(framework, NEURON) or framework.neuron_sdk in {None, row.neuron_sdk})
    )


def choose(job: JobSpec) -> ImageRow | None:
    """The row that the job will run on: newest that fits and, unless a Neuron release is named, still trains on XLA."""
    python = job.framework.python
    fitting = [row for row in matching(job) if python in {None, row.python}]
    if isinstance(job.framework, NEURON) and job.framework.neuron_sdk is None:
        fitting = [row for row in fitting if row.xla_training]
    return fitting[-1] if fitting else None


def image_uri(job: JobSpec, region: str) -> str:
    """The image's URI in ``region``. Raises UnknownName when no row fits or the region has no registry."""
    if job.image_uri:
        return job.image_uri
    if isinstance(job.framework, Container):
        raise UnknownName(
            "framework: got a Container without an image, wanted image_uri='account.dkr.ecr.region.amazonaws.com/name:tag'"
        )
    row = choose(job)
    if row is None:
        raise UnknownName(f"framework: no {family_of(job)!r} image for {describe(job)}; {wanted(job)}")
    account = row.account or _table()["registries"].get(region)
    if account is None or (row.regions and region not in row.regions):
        raise UnknownName(
            f"region: got {region!r}, wanted one with {row.repository!r}: {', '.join(row.regions or regions())}"
        )
    domain = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
    return f"{account}.dkr.ecr.{region}.{domain}/{row.repository}:{tag(row, job)}"


def registry(region: str) -> str:
    """The host name of AWS's own images in ``region``. Raises UnknownName where there is none."""
    account = _table()["registries"].get(region)
    if account is None:
        raise UnknownName(f"region: got {region!r}, wanted one with AWS's images: {', '.join(regions())}")
    return f"{account}.dkr.ecr.{region}.{'amazonaws.com.cn' if region.startswith('cn-') else 'amazonaws.com'}"


def recognise(uri: str) -> Framework | None:
    """The framework in one of AWS's own training images, by its repository and tag; None for any other image.

    The versions are as long as the tag writes them. Whether they select this very image again is for the caller to see.
    """
    found = _URI.fullmatch(uri)
    tagged = _TAG.fullmatch(found["tag"]) if found else None
    families_there = {row.family for row in _rows() if found and row.repository == found["repository"]
                      and found["account"] in {row.account, *_table()["registries"].values()}}  # fmt: skip
    if tagged is None or not families_there:
        return None
    family = min(families_there)
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
    return row.tag.format(python=row.python, container=row.container, neuron_sdk=row.neuron_sdk, os=row.os, **written)


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


def wanted(job: JobSpec) -> str:
    """The version combinations that the job's family has, newest last."""
    framework = job.framework
    if isinstance(framework, HuggingFace):
        return "wanted transformers/pytorch/python of " + _join(
            f"{row.transformers}/{row.pytorch}/{row.python}" for row in rows(family_of(job))
        )
    if isinstance(framework, PyTorch):
        return "wanted pytorch/python of " + _join(f"{row.pytorch}/{row.python}" for row in rows(family_of(job)))
    if isinstance(framework, HuggingFaceNeuronX):
        return "wanted transformers/pytorch/python/Neuron of " + _join(
            f"{row.transformers}/{row.pytorch}/{row.python}/{row.neuron_sdk}" for row in rows(family_of(job))
        )
    if isinstance(framework, Container):
        return "wanted image_uri=…"
    return "wanted pytorch/python/Neuron of " + _join(
        f"{row.pytorch}/{row.python}/{row.neuron_sdk}" for row in rows(family_of(job))
    )


def _join(words: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(words))


def _numbers(version: str) -> Iterator[int]:
    for part in version.split("."):
        digits = "".join(character for character in part if character.isdigit())
        yield int(digits or 0)


def _key(version: str) -> tuple[int, ...]:
    return tuple(_numbers(version))


def _fits(asked: str, version: str) -> bool:
    return version == asked or version.startswith(f"{asked}.")
