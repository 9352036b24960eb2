"""Facts newer than the tables that ship: images in an installed SDK's own tables, types in the installed botocore.

The SDK is read as data, never imported.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from ..specs.framework import shipped_images
from . import images
from .instances import instances
from .limits import members

_AMAZON_LINUX: Final = "-amzn2023-sagemaker"
Row = dict[str, Any]  # of images.json, or of an SDK's table
Found = tuple[str, str, Row]  # family, version, row


def sdk_tables() -> tuple[Path, str] | None:
    """The folder of the installed SageMaker SDK's image tables, and the SDK's name and version. None without an SDK."""
    spec = importlib.util.find_spec("sagemaker")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        for package, folder in (("sagemaker-core", "core/image_uri_config"), ("sagemaker", "image_uri_config")):
            if (Path(place) / folder).is_dir():
                return Path(place) / folder, f"{package} {importlib.metadata.version(package)} image tables"
    return None


def newer_images(today: str) -> tuple[list[Row], dict[str, Row]]:
    """The images that the installed SDK names and no table here does, as rows of ``today``, and their registries."""
    tables = sdk_tables()
    if tables is None:
        return [], {}
    folder, source = tables
    rows, registries = list[Row](), dict[str, Row]()
    for family, version, row in (*_pytorch(folder), *_amazon_linux(folder), *_hugging_face(folder)):
        name = f"{family}-{version} of {source}"
        registries[name] = row.pop("registries")
        rows.append(
            {
                **row,
                "family": family,
                "registry": name,
                "sdk_v2": "core" not in source,
                "as_of": today,
                "source": source,
            }
        )
    return rows, registries


def _versions(folder: Path, name: str) -> Row:
    path = folder / f"{name}.json"
    body = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    versions: Row = body.get("training", {}).get("versions", {})
    return versions


def _pytorch(folder: Path) -> Iterator[Found]:
    known = {row.pytorch for row in images.rows("pytorch")}
    for version, entry in _versions(folder, "pytorch").items():
        if version not in known:
            yield (
                "pytorch",
                version,
                {
                    "pytorch": version,
                    "repository": entry["repository"],
                    "registries": entry["registries"],
                    "python": entry["py_versions"][-1],
                    "processors": ["cpu", "gpu"],
                    "tag": "{pytorch}-{processor}-{python}",
                },
            )


def _amazon_linux(folder: Path) -> Iterator[Found]:
    known = {images.minor(row.pytorch) for row in images.rows("pytorch") if row.repository == "pytorch"}
    for version, entry in _versions(folder, "pytorch-amzn2023").items():
        if version not in known:
            containers = {name: text.removesuffix(_AMAZON_LINUX) for name, text in entry["container_version"].items()}
            yield (
                "pytorch",
                version,
                {
                    "pytorch": version,
                    "repository": entry["repository"],
                    "registries": entry["registries"],
                    "python": None,
                    "processors": sorted(containers),
                    "container": containers.get("gpu"),
                    "container_on_cpu": containers.get("cpu"),
                    "tag": "{pytorch}-{container}" + _AMAZON_LINUX,
                },
            )


def _hugging_face(folder: Path) -> Iterator[Found]:
    known = {(row.transformers, row.pytorch) for row in images.rows("huggingface")}
    for version, entries in _versions(folder, "huggingface").items():
        for key, entry in entries.items():
            pytorch = key.removeprefix("pytorch")
            if key.startswith("pytorch") and (version, pytorch) not in known:
                yield (
                    "huggingface",
                    version,
                    {
                        "pytorch": pytorch,
                        "transformers": version,
                        "repository": entry["repository"],
                        "registries": entry["registries"],
                        "python": entry["py_versions"][-1],
                        "container": entry["container_version"]["gpu"],
                        "tag": "{pytorch}-transformers{transformers}-{processor}-{python}-{container}",
                    },
                )


def types_without_facts() -> tuple[str, ...]:
    """Training types of the installed botocore that the table of instances does not describe."""
    return tuple(name for name in members("TrainingInstanceType") if name not in instances())


@dataclass(frozen=True, slots=True, kw_only=True)
class FactTable:
    """One table that ships: its rows, the ISO day of its newest row, and how many rows the user's own file adds.

    ``renewed_by`` is what brings newer rows without a new version of this package; empty when nothing does.
    """

    name: str
    rows: int
    as_of: str
    own_rows: int
    source: str
    renewed_by: str


def catalogue_tables() -> tuple[FactTable, ...]:
    """The tables of the catalogue. Prices are ``pricing``'s own."""
    return (
        _images(),
        _shipped(
            "instances",
            "rows",
            "each row names its own; the names are botocore's TrainingInstanceType",
            "a newer botocore",
        ),
        _shipped("chips", "rows", "datasheets, named by each row"),
        _shipped("efa", "images", "build files of AWS's images, and the training toolkit"),
    )


def _images() -> FactTable:
    rows = [row for family in images.families() for row in images.rows(family)]
    return FactTable(
        name="images",
        rows=len(rows),
        as_of=max(row.as_of for row in rows),
        own_rows=len(rows) - len(shipped_images()["rows"]),
        source="; ".join(dict.fromkeys(row.source for row in rows)),
        renewed_by="sm-trn catalog update, from an installed SageMaker SDK",
    )


def _shipped(name: str, part: str, source: str, renewed_by: str = "") -> FactTable:
    body = json.loads(files(__package__).joinpath(f"{name}.json").read_text("utf-8"))
    return FactTable(
        name=name, rows=len(body[part]), as_of=body["as_of"], own_rows=0, source=source, renewed_by=renewed_by
    )
