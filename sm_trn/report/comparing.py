"""From whatever names jobs – handles, records, files, published pairs – to a comparison; and what differs between two of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.errors import UnknownName
from ..core.pricing.book import PriceBook
from ..core.render.differences import Diff
from ..core.render.differences import diff as compared
from ..core.session.defaults import expect_region, known_prices
from ..core.session.handles import TrainingJob
from ..core.session.names import short_names
from ..core.specs.job import JobSpec, expect_spec
from ..core.specs.record import JobRecord, parse_record
from ..core.specs.value import misfit, suggestion

if TYPE_CHECKING:
    from .comparison.compare import Comparison


Side = JobSpec | TrainingJob | Mapping[str, Any]


def compare(
    jobs: Sequence[TrainingJob | JobRecord | str | Path],
    *,
    baseline: str | None = None,
    at: date | str | None = None,
    region: str | None = None,
    book: PriceBook | None = None,
) -> Comparison:
    """Live jobs, records, files of records, or names of published records side by side.

    ``baseline`` is a job's label, or what was given for it in ``jobs``. ``at`` re-prices everything at that date, ``region`` in
    another region; ``book`` None is ``known_prices()``. Raises UnknownName for a name that is none of these, NotConfigured
    for a region that AWS does not have, ValueError for an ``at`` that is no date.
    """
    from .comparison.compare import compare as side_by_side  # noqa: PLC0415 - pandas stays out of `import sm_trn`

    if region is not None:
        expect_region(region)
    several = [jobs] if isinstance(jobs, (str, Path, JobRecord, TrainingJob)) else jobs
    whole = [as_record(job) for job in several]
    short = short_names(record.label for record in whole)
    records = [replace(each, label=short[each.label]) if each.label == each.snapshot.name else each for each in whole]
    named = {record.label: short.label for record, short in zip(whole, records, strict=True)}
    named |= {str(job): short.label for job, short in zip(several, records, strict=True) if job == baseline}
    if baseline is not None:
        baseline = named.get(baseline, baseline)
    prices = book or known_prices()
    return side_by_side(records, baseline=baseline, at=at, region=region, book=prices)


def as_record(job: TrainingJob | JobRecord | str | Path) -> JobRecord:
    """Return the record of a handle, of a file, or of a published pair (``published/bert-trn1``). Raises UnknownName for
    a text that names neither, TypeError for anything else."""
    from .published import published_names, published_record  # noqa: PLC0415 - see compare

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
