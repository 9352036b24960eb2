"""What keeps a job from being resumed, as problems: asked of a job that exists, so these are no rules of ``check``."""

from __future__ import annotations

from collections.abc import Iterator

from ..specs.data import Checkpoint
from ..specs.job import JobSpec
from ..specs.problems import Advice, AnyOf, Change, Field, Problem, rules_of
from ..specs.snapshot import JobSnapshot, JobStatus

_RULES = rules_of(__package__)


def resuming(job: JobSpec, snapshot: JobSnapshot, stored: int | None) -> Iterator[Problem]:
    """SPOT010, SPOT011, SPOT012, SPOT013: only a job that has ended unfinished, with checkpoints in S3, can go on from them.

    ``stored`` is how many objects lie there; None when nobody has looked.
    """
    if not snapshot.terminal:
        yield _RULES["SPOT010"].problem(
            Field("status"),
            "the job has not ended",
            consequence="two jobs would write the same checkpoints",
            got=f"{snapshot.status_word} / {snapshot.secondary}",
            wanted="Stopped or Failed",
            fix=Advice(f"sm-trn stop {snapshot.name}, or wait for it: an interrupted spot job goes on by itself"),
        )
    elif snapshot.status is JobStatus.COMPLETED:
        yield _RULES["SPOT012"].problem(
            Field("status"),
            "the job has finished",
            consequence="there is nothing to go on with",
            got=snapshot.status_word,
            wanted="Stopped or Failed",
            fix=Advice("resubmit it with more to do"),
        )
    if job.checkpoints is None:
        yield _RULES["SPOT011"].problem(
            Field("checkpoint"),
            "the job keeps no checkpoints in S3: it would start again at step 0",
            got="no CheckpointConfig",
            wanted="checkpoint_s3_uri when it was launched",
            fix=AnyOf(
                "resubmit it",
                Change("for the next time", checkpoint=Checkpoint(s3_uri="s3://your-bucket/checkpoints")),
            ),
        )
    elif stored == 0:
        yield _RULES["SPOT013"].problem(
            Field("checkpoint"),
            "the job has left no checkpoint: it would start again at step 0",
            got=f"no objects in {job.checkpoints.s3_uri}",
            wanted="what the script saves",
            fix=Advice("resubmit it; resume it all the same with ignore=('SPOT013',)"),
        )
