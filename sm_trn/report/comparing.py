"""The record of whatever names a job – a handle, a file, a published pair – and the differences between two jobs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..core.errors import UnknownName
from ..core.render.differences import Diff
from ..core.render.differences import diff as compared
from ..core.session.handles import TrainingJob
from ..core.specs.job import JobSpec, expect_spec
from ..core.specs.record import JobRecord, parse_record
from ..core.specs.value import misfit, suggestion
from .published import published_names, published_record

Side = JobSpec | TrainingJob | Mapping[str, Any]


def as_record(job: TrainingJob | JobRecord | str | Path) -> JobRecord:
    """Return the record of a handle, of a file, or of a published pair (``published/bert-trn1``). Raises UnknownName for
    a text that names neither, TypeError for anything else."""
    if isinstance(job, JobRecord):
        return job
    if isinstance(job, TrainingJob):
        return job.record()
    if not isinstance(job, (str, Path)):
        raise TypeError(f"job: {misfit(job, 'a TrainingJob, a JobRecord, the file of one, or a published name')}")
    published = published_record(str(job))
    if published is not None:
        return published
    path = Path(job)
    if not path.is_file():
        names = published_names()
        raise UnknownName(
            f"job: got {str(job)!r}, wanted a TrainingJob, the file of a saved record, or one of {', '.join(names)}"
            f"{suggestion(str(job), names)}"
        )
    return parse_record(path.read_text("utf-8", errors="replace"), where=str(path))


def diff(before: Side, after: Side) -> Diff:
    """What ``after`` asks for that ``before`` does not: specs, live jobs, requests or describe answers, in any mixture.

    Hyperparameters are compared by value, and what the service adds equals what was not sent. A spec is compared with a job as
    if it had gone to the same account and bucket; what is in its source and local data is then not compared. Raises CloudError.
    """
    for side in (before, after):
        if not isinstance(side, (TrainingJob, Mapping)):
            expect_spec(side)
    one, two = (side.request() if isinstance(side, TrainingJob) else side for side in (before, after))
    titles = [
        side.name if isinstance(side, (TrainingJob, JobSpec)) else str(side.get("TrainingJobName"))
        for side in (before, after)
    ]
    return compared(one, two, names=(titles[0], titles[1]))
