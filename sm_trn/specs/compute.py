"""Which machines, how many, and how they are paid for."""

from __future__ import annotations

import enum
from dataclasses import KW_ONLY, dataclass

from .value import suggesting


class Accelerator(enum.Enum):
    NEURON = "NEURON"
    CUDA = "CUDA"
    CPU = "CPU"


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceType:
    """A catalogue row. ``workers`` is one process per GPU, per NeuronCore, or one on a CPU."""

    name: str
    accelerator: Accelerator
    chip: str
    chips: int
    workers: int
    accelerator_memory_gib: float
    vcpus: int
    memory_gib: float
    network_gbps: float
    efa: bool
    nvme: bool
    trains: bool
    source: str

    @property
    def family(self) -> str:
        """``p4d`` of ``ml.p4d.24xlarge``: the key of AWS's own support lists. A label, never a source of facts."""
        return self.name.split(".")[1]


@suggesting
@dataclass(frozen=True, slots=True)
class Compute:
    """``count`` instances of type ``instance``. ``volume_gb`` is the EBS volume of each (30 as the SDK's default)."""

    instance: str
    _: KW_ONLY
    count: int = 1
    volume_gb: int = 30

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ValueError(f"compute.count: got {self.count!r}, wanted at least 1")
        if self.volume_gb < 1:
            raise ValueError(f"compute.volume_gb: got {self.volume_gb!r}, wanted at least 1")


@suggesting
@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """Managed spot. ``max_wait_s`` covers waiting and running, so it must not be below ``max_run_s``.

    Files under ``checkpoint_local_path`` (``/opt/ml/checkpoints`` when None) are kept in ``checkpoint_s3_uri`` and are
    back in place when an interrupted job starts again.
    """

    max_wait_s: int
    checkpoint_s3_uri: str | None = None
    checkpoint_local_path: str | None = None

    def __post_init__(self) -> None:
        if self.max_wait_s < 1:
            raise ValueError(f"spot.max_wait_s: got {self.max_wait_s!r}, wanted at least 1")
