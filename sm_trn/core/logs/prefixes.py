"""Which worker printed a line, as launchers write it in front. Must not know the rest of the line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_PREFIX = re.compile(
    r"""(?:\x1b\[[0-9;]{0,16}m){0,4}
    (?: \[\d{1,6},mpirank:(?P<smddp>\d{1,6}),(?P<host>algo-\d{1,5})\]<std(?:out|err)>:   # smddp and smp
      | \[\d{1,6},(?P<mpi>\d{1,6})\]<std(?:out|err|diag)>:                               # mpirun --tag-output
      | \[(?:rank|default|trainer|worker)?(?P<torchrun>\d{1,6})\]:                        # torch, torchrun --tee
    )[ ]?""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Prefix:
    """``rank`` is of the whole job with MPI, SMDDP and ``[rank0]:``, of the host with ``[0]:`` and ``[default0]:``.

    ``length`` characters of the line belong to the prefix; a plain line has rank None and length 0.
    """

    rank: int | None = None
    host: str | None = None
    length: int = 0


_NONE = Prefix()
_LONGEST = 160  # characters of a prefix with its colours


def prefix_of(text: str) -> Prefix:
    """The launcher's prefix at the beginning of a line."""
    if not text.startswith(("[", "\x1b")):
        return _NONE
    at = text.find(
        "{", 0, _LONGEST
    )  # no prefix has a brace, and what is before one's dicts is the same again and again
    return _matched(text) if at < 0 else _known(text[:at])


def _matched(text: str) -> Prefix:
    found = _PREFIX.match(text)
    if found is None:
        return _NONE
    return Prefix(int(found["smddp"] or found["mpi"] or found["torchrun"]), found["host"], found.end())


_known = lru_cache(maxsize=1024)(_matched)
