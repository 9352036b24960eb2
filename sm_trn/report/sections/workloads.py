"""Which jobs did the same work: only those share a section and are compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from ...core.specs.record import JobRecord


def told_apart(records: Sequence[JobRecord], labels: Sequence[str]) -> list[JobRecord]:
    """The records; where scripts of one name read different data, the first job's label is added to the name of the workload.

    A workload that somebody named stays as it is.
    """
    firsts: dict[str, dict[frozenset[tuple[str, str]], str]] = {}
    for record, label in zip(records, labels, strict=True):
        firsts.setdefault(record.workload, {}).setdefault(_data(record), label)
    return [
        replace(record, workload=f"{record.workload}, as {firsts[record.workload][_data(record)]}")
        if record.workload == PurePosixPath(record.snapshot.program).stem and len(firsts[record.workload]) > 1
        else record
        for record in records
    ]


def _data(record: JobRecord) -> frozenset[tuple[str, str]]:
    """Each channel with what it reads, S3 or a file system; buckets are left out, since each region has its own."""
    return frozenset(
        (
            str(channel.get("ChannelName", "")),
            str(source.get("S3Uri", "")).removeprefix("s3://").partition("/")[2].rstrip("/")
            or f"{source.get('FileSystemId', '')}/{source.get('DirectoryPath', '')}",
        )
        for channel in record.snapshot.raw.get("InputDataConfig") or ()
        for source in (channel.get("DataSource") or {}).values()
    )
