"""Resolution of job names: short names, beginnings of names, and ``@last``."""

from __future__ import annotations

import itertools
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from ..errors import UnknownName
from ..ports import JobFeed, JobQuery
from .details import listed

LAST: Final = "@last"  # the newest job
_UNIQUE = re.compile(r"-\d{6}-\d{6}-[0-9a-f]{6}$")  # the time and six digits that a launch adds
LOOKED_AT = 500  # jobs whose name holds the beginning of one


def stem(name: str) -> str:
    """``reviews-lr0p03`` of ``reviews-lr0p03-261124-062845-ab2fcf``: what a person called the job."""
    return _UNIQUE.sub("", name)


def meant(word: str, names: Sequence[str]) -> str | None:
    """The newest of ``names`` that was launched as ``word``, with a warning where there are several; else the one that begins with it;
    None where none does.

    ``names`` are the newest first. Raises UnknownName where several jobs that were launched under other names begin so.
    """
    launches = [name for name in names if stem(name) == word]
    if len(launches) > 1:
        warnings.warn(f"{len(launches)} jobs were launched as {word}; the newest is {launches[0]}", stacklevel=3)
    matches = launches[:1] or [name for name in names if name.startswith(word)]
    if len(matches) > 1:
        more = f" and {len(matches) - 3} more" if len(matches) > 3 else ""
        raise UnknownName(
            f"job: got {word!r}, which begins {', '.join(matches[:3])}{more}; write more of the name, or {LAST} for the newest"
        )
    return matches[0] if matches else None


def meant_by(feed: JobFeed, word: str) -> str | None:
    """The name of the job that ``word`` means: of ``@last`` the newest, else that of ``meant``; None for none.

    Raises UnknownName where several jobs begin so, or where ``@last`` finds no job; CloudError.
    """
    if word == LAST:
        newest = next(listed(feed, JobQuery()), None)
        if newest is None:
            raise UnknownName(f"job: got {LAST}, wanted the newest of the jobs here, and there are none")
        return newest.name
    if word.startswith("@"):  # no name begins so
        return None
    return meant(word, [job.name for job in itertools.islice(listed(feed, JobQuery(containing=word)), LOOKED_AT)])


def short_names(names: Iterable[str]) -> Mapping[str, str]:
    """For each name its stem, where no other name has it or is it; else the name itself. No two jobs get the same.

    >>> dict(short_names(["a-261124-062845-ab2fcf", "b-261124-062845-ab2fcf", "b-261124-062846-ab2fcf"]))
    {'a-261124-062845-ab2fcf': 'a', 'b-261124-062845-ab2fcf': 'b-261124-062845-ab2fcf', 'b-261124-062846-ab2fcf': 'b-261124-062846-ab2fcf'}
    """
    every = list(dict.fromkeys(names))
    taken = Counter(word for name in every for word in {name, stem(name)})
    return {name: stem(name) if taken[stem(name)] == 1 else name for name in every}
