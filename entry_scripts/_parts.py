"""Owns how a batch is cut into parts of like length, computed one after another; must not know models or devices.

The parts' gradients add up to those of the whole batch: the same step, with less padding to compute. It is for what is
left where texts of like length share a step, and for steps whose texts are drawn as they come.
"""

from __future__ import annotations

from typing import NamedTuple, Sequence

MULTIPLE = 8  # lengths that matrix units like, and few different ones


class Grain(NamedTuple):
    """How finely a device takes it: what lengths are a multiple of, and how many positions cost what one pass more costs."""

    multiple: int
    pass_tokens: int


class Part(NamedTuple):
    """Which examples of the batch, by position, and the length they are padded to."""

    members: list[int]
    length: int


def rounded(length: int, multiple: int = MULTIPLE) -> int:
    return -(-length // multiple) * multiple


def cut(lengths: Sequence[int], grain: Grain, longest: int) -> list[Part]:
    """The cheapest way through a batch: positions to compute, and passes. Longest part first, none beyond `longest`.

    A part is a run of the batch sorted by length; where the ties are, only the rounded length counts. At most as many
    sums are looked at as there are pairs of different rounded lengths.
    """
    ranked = sorted(range(len(lengths)), key=lambda position: lengths[position])
    padded = [min(longest, rounded(lengths[position], grain.multiple)) for position in ranked]
    ends = [end for end in range(1, len(padded) + 1) if end == len(padded) or padded[end] != padded[end - 1]]
    best: dict[int, tuple[int, int]] = {0: (0, 0)}  # up to an end: what it costs, and where its last part begins
    for end in ends:
        best[end] = min(
            (cost + (end - start) * padded[end - 1] + grain.pass_tokens, start) for start, (cost, _) in best.items()
        )
    parts, end = [], len(padded)
    while end:
        start = best[end][1]
        parts.append(Part(ranked[start:end], padded[end - 1]))
        end = start
    return parts
