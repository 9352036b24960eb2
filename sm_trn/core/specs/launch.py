"""The narrow waist: what a strategy makes and a renderer reads."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from .json import Json


class Runner(enum.Enum):
    """The program in the container that starts the workers."""

    PYTHON = "python"
    TORCHRUN = "torchrun"
    SMDDP = "smddprun"
    MPI = "mpirun"
    XLA_SPAWN = "xla_spawn"


class Library(enum.Enum):
    """The AWS library that the workers use, beside the runner that starts them."""

    SMDDP = "smdistributed.dataparallel"
    SMP = "smdistributed.modelparallel"
    SMP_V2 = "smdistributed.modelparallel, version 2"
    PYTORCH_DDP = "pytorchddp"


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchPlan:
    """How the workers of a job are started: facts that a target reads, and the words of the two that name strategies.

    ``named_workers`` says that the user gave ``workers_per_host``. ``parameters`` are the library's own. ``toolkit`` holds
    hyperparameters for the training toolkit in the container (before JSON encoding); ``estimator`` is SDK v2's
    ``distribution=`` argument, and ``beside`` the part of ``toolkit`` that this argument cannot say. Only the targets whose
    words they are send them; nothing reads a fact out of them.
    """

    runner: Runner
    workers_per_host: int
    named_workers: bool = False
    library: Library | None = None
    parameters: Mapping[str, Json] = field(default_factory=dict)
    mpi_options: str = ""
    toolkit: Mapping[str, Json] = field(default_factory=dict)
    estimator: Mapping[str, Json] = field(default_factory=dict)
    beside: Mapping[str, Json] = field(default_factory=dict)
