"""The API's own limits, read from botocore's service model as data: never retyped, never imported.

The model is a JSON file inside the botocore package; reading it as a file keeps the core free of botocore's import.
"""

from __future__ import annotations

import functools
import gzip
import importlib.util
import json
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..errors import NotConfigured

MAX_RUN_S = 28 * 86_400  # StoppingCondition.MaxRuntimeInSeconds: prose of the API reference, not in the model
MAX_RUN_QUOTA_S = 432_000  # default account quota L-33A961FD, "Longest run time for a training job"
# What the service says of requests that its model lets through. Sources: sagemaker-python-sdk issues 5225 and 6089;
# amazon-sagemaker-examples issue 3620; API reference, ResourceConfig.VolumeKmsKeyId.
MIXED_CHANNELS = "Some channels have assigned instance groups: [{assigned}] while others not: [{others}]"
RESERVED = ("/opt/ml", "/tmp", "/usr/local/nvidia")  # noqa: S108 - AWS's words
RESERVED_PATH = (
    f"LocalPath of TensorBoardOutputConfig cannot start with the following reserved path: [{', '.join(RESERVED)}]"
)
LOCAL_DISKS = "You can't request a VolumeKmsKeyId when using an instance type with local storage: {instance}"


@functools.cache
def shapes() -> Mapping[str, Mapping[str, Any]]:
    """The shapes of the SageMaker service model by name. Raises NotConfigured when botocore is not installed."""
    spec = importlib.util.find_spec("botocore")
    if spec is None or not spec.submodule_search_locations:
        raise NotConfigured(
            "botocore: got nothing, wanted the package (its service model holds the limits); pip install botocore"
        )
    folder = Path(spec.submodule_search_locations[0]) / "data" / "sagemaker" / "2017-07-24"
    packed = folder / "service-2.json.gz"
    text = gzip.decompress(packed.read_bytes()) if packed.exists() else (folder / "service-2.json").read_bytes()
    return MappingProxyType(json.loads(text)["shapes"])


def maximum(shape: str) -> int:
    """The ``max`` of a shape: characters of a text, entries of a list or map, value of a number."""
    return int(shapes()[shape]["max"])


def members(shape: str) -> tuple[str, ...]:
    """The values of an enumeration."""
    return tuple(shapes()[shape]["enum"])


@functools.lru_cache(maxsize=4096)
def matches(shape: str, text: str) -> bool:
    """Return True if ``text`` fits the shape's pattern and length."""
    limits = shapes()[shape]
    fits = re.fullmatch(limits.get("pattern", r"(?s).*"), text) is not None
    return fits and limits.get("min", 0) <= len(text) <= limits.get("max", len(text))
