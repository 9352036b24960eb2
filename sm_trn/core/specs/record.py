"""A finished story of one job – describe answer plus the numbers of its log – that can be saved, shipped and compared."""

from __future__ import annotations

import enum
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..errors import SmTrnError
from .metrics import MetricPoint
from .snapshot import JobSnapshot, parse_snapshot

SCHEMA = 1


class Origin(enum.Enum):
    """Where the numbers are from: a job in the cloud, a job in the emulator, a publication."""

    MEASURED = "measured"
    EMULATED = "emulated"
    PUBLISHED = "published"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRecord:
    """A job's data for a comparison. ``label`` is its name in figures; ``source`` cites a publication."""

    snapshot: JobSnapshot
    points: tuple[MetricPoint, ...]
    origin: Origin
    label: str
    workload: str = ""
    source: str = ""
    notes: tuple[str, ...] = ()

    def last(self, name: str) -> float | None:
        """The newest value of a metric, or None."""
        return next((point.value for point in reversed(self.points) if point.name == name), None)

    def series(self, name: str) -> tuple[MetricPoint, ...]:
        return tuple(point for point in self.points if point.name == name)


def record(
    snapshot: JobSnapshot, points: Iterable[MetricPoint], *, label: str | None = None, workload: str = ""
) -> JobRecord:
    """A record of a job that ran; emulated or measured is read off its ARN."""
    origin = Origin.EMULATED if snapshot.emulated else Origin.MEASURED
    return JobRecord(
        snapshot=snapshot, points=tuple(points), origin=origin, label=label or snapshot.name, workload=workload
    )


def dump_record(item: JobRecord) -> str:
    """The record as JSON text; ``parse_record`` reads it back to an equal value."""
    points = [
        {
            key: value
            for key, value in (
                ("name", p.name),
                ("value", p.value),
                ("step", p.step),
                ("epoch", p.epoch),
                ("time_s", p.time_s),
                ("host", p.host or None),
                ("guessed", p.guessed or None),
            )
            if value is not None
        }
        for p in item.points
    ]
    body = {
        "schema": SCHEMA,
        "label": item.label,
        "origin": item.origin.value,
        "workload": item.workload,
        "source": item.source,
        "notes": list(item.notes),
        "describe": dict(item.snapshot.raw),
        "points": points,
    }
    return json.dumps(body, indent=2, default=_plain)


def parse_record(text: str, *, where: str = "record") -> JobRecord:
    """Read ``dump_record``'s JSON. Raises SmTrnError when it is something else."""
    try:
        body: Mapping[str, Any] = json.loads(text)
        if body["schema"] != SCHEMA:
            raise SmTrnError(
                f"{where}: got schema {body['schema']!r}, wanted {SCHEMA}; save it again with this version"
            )
        return JobRecord(
            snapshot=parse_snapshot(body["describe"]),
            points=tuple(MetricPoint(**{**point, "value": float(point["value"])}) for point in body["points"]),
            origin=Origin(body["origin"]),
            label=body["label"],
            workload=body.get("workload", ""),
            source=body.get("source", ""),
            notes=tuple(body.get("notes", ())),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SmTrnError(
            f"{where}: not a job record ({type(error).__name__}: {error}); wanted the JSON of a saved job"
        ) from error


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} cannot be saved in a record")
