"""The versions that AWS's images pair: which Python an image of a PyTorch has, and which PyTorch one of transformers."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from importlib.resources import files
from types import MappingProxyType
from typing import Any


@functools.cache
def shipped_images() -> Mapping[str, Any]:
    """The table of images that ships."""
    return MappingProxyType(json.loads(files("sm_trn.core.catalog").joinpath("images.json").read_text("utf-8")))


@functools.cache
def image_version(name: str, family: str, **versions: str) -> str:
    """The version ``name`` of the newest image with these ``versions``; "" where no image of the family has them.

    Images of the family itself come before those of the Training Compiler and of the model-parallel library.

    >>> from sm_trn.core.specs.versions import image_version
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
