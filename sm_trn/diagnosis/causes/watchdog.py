"""What NCCL's watchdog of each rank said: who waited for what, and who said nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from .cause import Evidence

_SAID = re.compile(r"\[?[Rr]ank ?(?P<rank>\d{1,5})\]?.{0,200}?SeqNum=(?P<seq>\d{1,12}),? ?OpType=(?P<op>\w{1,40})")
_TIMEOUT = re.compile(r"Timeout\(ms\)=(?P<ms>\d{1,10})")
_BUSY = ("map:", "generating", "saving", "downloading", "tokeniz", "loading checkpoint")


@dataclass(slots=True)
class Watchdog:
    """The watchdogs' lines, as they come. ``timeout_s`` is how long the collective had waited, 0 where none says."""

    timeout_s: float = 0.0
    waited: dict[int, tuple[int, str]] = field(default_factory=dict)

    def hear(self, line: Evidence) -> None:
        """Take in a line, if a watchdog said it."""
        if "atchdog" not in line.text and "OpType=" not in line.text:
            return
        found = _TIMEOUT.search(line.text)
        if found:
            self.timeout_s = int(found["ms"]) / 1000
        said = _SAID.search(line.text)
        if said:
            self.waited.setdefault(int(said["rank"]), (int(said["seq"]), said["op"]))

    @property
    def differ(self) -> bool:
        """Whether ranks waited in different collectives."""
        return len(set(self.waited.values())) > 1

    @property
    def behind(self) -> int | None:
        """The rank that was at the earliest collective, where they differ."""
        return min(self.waited, key=lambda rank: self.waited[rank][0]) if self.differ else None

    @property
    def absent(self) -> int | None:
        """The only rank up to the highest that waited for nothing: the others waited for it."""
        if len(self.waited) < 2:
            return None
        missing = [rank for rank in range(max(self.waited) + 1) if rank not in self.waited]
        return missing[0] if len(missing) == 1 else None
