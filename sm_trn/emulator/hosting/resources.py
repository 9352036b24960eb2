"""Models, endpoint configurations, endpoints and transform jobs: one record each, saved at every change.

It must not know HTTP, nor what runs behind a record.
"""

from __future__ import annotations

import threading
import time
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from ..errors import AwsFault, validation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..state.store import Store

# The service's words for each kind of thing, as they stand in its messages and in its ARNs.
NOUNS: Final[Mapping[str, str]] = {
    "model": "model",
    "endpoint-config": "endpoint configuration",
    "endpoint": "endpoint",
    "transform-job": "transform job",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A request as it was sent, and what became of it. ``facts`` holds what the request did not say."""

    kind: str
    name: str
    arn: str
    request: Mapping[str, Any]
    tags: Mapping[str, str]
    created: float
    modified: float
    status: str = ""
    reason: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


class Records:
    """All of them, by kind and name. Every method is atomic."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._clock = clock
        self._lock = threading.RLock()
        self._records = {(row["kind"], row["name"]): Record(**row) for row in store.records()}

    def now(self) -> float:
        return self._clock()

    def find(self, kind: str, name: str) -> Record | None:
        with self._lock:
            return self._records.get((kind, name))

    def get(self, kind: str, name: str, arn: str) -> Record:
        """Raises the service's own fault when there is no such thing."""
        found = self.find(kind, name)
        if found is None:
            raise validation(f'Could not find {NOUNS[kind]} "{arn}".')
        return found

    def by_arn(self, arn: str) -> Record | None:
        with self._lock:
            return next((record for record in self._records.values() if record.arn == arn), None)

    def all(self, kind: str) -> list[Record]:
        """In order of creation."""
        with self._lock:
            found = [record for (known, _), record in self._records.items() if known == kind]
        return sorted(found, key=lambda record: (record.created, record.name))

    def add(self, record: Record) -> None:
        with self._lock:
            if (record.kind, record.name) in self._records:
                if record.kind == "transform-job":
                    raise AwsFault(
                        "ResourceInUse",
                        "Job name must be unique within an AWS account and region, and a job with this name already "
                        f"exists ({record.arn}).",
                    )
                raise validation(f'Cannot create already existing {NOUNS[record.kind]} "{record.arn}".')
            self._keep(record)

    def change(self, kind: str, name: str, **changes: Any) -> Record | None:
        """Change some fields, and say when; None when the record is gone."""
        with self._lock:
            record = self._records.get((kind, name))
            if record is None:
                return None
            changed = replace(record, modified=max(self._clock(), record.modified), **changes)
            self._keep(changed)
            return changed

    def drop(self, kind: str, name: str) -> None:
        with self._lock:
            self._records.pop((kind, name), None)
            self._store.drop_record(kind, name)

    def _keep(self, record: Record) -> None:
        self._store.save_record(record.kind, record.name, asdict(record))
        self._records[record.kind, record.name] = record
