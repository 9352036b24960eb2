"""What the request of an attached job no longer says, because the spec was changed, as problems.

Ids TARGET150 to TARGET199. A kept part is about what the spec rendered when it was attached; when that is changed, the change wins.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import UnknownName
from ..specs.destination import Destination
from ..specs.job import JobSpec
from ..specs.kept import Kept
from ..specs.problems import Advice, Field, Problem, rules_of
from . import passthrough, request
from .keeping import kept_parts, restored

_PREVIEW = Destination()
_ELSEWHERE = Destination(
    role="arn:aws:iam::111122223333:role/other", bucket="other", job_name="other", source_uri="s3://other/s"
)
_TOLD = "/HyperParameters/sagemaker_region"

_RULES = rules_of(__package__)


def problems(job: JobSpec) -> Iterator[Problem]:
    """TARGET150: a kept part gives way to what the spec says now."""
    lost = given_up(job)
    if lost:
        yield _RULES["TARGET150"].problem(
            Field("kept"),
            "the spec was changed where a part of the original request was kept: the change is sent, the kept part is not",
            got=passthrough.listed(lost),
            fix=Advice("nothing, if that is meant"),
        )


def given_up(job: JobSpec) -> tuple[Kept, ...]:
    """The kept parts that are not sent any more, wherever the job goes."""
    if not job.kept:
        return ()
    try:
        here, there = request.typed(job, _PREVIEW), request.typed(job, _ELSEWHERE)
    except UnknownName:
        return ()  # no image: there is no request at all
    moving = {_TOLD, *(part.at for part in kept_parts(here, there))}
    return tuple(part for part in restored(here, job.kept)[1] if part.at not in moving)
