"""Which jobs did the same work: only those share a section and are compared. Knows no figure and no page.

A job's workload is its script's name, and two scripts may share one. Jobs did the same work if they read the same data, and ran
the same source or one that takes the same arguments: an edited script still does the same work.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from ...core.specs.record import JobRecord


@dataclass(frozen=True, slots=True)
class _Work:
    """What a job ran, on what; buckets are left out, since each region has its own."""

    program: str
    source: str
    arguments: frozenset[str]
    data: frozenset[tuple[str, str]]

    def same(self, other: _Work) -> bool:
        known = self.program == other.program and self.data == other.data
        return known and (self.source == other.source or self.arguments == other.arguments)


def told_apart(records: Sequence[JobRecord], labels: Sequence[str]) -> list[JobRecord]:
    """The records; where one name of a script stands for unrelated work, the first job's label is added to the name.

    A workload that somebody named stays as it is.
    """
    groups: dict[str, list[tuple[str, list[_Work]]]] = {}
    place: list[tuple[str, str] | None] = []
    for record, label in zip(records, labels, strict=True):
        name = record.workload
        if not name or name != PurePosixPath(record.snapshot.program).stem:
            place.append(None)
            continue
        work, known = _work(record), groups.setdefault(name, [])
        found = next((group for group in known if any(work.same(other) for other in group[1])), None)
        if found is None:
            found = (label, [])
            known.append(found)
        found[1].append(work)
        place.append((name, found[0]))
    return [
        replace(record, workload=f"{at[0]}, as {at[1]}") if at is not None and len(groups[at[0]]) > 1 else record
        for record, at in zip(records, place, strict=True)
    ]


def _work(record: JobRecord) -> _Work:
    job = record.snapshot
    return _Work(
        program=job.program,
        source=_key(_told(job.hyperparameters.get("sagemaker_submit_directory", ""))),
        arguments=frozenset(name for name in job.hyperparameters if not name.startswith("sagemaker_")),
        data=frozenset(
            (str(channel.get("ChannelName", "")), _key(str(source)))
            for channel in job.raw.get("InputDataConfig") or ()
            for source in _sources(channel.get("DataSource") or {})
        ),
    )


def _sources(data: dict[str, dict[str, object]]) -> list[object]:
    """Where a channel reads from: S3, or a file system and its folder."""
    return [
        part.get("S3Uri") or f"{part.get('FileSystemId', '')}/{part.get('DirectoryPath', '')}" for part in data.values()
    ]


def _key(uri: str) -> str:
    return uri.removeprefix("s3://").partition("/")[2].rstrip("/") if uri.startswith("s3://") else uri


def _told(text: str) -> str:
    try:
        return str(json.loads(text))
    except ValueError:
        return text
