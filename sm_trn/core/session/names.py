"""Names of jobs: what a launch adds to make them unique, short names that say the same, and what is meant by the beginning of one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from ..errors import UnknownName

LAST: Final = "@last"  # the newest job
_UNIQUE = re.compile(r"-\d{6}-\d{6}-[0-9a-f]{6}$")  # the time and six digits that a launch adds
SHOWN = 3  # of the jobs that a name may mean


def stem(name: str) -> str:
    """``reviews-lr0p03`` of ``reviews-lr0p03-261124-062845-ab2fcf``: what a person called the job."""
    return _UNIQUE.sub("", name)


def short_names(names: Iterable[str]) -> Mapping[str, str]:
    """For each name its stem, where no other name has it or is it; else the name itself. No two jobs get the same.

    >>> dict(short_names(["a-261124-062845-ab2fcf", "b-261124-062845-ab2fcf", "b-261124-062846-ab2fcf"]))
    {'a-261124-062845-ab2fcf': 'a', 'b-261124-062845-ab2fcf': 'b-261124-062845-ab2fcf', 'b-261124-062846-ab2fcf': 'b-261124-062846-ab2fcf'}
    """
    every = list(dict.fromkeys(names))
    taken = Counter(word for name in every for word in {name, stem(name)})
    return {name: stem(name) if taken[stem(name)] == 1 else name for name in every}


def meant(word: str, names: Sequence[str]) -> str | None:
    """The one of ``names`` that is called ``word``, or begins with it; None where none does.

    ``names`` are the newest first. Raises UnknownName where several do: nothing is guessed of what may be stopped or billed.
    """
    for found in ([name for name in names if stem(name) == word], [name for name in names if name.startswith(word)]):
        if len(found) == 1:
            return found[0]
        if found:
            more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
            raise UnknownName(
                f"job: got {word!r}, which begins {', '.join(found[:SHOWN])}{more}; write more of the name, or {LAST} for the newest"
            )
    return None
