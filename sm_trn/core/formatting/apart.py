"""Labels that are cut and still differ."""

from __future__ import annotations

from collections.abc import Sequence
from os.path import commonprefix

from .printable import cut


def cut_apart(names: Sequence[str], width: int) -> list[str]:
    """The names in at most ``width`` cells each: cut in the middle or, where that makes two alike, without what all of them share."""
    for texts in (names, _without_shared(names)):
        found = [cut(text, width) for text in texts]
        if len(set(found)) == len(set(names)):
            return found
    return [cut(text, width) for text in names]


def _without_shared(names: Sequence[str]) -> list[str]:
    """The names without the words that all begin and end with, an ellipsis in their place."""
    head = commonprefix(names).rpartition("-")  # noqa: RUF071 - of characters
    tail = commonprefix([name[::-1] for name in names]).rpartition("-")  # noqa: RUF071 - as above
    first, last = len(head[0]) + len(head[1]), len(tail[0]) + len(tail[1])
    if min(map(len, names), default=0) <= first + last:
        last = 0
    return [f"{'…' * (first > 0)}{name[first : len(name) - last]}{'…' * (last > 0)}" for name in names]
