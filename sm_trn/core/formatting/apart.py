"""Labels that are cut and still differ."""

from __future__ import annotations

from collections.abc import Sequence

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
    parts = [name.split("-") for name in dict.fromkeys(names)]
    head, tail = _shared(parts), _shared([list(reversed(each)) for each in parts])
    shortest = min(map(len, parts), default=0)
    tail = min(tail, max(0, shortest - head - 1))
    if head >= shortest:  # one name is the beginning of the others
        head = shortest - 1
    found = []
    for name in names:
        words = name.split("-")
        kept = "-".join(words[head : len(words) - tail])
        found.append(f"{'…' * (head > 0)}{kept}{'…' * (tail > 0)}")
    return found


def _shared(parts: Sequence[Sequence[str]]) -> int:
    """How many words all begin with."""
    count = 0
    for words in zip(*parts, strict=False):
        if len(set(words)) > 1:
            break
        count += 1
    return count
