"""A plan says on which emulated hosts a request runs, and what runs there; a channel, which data they get. They are values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ..api.shapes import Body

# The one group's name in a cluster of equal hosts, as the service writes it.
HOMOGENEOUS: Final = "homogeneousCluster"


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Hosts of one instance type; ``workers`` is how many each host has here, ``real_workers`` on the instance."""

    name: str
    instance_type: str
    hosts: tuple[str, ...]
    workers: int
    real_workers: int
    neuron: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """This is what the runner does. ``substituted`` is empty when every launcher asked for exists here."""

    groups: tuple[Group, ...]
    distributed: bool
    substituted: str
    refusal: str
    entrypoint: tuple[str, ...]

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(host for group in self.groups for host in group.hosts)

    def group_of(self, host: str) -> Group:
        return next(group for group in self.groups if host in group.hosts)

    def hosts_of(self, channel: Body) -> tuple[str, ...]:
        """Return who gets a channel: the groups it names, or everybody."""
        named = channel["DataSource"].get("S3DataSource", {}).get("InstanceGroupNames")
        return tuple(host for group in self.groups if not named or group.name in named for host in group.hosts)
