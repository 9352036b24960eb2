"""What runs in the container: frameworks with their versions, images of others, and the Training Compiler."""

from __future__ import annotations

import enum
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, TypeAlias

from .value import suggesting


@suggesting
@dataclass(frozen=True, slots=True)
class PyTorch:
    """AWS's PyTorch container for CPU and GPU instances. ``version`` is short (``1.11``) or full (``1.11.0``).

    >>> st.PyTorch("2.6", python="py312").pytorch
    '2.6'
    """

    version: str
    _: KW_ONLY
    python: str
    family: ClassVar[str] = "pytorch"

    @property
    def pytorch(self) -> str:
        return self.version

    @property
    def transformers(self) -> str | None:
        return None


@suggesting
@dataclass(frozen=True, slots=True)
class HuggingFace:
    """Hugging Face's PyTorch container for GPU instances. Both versions are short, or both are full.

    >>> st.HuggingFace("4.21", pytorch="1.11", python="py38").transformers
    '4.21'
    """

    transformers: str
    _: KW_ONLY
    pytorch: str
    python: str
    family: ClassVar[str] = "huggingface"


@suggesting
@dataclass(frozen=True, slots=True)
class NeuronX:
    """AWS's PyTorch container for Trainium, from this package's table: neither SDK knows a current one.

    ``neuron_sdk`` None takes the newest Neuron release that still supports XLA training, which is what trn1 runs.

    >>> st.NeuronX("2.9.0").pytorch
    '2.9.0'
    """

    pytorch: str
    _: KW_ONLY
    python: str | None = None
    neuron_sdk: str | None = None
    family: ClassVar[str] = "neuronx"

    @property
    def transformers(self) -> str | None:
        return None


@suggesting
@dataclass(frozen=True, slots=True)
class HuggingFaceNeuronX:
    """Hugging Face's container for Trainium (optimum-neuron), from this package's table: the estimators refuse it.

    >>> st.HuggingFaceNeuronX("4.55.4", pytorch="2.8.0").family
    'huggingface-neuronx'
    """

    transformers: str
    _: KW_ONLY
    pytorch: str
    python: str | None = None
    neuron_sdk: str | None = None
    family: ClassVar[str] = "huggingface-neuronx"


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

    @property
    def pytorch(self) -> str:
        return ""  # not known, so no rule about versions applies

    @property
    def transformers(self) -> str | None:
        return None

    @property
    def python(self) -> str | None:
        return None


class RegistryAccess(enum.Enum):
    """Where the registry of an image is: AWS's own platform, or your network.

    >>> st.specs.RegistryAccess("Vpc")
    <RegistryAccess.VPC: 'Vpc'>
    """

    PLATFORM = "Platform"
    VPC = "Vpc"


@suggesting
@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """The private Docker registry that the image is pulled from: ``TrainingImageConfig``.

    ``credentials_provider_arn`` is the Lambda function that gives SageMaker access to it.

    >>> st.specs.Registry().access
    <RegistryAccess.VPC: 'Vpc'>
    """

    access: RegistryAccess = RegistryAccess.VPC
    credentials_provider_arn: str | None = None


Framework: TypeAlias = PyTorch | HuggingFace | NeuronX | HuggingFaceNeuronX | Container


@suggesting
@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingCompiler:
    """SageMaker Training Compiler: takes its own image and, on several GPUs, ``PyTorchXLA``.

    >>> st.TrainingCompiler(debug=True).enabled
    True
    """

    enabled: bool = True
    debug: bool = False
