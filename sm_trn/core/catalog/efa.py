"""The software that selects EFA, AWS's fast network between hosts: the launcher in a container, and the plugin of NCCL in its image."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from ..specs.framework import Framework
from .images import minor


@dataclass(frozen=True, slots=True, kw_only=True)
class Launcher:
    """A release of what starts the workers: the training toolkit of an image, or the drivers that SDK v3 brings.

    ``efa`` are the instance types for which it sets ``FI_PROVIDER=efa``, ``rdma`` those with ``FI_EFA_USE_DEVICE_RDMA=1``;
    ``simple`` says that its torchrun sets ``NCCL_PROTO=simple`` on every type.
    """

    version: str
    efa: frozenset[str]
    rdma: frozenset[str]
    simple: bool
    source: str
    since: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """When AWS last built the image of a version (ISO day), and the aws-ofi-nccl in it; None: the build file does not say."""

    pytorch: str
    built: str
    plugin: str | None
    source: str
    transformers: str | None = None

    @property
    def selects(self) -> bool | None:
        """Return True if the plugin asks for EFA by itself; None when its version is not known."""
        if self.plugin is None:
            return None
        numbers = self.plugin.split(" ")[0].split(".")
        if not numbers[0].isdigit():
            return True  # the one that EFA's installer brings, from 1.38.0 on
        # From 1.7 on aws-ofi-nccl asks for EFA itself: aws/aws-ofi-nccl e50d5579, v1.7.0-aws.
        return (int(numbers[0]), int(numbers[1])) >= (1, 7)


@functools.cache
def _table() -> Any:
    return json.loads(files(__package__).joinpath("efa.json").read_text("utf-8"))


def _launcher(row: Mapping[str, Any]) -> Launcher:
    return Launcher(**{**row, "efa": frozenset(row["efa"]), "rdma": frozenset(row["rdma"])})


@functools.cache
def toolkits() -> tuple[Launcher, ...]:
    """The releases of the training toolkit that changed what it sets, oldest first."""
    return tuple(_launcher(row) for row in _table()["toolkits"])


@functools.cache
def drivers() -> Launcher:
    """The launcher that SDK v3 brings into every image."""
    return _launcher(_table()["drivers"])


@functools.cache
def builds() -> tuple[Build, ...]:
    """The images whose build file was read, plain PyTorch first."""
    return tuple(Build(**row) for row in _table()["images"])


@functools.lru_cache(maxsize=256)
def build_of(framework: Framework) -> Build | None:
    """The newest build of the framework's image for GPUs, or None when no build file of it was read."""
    transformers = None if framework.transformers is None else minor(framework.transformers)
    fitting = [
        row
        for row in builds()
        if row.transformers == transformers and framework.pytorch and row.pytorch == minor(framework.pytorch)
    ]
    return fitting[-1] if fitting else None


def toolkit_of(build: Build) -> Launcher | None:
    """The toolkit's newest row on the day of the build; None before the first. An inference: images name no version."""
    older = [row for row in toolkits() if row.since <= build.built]
    return older[-1] if older else None


def named() -> frozenset[str]:
    """The instance types that any release names: AWS counts on EFA there."""
    return frozenset().union(drivers().efa, *(row.efa for row in toolkits()))


def shell_reads(pytorch: str) -> bool | None:
    """Return True if a shell reads a script's arguments in images of a PyTorch; None where an image may have either toolkit.

    >>> shell_reads("2.5.1"), shell_reads("2.10.0")
    (True, None)
    """
    major, minor = pytorch.split(".")[:2]
    # 2.8 is the newest PyTorch whose images AWS had stopped to patch on that day: images.json, support.
    return True if (int(major), int(minor)) <= (2, 8) else None
