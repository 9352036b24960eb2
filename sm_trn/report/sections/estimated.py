"""What an emulated job would take and cost on AWS, as others estimated it. Never a measurement, and in no sum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...core.formatting import numbers as fmt

SHOWN = 6  # jobs whose intervals a sentence names
EST_MEANS = "est: ESTIMATED for AWS from what the job asks, not measured."


@dataclass(frozen=True, slots=True)
class Estimated:
    """Billable seconds on AWS and dollars, each as its 10 %, 50 % and 90 % quantile; ``usd`` is None without a price."""

    billable_s: tuple[float, float, float]
    usd: tuple[float, float, float] | None

    @property
    def likely(self) -> tuple[str, str]:
        """Time, and dollars where there is a price."""
        return fmt.brief(self.billable_s[1]), "" if self.usd is None else f"{self.usd[1]:,.1f}"

    @property
    def between(self) -> tuple[str, str]:
        """Their 80 % intervals: ``1h13m-1h47m`` and ``28.4-42.3``."""
        low, _, high = self.billable_s
        usd = "" if self.usd is None else f"{self.usd[0]:,.1f}-{self.usd[2]:,.1f}"
        return f"{fmt.brief(low)}-{fmt.brief(high)}", usd

    @property
    def words(self) -> str:
        """``1h26m (1h13m-1h47m), $33.9 (28.4-42.3)``."""
        (took, usd), (seconds, dollars) = self.likely, self.between
        return f"{took} ({seconds})" + (f", ${usd} ({dollars})" if dollars else "")


def estimated_sentence(named: Sequence[tuple[str, Estimated | None]]) -> str:
    """What the columns marked "est" mean, with the intervals of each job; empty where no job has an estimate."""
    known = [(label, found.words) for label, found in named if found is not None]
    if not known:
        return ""
    shown = "; ".join(f"{label} {words}" for label, words in known[:SHOWN])
    more = f"; and {fmt.count(len(known) - SHOWN)} more" if len(known) > SHOWN else ""
    return f"{EST_MEANS} With 80 % intervals: {shown}{more}."
