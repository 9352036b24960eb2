"""Owns whose turn it is to load: one worker of a machine first, the others in waves; must not know what is loaded.

The first fills the machine's caches. Thirty-two workers that read a model's weights at once need thirty-two times its
memory on the host; a wave needs as many times as it has workers, provided the model leaves the host inside its turn.
"""

from __future__ import annotations

import contextlib
import os
from typing import Callable, Iterator, Mapping

from _console import Mistake

AT_ONCE = 8  # workers of a machine, as in optimum-neuron's num_local_ranks_per_step
VARIABLE = "SM_TRN_LOADING_AT_ONCE"


def at_once(environ: Mapping[str, str] = os.environ) -> int:
    asked = environ.get(VARIABLE, str(AT_ONCE))
    if not asked.isdigit() or int(asked) < 1:
        raise Mistake(f"{VARIABLE}: got {asked!r}, wanted a number of workers from 1 on")
    return int(asked)


def workers_here(world_size: int, environ: Mapping[str, str] = os.environ) -> int:
    """Of this machine, by torchrun's or Open MPI's word; without one, all are here."""
    return int(environ.get("LOCAL_WORLD_SIZE", environ.get("OMPI_COMM_WORLD_LOCAL_SIZE", world_size)))


@contextlib.contextmanager
def turn(local_rank: int, here: int, wait_for_all: Callable[[], None], size: int) -> Iterator[None]:
    """Inside, at most `size` workers of a machine. Inside there can be no collective.

    Every worker of every machine waits as often, so all machines must have as many workers.
    """
    waves = 1 + -(-(here - 1) // size)  # the first worker, then the others
    own = 0 if local_rank == 0 else 1 + (local_rank - 1) // size
    for _ in range(own):
        wait_for_all()
    yield  # after a failure in it nobody waits: the launcher ends the others
    for _ in range(waves - own):
        wait_for_all()
