"""The instance types of HyperPod, and how many EFA interfaces a pod asks for on each."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from importlib.resources import files
from types import MappingProxyType


@functools.cache
def efa_interfaces() -> Mapping[str, int]:
    """The number of EFA interfaces of every instance type that HyperPod has."""
    by_count = json.loads(files(__package__).joinpath("hyperpod.json").read_text("utf-8"))["efa"]
    return MappingProxyType({name: int(count) for count, names in by_count.items() for name in names})
