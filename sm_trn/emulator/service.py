"""What a room that is not training brings to a region: its operations, and what it does at the start and the end."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from .api.search import SearchRequest
    from .container.context import Shared
    from .state.resources import Resources
    from .telemetry.log_store import LogLines
    from .training.api import TrainingApi
    from .training.jobs import Jobs, TrainingContext

INVOCATIONS: Final = re.compile(r"/endpoints/([^/]{1,63})/invocations")  # the path of InvokeEndpoint
Handler = Callable[[Any], "Mapping[str, Any] | None"]  # each takes the type of its own operation's request


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionParts:
    """What a region has for every room: its records, its training jobs, where logs of other containers go."""

    shared: Shared
    resources: Resources
    jobs: Jobs
    training: TrainingApi
    context: TrainingContext
    lines: LogLines


class Service:
    """A room in one region. A subclass overrides what it has."""

    operations: Mapping[str, Handler]

    def search(self, body: SearchRequest) -> Mapping[str, object] | None:
        """Answer a Search among what is this room's; None for any other. Raises AwsError."""

    def answer(self, method: str, path: str, body: ReadBody, fields: Mapping[str, str]) -> HttpAnswer | None:
        """Answer a request that names no operation but a path; None for one that is not this room's, whose body is not read.
        Raises AwsError."""

    def restore(self) -> None:
        """Bring back what was in service before a restart, and fail what ran."""

    def shutdown(self) -> None:
        """End all that runs."""


ReadBody = Callable[[], bytes]
HttpAnswer = tuple[Mapping[str, str], bytes]  # headers and body
OpenService = Callable[[RegionParts], Service]
