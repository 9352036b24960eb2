"""From a job that exists to the spec it was made of: read from the service, and checked against what submit wrote beside it.

Submit writes the spec as it was asked to ``s3://<bucket>/sm_trn/jobs/<job>/spec.json``. At attach it is believed only where it
renders the job's own request; otherwise the spec is derived from that request. It must not launch anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from .. import _entry
from ..errors import InvalidJobFile, SmTrnError
from ..jobfile.files import load_jobs
from ..ports import Storage
from ..render.differences import placed_as
from ..render.from_describe import as_request, destination_of
from ..render.from_request import parse_request
from ..render.request import render
from ..specs.destination import Destination, spec_key
from ..specs.job import JobSpec, Script
from ..specs.kept import json_text
from .cloud import Cloud

T = TypeVar("T")
_BUCKET: Final = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Attached:
    """A job read back from the service: its request, its destination, and the spec that renders the one at the other."""

    request: Mapping[str, Any]
    at: Destination
    spec: JobSpec


def fetch_attached(cloud: Cloud, job_name: str) -> Attached:
    """Read a job's request and spec: DescribeTrainingJob, ListTags, and one object of S3. Raises CloudError."""
    snapshot = cloud.backend.fetch_snapshot(job_name)
    request = as_request(snapshot.raw, cloud.backend.fetch_tags(snapshot.arn))
    at = destination_of(request, region=snapshot.region or cloud.region)
    source = (at.source_uri or "").removeprefix("s3://").partition("/")[0]
    buckets = dict.fromkeys(name for name in (source, cloud.bucket, at.bucket) if _BUCKET.fullmatch(name))
    written = (_written(cloud.storage, bucket, job_name, request, at) for bucket in buckets)
    spec = next((spec for spec in written if spec is not None), None)
    if spec is not None:  # the tags in the order that was asked: ListTags tells them in any order
        return Attached(request=render(spec, at=at), at=at, spec=spec)
    return Attached(request=request, at=at, spec=parse_request(request, at=at))


def once(memory: dict[str, Any], key: str, make: Callable[[], T]) -> T:
    """The remembered value, made when it is first asked for."""
    if key not in memory:
        memory[key] = make()
    found: T = memory[key]
    return found


def _written(
    storage: Storage, bucket: str, job_name: str, request: Mapping[str, Any], at: Destination
) -> JobSpec | None:
    """The spec in a bucket, if there is one and it renders the request of the job."""
    text = storage.fetch_text(f"s3://{bucket}/{spec_key(job_name)}")
    if text is None:
        return None
    try:
        (job,) = load_jobs(text, "json")
        placed = placed_as(job, request)
        rendered = as_request(render(placed, at=at))
    except (InvalidJobFile, SmTrnError, ValueError):
        return None  # of another version, or not ours
    if _plain(rendered) != _plain(request):
        return None
    return placed.replace(script=_script(placed.script, at))


def _plain(request: Mapping[str, Any]) -> str:
    """A request's text; the order in which ListTags tells the tags means nothing."""
    tags = sorted(request.get("Tags", ()), key=lambda tag: str(tag["Key"]))
    return json_text({**request, "Tags": tags})


def _script(script: Script | None, at: Destination) -> Script | None:
    """As it was asked where the folder still has the same content; else the source that was uploaded."""
    if script is None or script.git is not None or (script.source_dir or "").startswith("s3://"):
        return script
    folder = Path(script.source_dir) if script.source_dir is not None else _entry.scripts_folder()
    if at.source_uri is None or f"/{_digest(folder, script.dependencies)}/" in at.source_uri:
        return script
    return Script(script.entry, source_dir=at.source_uri)


def _digest(folder: Path, dependencies: Sequence[str]) -> str:
    from ..aws.storage import source_digest  # noqa: PLC0415 - `import sm_trn` loads no boto3

    try:
        return source_digest(folder, dependencies) if folder.is_dir() else "no such folder"
    except (OSError, SmTrnError):
        return "not readable, or not a source"
