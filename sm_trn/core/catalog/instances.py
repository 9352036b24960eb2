"""The tables of instance types and of accelerator chips. Each row names its source; nothing here parses an instance name."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Chip:
    """A chip's datasheet: dense TFLOP/s by precision (None: it has no such unit), and GB/s of its memory and links.

    ``workers`` is how many of a job's processes share it, ``usable_gib`` the memory that a framework sees for each of them.
    """

    name: str
    generation: str
    workers: int
    fp16: float | None
    bf16: float | None
    tf32: float | None
    fp32: float
    fp8: float | None
    hbm_gbs: float
    link_gbs: float
    usable_gib: float
    source: str

    def peak(self, precision: str) -> float | None:
        """FLOP/s of one worker in ``precision``; None where the chip has no unit for it."""
        tflops = {"fp16": self.fp16, "bf16": self.bf16, "tf32": self.tf32, "fp32": self.fp32, "fp8": self.fp8}[
            precision
        ]
        return None if tflops is None else tflops * 1e12 / self.workers

    @property
    def memory_rate(self) -> float:
        """Bytes in a second of one worker's memory."""
        return self.hbm_gbs * 1e9 / self.workers

    @property
    def link_rate(self) -> float:
        """Bytes in a second, one way, between the workers of a host."""
        return self.link_gbs * 1e9 / self.workers


@functools.cache
def chips() -> Mapping[str, Chip]:
    """Every known chip by the name that the table of instances gives it."""
    rows = json.loads(files(__package__).joinpath("chips.json").read_text("utf-8"))["rows"]
    return MappingProxyType({row["name"]: Chip(**row) for row in rows})


def find_chip(name: str) -> Chip | None:
    """The row of ``name``, or None."""
    return chips().get(name)
