"""What no software can beat: operations and bytes at the full rates of the datasheet."""

from __future__ import annotations

from .configuration import Configuration
from .step import Work
from .work import work_of


def fastest_seconds(c: Configuration, work: Work | None = None) -> float:
    """Seconds of an optimizer step if every unit ran at its peak and everything overlapped; ``work`` is its own, where it is known."""
    work = work or work_of(c)
    # With nothing recomputed, as a recipe that is not told may do without.
    saved = 3 / (3 + c.recompute.value) if not c.forward_only else 1.0
    each = max((work.matrix + work.convolution) * saved, work.weights * saved)
    return each * max(work.micro_steps, 1)
