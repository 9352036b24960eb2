"""Which machines, how many, and how they are paid for."""

from __future__ import annotations

import enum
from dataclasses import KW_ONLY, dataclass

from .value import suggesting

SERVERLESS = "serverless"  # stands for an instance type where a job names none: the service chooses its machines


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
    network_gbps: float | None  # None: no public source says it in numbers
    efa: bool
    nvme: bool
    trains: bool
    source: str

    @property
    def family(self) -> str:
        """``p4d`` of ``ml.p4d.24xlarge``: the key of AWS's own support lists. A label, never a source of facts."""
        return self.name.split(".")[1]


@suggesting
@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceGroup:
    """``count`` instances of one type in a heterogeneous cluster.

    >>> st.Compute(groups=(st.specs.InstanceGroup(name="gpus", instance="ml.g5.xlarge", count=3),)).hosts
    3
    """

    name: str
    instance: str
    count: int = 1

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ValueError(f"group {self.name!r}: got count {self.count!r}, wanted at least 1")


@suggesting
@dataclass(frozen=True, slots=True)
class InstancePreference:
    """One of several instance types that a job can run on. ``count`` None is the count of the Compute around it.

    >>> either = (st.specs.InstancePreference("ml.p5.48xlarge"), st.specs.InstancePreference("ml.p4d.24xlarge"))
    >>> st.Compute(preferences=either, count=2).hosts
    2
    """

    instance: str
    _: KW_ONLY
    count: int | None = None
    training_plan: str | None = None

    def __post_init__(self) -> None:
        if self.count is not None and self.count < 1:
            raise ValueError(f"preference {self.instance!r}: got count {self.count!r}, wanted at least 1")


@suggesting
@dataclass(frozen=True, slots=True, kw_only=True)
class UltraServer:
    """``count`` instances that are placed together on one UltraServer: a ``PlacementSpecification``.

    >>> st.specs.UltraServer(count=2).server_id is None
    True
    """

    count: int
    server_id: str | None = None


@suggesting
@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where the instances of UltraServer capacity are placed. ``shared`` lets other jobs onto the same UltraServers.

    >>> st.specs.Placement(servers=(st.specs.UltraServer(count=2), st.specs.UltraServer(count=2))).shared
    False
    """

    shared: bool = False
    servers: tuple[UltraServer, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "servers", tuple(self.servers))


@suggesting
@dataclass(frozen=True, slots=True)
class Compute:
    """``count`` instances of type ``instance``, or several ``groups``. ``volume_gb`` is the EBS volume of each (the SDK's 30).

    ``keep_alive_s`` keeps the machines in a warm pool after the job, and billed. ``training_plan`` is the ARN of reserved capacity.
    ``preferences`` are instance types in the order in which the service tries them; it starts the job on the first that is free.
    ``Compute(SERVERLESS)`` is for a serverless job: the service chooses the machines.

    >>> st.Compute("ml.p4d.24xlarge", count=2).hosts
    2
    """

    instance: str = ""
    _: KW_ONLY
    count: int = 1
    volume_gb: int = 30
    volume_kms_key: str | None = None
    keep_alive_s: int | None = None
    groups: tuple[InstanceGroup, ...] = ()
    training_plan: str | None = None
    preferences: tuple[InstancePreference, ...] = ()
    placement: Placement | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", tuple(self.groups))
        object.__setattr__(self, "preferences", tuple(self.preferences))
        if self.count < 1:
            raise ValueError(f"compute.count: got {self.count!r}, wanted at least 1")
        if self.volume_gb < 1:
            raise ValueError(f"compute.volume_gb: got {self.volume_gb!r}, wanted at least 1")
        if sum(map(bool, (self.instance, self.groups, self.preferences))) != 1:
            got = f"instance {self.instance!r} and {len(self.groups)} groups"
            got += f" and {len(self.preferences)} preferences" if self.preferences else ""
            raise ValueError(f"compute: got {got}, wanted one instance type or instance groups")
        if self.count != 1 and any(preference.count is not None for preference in self.preferences):
            raise ValueError(
                f"compute.count: got {self.count} beside preferences with counts of their own, wanted one of both"
            )

    @property
    def hosts(self) -> int:
        """Machines in all."""
        return sum(count for _, count in self.machines)

    @property
    def instances(self) -> tuple[str, ...]:
        """The instance types that the job may run on."""
        several = self.groups or self.preferences
        return tuple(dict.fromkeys(each.instance for each in several)) if several else (self.instance,)

    @property
    def machines(self) -> tuple[tuple[str, int], ...]:
        """How many of which type: what is paid for. Of preferences it is the first."""
        if self.groups:
            return tuple((group.instance, group.count) for group in self.groups)
        if self.preferences:
            first = self.preferences[0]
            return ((first.instance, first.count or self.count),)
        return ((self.instance, self.count),)

    @property
    def counted(self) -> bool:
        """Return True if ``count`` is said: groups, and preferences that say their own, do without; a serverless job has none."""
        own = self.groups or any(preference.count is not None for preference in self.preferences)
        return not own and self.instance != SERVERLESS


@suggesting
@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """Managed spot. ``max_wait_s`` covers waiting and running, so it must not be below ``max_run_s``.

    Files under ``checkpoint_local_path`` (``/opt/ml/checkpoints`` when None) are kept in ``checkpoint_s3_uri`` and are
    back in place when an interrupted job starts again.

    >>> st.Spot(max_wait_s=90_000, checkpoint_s3_uri="s3://bucket/checkpoints/bert").max_wait_s
    90000
    """

    max_wait_s: int
    checkpoint_s3_uri: str | None = None
    checkpoint_local_path: str | None = None

    def __post_init__(self) -> None:
        if self.max_wait_s < 1:
            raise ValueError(f"spot.max_wait_s: got {self.max_wait_s!r}, wanted at least 1")
