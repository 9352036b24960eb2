"""Whether a job that exists is the one that was asked for: its describe answer holds everything that the request said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

# Describe does not give tags back, and writes the other four in its own words.
NOT_ECHOED = frozenset(
    {"Tags", "ProfilerConfig", "DebugHookConfig", "DebugRuleConfigurations", "ProfilerRuleConfigurations"}
)


def same_content(request: Mapping[str, Any], answer: Mapping[str, Any]) -> bool:
    """Return every field of a CreateTrainingJob request as DescribeTrainingJob gives it back. Fields that the service adds are ignored."""
    return all(_holds(answer.get(name), value) for name, value in request.items() if name not in NOT_ECHOED)


def _holds(got: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        found = got if isinstance(got, Mapping) else {}
        return all(_holds(found.get(name), value) for name, value in wanted.items())
    if isinstance(wanted, Sequence) and not isinstance(wanted, str):
        rows = got if isinstance(got, Sequence) and not isinstance(got, str) else ()
        return len(rows) == len(wanted) and all(map(_holds, rows, wanted))
    return bool(got == wanted) or (not got and not wanted)  # an empty text or False may be left out
