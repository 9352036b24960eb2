"""The table of instance types. Each row names its source; nothing here parses an instance name."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping
from importlib.resources import files
from types import MappingProxyType

from ..errors import UnknownName
from ..specs.compute import Accelerator, InstanceType
from ..specs.value import suggestion


@functools.cache
def instances() -> Mapping[str, InstanceType]:
    """Every known instance type by name."""
    rows = json.loads(files(__package__).joinpath("instances.json").read_text("utf-8"))["rows"]
    return MappingProxyType(
        {row["name"]: InstanceType(**{**row, "accelerator": Accelerator[row["accelerator"]]}) for row in rows}
    )


def find_instance(name: str) -> InstanceType | None:
    """The catalogue row of ``name``, or None: AWS sells more types than the table describes."""
    return instances().get(name)


def find_instances(names: Iterable[str]) -> tuple[InstanceType, ...]:
    """The catalogue rows of those of ``names`` that have one: for a rule that looks at every instance group."""
    return tuple(row for name in names if (row := find_instance(name)) is not None)


def instance(name: str) -> InstanceType:
    """The catalogue row of ``name``. Raises UnknownName, with the nearest name, when there is none."""
    row = find_instance(name)
    if row is None:
        raise UnknownName(
            f"instance: got {name!r}, wanted one of the {len(instances())} in the catalogue{suggestion(name, instances())}"
        )
    return row
