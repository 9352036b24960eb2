"""``image_uris.retrieve`` of the SDK, answered from this package's tables."""

from __future__ import annotations

import ast

from ....core.catalog import algorithms
from ....core.catalog import images as catalog
from ....core.errors import SmTrnError
from ....core.specs.compute import Compute
from ....core.specs.framework import HuggingFace, PyTorch
from ....core.specs.job import JobSpec
from ..state import State
from ..values import Instance, Reason, Text, known, lacking, unknown

_ORDER = ("framework", "region", "version", "py_version", "instance_type", "accelerator_type", "image_scope")
_OLD_ORDER = ("region_name", "repo_name", "repo_version")  # of get_image_uri, version 1


def retrieved(state: State, node: ast.expr, function: str, given: list[object], names: dict[str, object]) -> object:
    """The image's URI for the region of this reading; unknown where the tables have none."""
    old = function == "get_image_uri"
    asked = dict(zip(_OLD_ORDER if old else _ORDER, given, strict=False)) | names
    if old:
        asked = {
            "framework": asked.get("repo_name"),
            "region": asked.get("region_name"),
            "version": asked.get("repo_version"),
        }
        asked["version"] = _old_version(asked["version"])
    region = asked.get("region")
    placed = state.region if isinstance(region, Text) and not region.causes else region
    needed = [
        asked.get(name)
        for name in ("framework", "version", "py_version", "instance_type", "base_framework_version", "distribution")
    ]
    if not known(needed) or not isinstance(placed, str) or not isinstance(asked.get("framework"), str):
        return unknown(lacking([*needed, region], state.place(node)) or [state.cause(node, Reason.CALL)])
    if asked.get("image_scope") == "inference" or isinstance(asked.get("training_compiler_config"), Instance):
        return state.unknown(node, Reason.IMAGE)
    if region is not placed:
        state.assumed[state.place(node), f"the image is of {placed}"] = None
    try:
        return _image(asked, placed)
    except (SmTrnError, ValueError, TypeError) as error:
        return state.unknown(node, Reason.IMAGE, detail=str(error))


def _old_version(version: object) -> object:
    """Version 1 took 1 for the newest of an algorithm that has one version, and ``latest`` for another name of it."""
    return version if version is not None else "1"


def _image(asked: dict[str, object], region: str) -> str:
    name, version, instance = str(asked["framework"]), asked.get("version"), asked.get("instance_type")
    python = asked.get("py_version")
    wanted = algorithms.Wanted(
        version=str(version) if version is not None else None,
        python=str(python) if python is not None else None,
        instance=str(instance) if instance is not None else None,
    )
    if name in {"pytorch", "huggingface"} and wanted.version and wanted.python and wanted.instance:
        framework = _framework(name, wanted, str(asked.get("base_framework_version") or ""))
        return catalog.image_uri(JobSpec(name="image", framework=framework, compute=Compute(wanted.instance)), region)
    return algorithms.training_image(name, region, wanted)


def _framework(name: str, wanted: algorithms.Wanted, base: str) -> PyTorch | HuggingFace:
    version, python = str(wanted.version), str(wanted.python)
    if name == "pytorch":
        return PyTorch(version, python=python)
    if not base.startswith("pytorch"):
        raise ValueError(f"base_framework_version: got {base!r}, wanted pytorch and a version")
    return HuggingFace(version, pytorch=base.removeprefix("pytorch"), python=python)
