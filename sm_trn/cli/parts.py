"""What the core's commands take from the parts. Where there are none, they have the core's own."""

from __future__ import annotations

try:
    from ..wiring import RULES, check, connect, estimated_cost
except ModuleNotFoundError:  # the core and its commands alone
    from ..core.preflight import RULES, check
    from ..core.session.connection import connect
    from ..core.specs.job import JobSpec

    def estimated_cost(job: JobSpec, region: str) -> str:
        """Nothing estimates."""
        del job, region
        return ""


__all__ = ["RULES", "check", "connect", "estimated_cost"]
