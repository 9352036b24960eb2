"""Images of built-in algorithms and of frameworks beside PyTorch, chosen as SDK v2's ``image_uris.retrieve`` does.

Refuses to guess: what the table lacks has no image. The table is of sagemaker 2.257.7's ``image_uri_config``.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Final

from ..errors import UnknownName
from . import images

# Builds for A100s and smdistributed. Source: sagemaker 2.257.7, image_uris._get_image_tag.
_BUILDS: Final = {
    "tensorflow-2.3-gpu-py37": "cu110-ubuntu18.04-v3",
    "tensorflow-2.3.1-gpu-py37": "cu110-ubuntu18.04",
    "tensorflow-2.3.2-gpu-py37": "cu110-ubuntu18.04",
    "tensorflow-1.15-gpu-py37": "cu110-ubuntu18.04-v8",
    "tensorflow-1.15.4-gpu-py37": "cu110-ubuntu18.04",
    "tensorflow-1.15.5-gpu-py37": "cu110-ubuntu18.04",
    "mxnet-1.8-gpu-py37": "cu110-ubuntu16.04-v1",
    "mxnet-1.8.0-gpu-py37": "cu110-ubuntu16.04",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is asked of the table. ``smdistributed``: the strategy is of that family, which has builds of its own."""

    version: str | None = None
    python: str | None = None
    instance: str | None = None
    smdistributed: bool = False


@functools.cache
def _table() -> Mapping[str, Any]:
    return MappingProxyType(json.loads(files(__package__).joinpath("algorithms.json").read_text("utf-8")))


def algorithms() -> tuple[str, ...]:
    """The names that the table knows: ``xgboost``, ``tensorflow`` and others."""
    return tuple(_table()["images"])


def training_image(name: str, region: str, wanted: Wanted) -> str:
    """The image's URI in ``region``. Raises UnknownName where the table has none, and says what it has."""
    entry = _table()["images"].get(name)
    if entry is None:
        raise UnknownName(f"image: got {name!r}, wanted one of {', '.join(algorithms())}")
    version = _version(name, entry, wanted.version)
    row = entry["versions"].get(entry.get("aliases", {}).get(version, version))
    if row is None:
        raise UnknownName(f"image: got {name!r} {version!r}, wanted one of {', '.join(entry['versions'])}")
    account = _table()["registries"][row["registry"]].get(region)
    if account is None:
        raise UnknownName(f"region: got {region!r}, wanted one that has {name!r} {version!r}")
    processor = _processor(entry.get("processors") or row.get("processors"), wanted.instance, name)
    python = _python(row.get("py_versions"), wanted.python, name)
    container = row.get("container_version", {}).get(processor) if row.get("container_version") else None
    parts = (row.get("tag_prefix", version), processor, python, container)
    tag = "-".join(part for part in parts if part)
    build = _BUILDS.get(f"{name}-{tag}")
    if build and wanted.instance and (wanted.instance.startswith("ml.p4d.") or wanted.smdistributed):
        tag = f"{tag}-{build}"
    return f"{images.ecr_host(account, region)}/{row['repository']}:{tag}"


def _version(name: str, entry: Mapping[str, Any], asked: str | None) -> str:
    versions, aliases = list(entry["versions"]), entry.get("aliases", {})
    if len(versions) == 1 and asked not in aliases:
        return str(versions[0])
    if asked not in versions and asked not in aliases:
        raise UnknownName(f"image: got {name!r} {asked!r}, wanted one of {', '.join([*versions, *aliases])}")
    return str(asked)


def _processor(available: Sequence[str] | None, instance: str | None, name: str) -> str | None:
    if not available:
        return None
    if not instance:
        if len(available) == 1:
            return available[0]
        raise UnknownName(
            f"image: got {name!r} without an instance type, wanted one: it decides between {', '.join(available)}"
        )
    family = instance.removeprefix("ml.").partition(".")[0]
    found = family if family in available else ("gpu" if family[:1] in {"g", "p"} else "cpu")
    if found not in available:
        raise UnknownName(f"image: got {name!r} on {instance!r}, wanted a machine with {' or '.join(available)}")
    return found


def _python(available: Sequence[str] | None, asked: str | None, name: str) -> str | None:
    if not available:
        return None
    if asked is None and len(available) == 1:
        return available[0]
    if asked not in available:
        raise UnknownName(f"image: got {name!r} with Python {asked!r}, wanted one of {', '.join(available)}")
    return asked
