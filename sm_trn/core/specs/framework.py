"""The software in the container: frameworks with their versions, images of others, the Training Compiler, options of Neuron."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from importlib.resources import files
from types import MappingProxyType
from typing import Any, ClassVar, TypeAlias

from .value import suggesting


@functools.cache
def shipped_images() -> Mapping[str, Any]:
    """The table of images that ships."""
    return MappingProxyType(json.loads(files("sm_trn.core.catalog").joinpath("images.json").read_text("utf-8")))


@functools.cache
def image_version(name: str, family: str, **versions: str) -> str:
    """The version ``name`` of the newest image with these ``versions``; "" where no image of the family has them.

    Images of the family itself come before those of the Training Compiler and of the model-parallel library.

    >>> from sm_trn.core.specs.framework import image_version
    >>> image_version("python", "pytorch", pytorch="2.8")
    'py312'
    """
    matches = [
        (row["family"] == family, tuple(int(part) for part in row["pytorch"].split(".") if part.isdigit()), row[name])
        for row in shipped_images()["rows"]
        if row["family"].startswith(family) and row.get(name)
        if all(f"{row.get(key)}.".startswith(f"{version}.") for key, version in versions.items())
    ]
    return str(max(matches)[2]) if matches else ""


@suggesting
@dataclass(frozen=True, slots=True)
class PyTorch:
    """AWS's PyTorch container for CPU and GPU instances. ``version`` is short (``1.11``) or full (``1.11.0``).

    ``python`` is the image's own unless it is named.

    >>> st.PyTorch("2.6").python
    'py312'
    """

    version: str
    _: KW_ONLY
    python: str = ""
    family: ClassVar[str] = "pytorch"
    transformers: ClassVar[str | None] = None

    def __post_init__(self) -> None:
        if not self.python:
            object.__setattr__(self, "python", image_version("python", self.family, pytorch=self.version))

    @property
    def pytorch(self) -> str:
        return self.version


@suggesting
@dataclass(frozen=True, slots=True)
class HuggingFace:
    """Hugging Face's PyTorch container for GPU instances. Both versions are short, or both are full.

    ``pytorch`` and ``python`` are the newest image's own unless they are named.

    >>> st.HuggingFace("4.56")
    HuggingFace(transformers='4.56', pytorch='2.8', python='py312')
    """

    transformers: str
    _: KW_ONLY
    pytorch: str = ""
    python: str = ""
    family: ClassVar[str] = "huggingface"

    def __post_init__(self) -> None:
        if not self.pytorch:
            version = image_version("pytorch", self.family, transformers=self.transformers)
            short = self.transformers.count(".") == 1
            object.__setattr__(self, "pytorch", ".".join(version.split(".")[:2]) if short else version)
        if not self.python:
            versions = {"transformers": self.transformers, "pytorch": self.pytorch}
            object.__setattr__(self, "python", image_version("python", self.family, **versions))


@suggesting
@dataclass(frozen=True, slots=True)
class NeuronX:
    """AWS's PyTorch/XLA container for Trainium, from this package's table: neither SDK knows a current one.

    ``neuron_sdk`` None takes the newest Neuron release that still supports XLA training, which is what trn1 runs.

    >>> st.NeuronX("2.9.0").pytorch
    '2.9.0'
    """

    pytorch: str
    _: KW_ONLY
    python: str | None = None
    neuron_sdk: str | None = None
    family: ClassVar[str] = "neuronx"
    transformers: ClassVar[str | None] = None


@suggesting
@dataclass(frozen=True, slots=True)
class HuggingFaceNeuronX:
    """Hugging Face's container for Trainium (optimum-neuron), from this package's table: the estimators refuse it.

    >>> st.specs.HuggingFaceNeuronX("4.55.4", pytorch="2.8.0").family
    'huggingface-neuronx'
    """

    transformers: str
    _: KW_ONLY
    pytorch: str
    python: str | None = None
    neuron_sdk: str | None = None
    family: ClassVar[str] = "huggingface-neuronx"


@suggesting
@dataclass(frozen=True, slots=True)
class TorchNeuron:
    """Native PyTorch on Trainium2 and Trainium3, device ``neuron``; ``pytorch`` is 2.13 or 2.14. ``image_uri`` names the container.

    torchrun starts a worker on each logical NeuronCore: two physical cores, unless NEURON_LOGICAL_NC_CONFIG is 1.
    Source: AWS Neuron 2.33.0, release-notes/components/torchneuron, 2026-10-19 (a public beta).

    >>> st.TorchNeuron("2.14").family
    'torchneuron'
    """

    pytorch: str
    family: ClassVar[str] = "torchneuron"
    transformers: ClassVar[str | None] = None
    python: ClassVar[str | None] = None


@suggesting
@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """An image that no table here knows: one's own, or a built-in algorithm's. ``JobSpec.image_uri`` names it.

    ``algorithm`` stands in the place of an image: the name or ARN of an algorithm resource of the account or of the marketplace.

    >>> st.Container(algorithm="my-algorithm").family
    'container'
    """

    algorithm: str | None = None
    family: ClassVar[str] = "container"
    pytorch: ClassVar[str] = ""  # not known, so no rule about versions applies
    transformers: ClassVar[str | None] = None
    python: ClassVar[str | None] = None


Framework: TypeAlias = PyTorch | HuggingFace | NeuronX | HuggingFaceNeuronX | TorchNeuron | Container


@suggesting
@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingCompiler:
    """SageMaker Training Compiler: takes its own image and, on several GPUs, ``PyTorchXLA``.

    >>> st.TrainingCompiler(debug=True).enabled
    True
    """

    enabled: bool = True
    debug: bool = False


@suggesting
@dataclass(frozen=True, slots=True, kw_only=True)
class NeuronOptions:
    """Options of training on Trainium. Parallel sizes go to the script as arguments, the rest into its environment.

    ``cache_s3_uri`` keeps compiled graphs between jobs: the compiler's own cache ends with the machine. ``precompile``
    makes the job compile and not train (``neuron_parallel_compile``). ``efa`` None follows the number of hosts.
    Sources: optimum-neuron 0.4.5, NeuronTrainingArguments; AWS Neuron samples (environment).

    >>> dict(st.specs.NeuronOptions(tensor_parallel=8, zero_1=True).arguments())
    {'tensor_parallel_size': 8, 'zero_1': True}
    """

    tensor_parallel: int = 1
    pipeline_parallel: int = 1
    sequence_parallel: bool = True
    zero_1: bool = False
    cache_s3_uri: str | None = None
    precompile: bool = False
    stochastic_rounding: bool = False
    malloc_arena_max: int | None = None
    efa: bool | None = None

    def __post_init__(self) -> None:
        for name in ("tensor_parallel", "pipeline_parallel"):
            if getattr(self, name) < 1:
                raise ValueError(f"neuron.{name}: got {getattr(self, name)!r}, wanted at least 1")

    def arguments(self) -> Mapping[str, int | bool]:
        """Return the script's arguments, without those at the library's default."""
        options: dict[str, int | bool] = {}
        if self.tensor_parallel > 1:
            options["tensor_parallel_size"] = self.tensor_parallel
            if not self.sequence_parallel:
                options["disable_sequence_parallel"] = True
        if self.pipeline_parallel > 1:
            options["pipeline_parallel_size"] = self.pipeline_parallel
        if self.zero_1:
            options["zero_1"] = True
        return options

    def environment(self, hosts: int) -> Mapping[str, str]:
        """Return the variables of the Neuron runtime, its compiler and the C library."""
        variables: dict[str, str] = {}
        if self.cache_s3_uri:
            variables["NEURON_COMPILE_CACHE_URL"] = self.cache_s3_uri
        if self.precompile:
            variables["RUN_NEURON_PARALLEL_COMPILE"] = "1"
        if self.stochastic_rounding:
            variables |= {"NEURON_RT_STOCHASTIC_ROUNDING_EN": "1", "NEURON_RT_STOCHASTIC_ROUNDING_SEED": "0"}
        if self.malloc_arena_max is not None:
            variables["MALLOC_ARENA_MAX"] = str(self.malloc_arena_max)
        if self.efa if self.efa is not None else hosts > 1:
            variables |= {"FI_PROVIDER": "efa", "FI_EFA_USE_DEVICE_RDMA": "1", "FI_EFA_FORK_SAFE": "1"}
        return variables
