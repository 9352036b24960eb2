"""What keeps a job from being resumed, as problems: asked of a job that exists, so these are no rules of ``check``."""

from __future__ import annotations

from collections.abc import Iterator

from ..specs import JobSnapshot, JobSpec, JobStatus, Problem, Severity


def resuming(job: JobSpec, snapshot: JobSnapshot, stored: int | None) -> Iterator[Problem]:
    """SPOT010, SPOT011, SPOT012, SPOT013: only a job that has ended unfinished, with checkpoints in S3, can go on from them.

    ``stored`` is how many objects lie there; None when nobody has looked.
    """
    if not snapshot.terminal:
        yield Problem(
            id="SPOT010",
            severity=Severity.ERROR,
            where="status",
            what="the job has not ended; two jobs would write the same checkpoints",
            got=f"{snapshot.status_word} / {snapshot.secondary}",
            wanted="Stopped or Failed",
            fix=f"sm-trn stop {snapshot.name}, or wait for it: an interrupted spot job goes on by itself",
        )
    elif snapshot.status is JobStatus.COMPLETED:
        yield Problem(
            id="SPOT012",
            severity=Severity.ERROR,
            where="status",
            what="the job has finished; there is nothing to go on with",
            got=snapshot.status_word,
            wanted="Stopped or Failed",
            fix="resubmit it with more to do",
        )
    if job.checkpoints is None:
        yield Problem(
            id="SPOT011",
            severity=Severity.ERROR,
            where="checkpoint",
            what="the job keeps no checkpoints in S3: it would start again at step 0",
            got="no CheckpointConfig",
            wanted="checkpoint_s3_uri when it was launched",
            fix="resubmit it, with checkpoint=Checkpoint(s3_uri='s3://your-bucket/checkpoints') for the next time",
            evidence="API reference, CheckpointConfig",
        )
    elif stored == 0:
        yield Problem(
            id="SPOT013",
            severity=Severity.ERROR,
            where="checkpoint",
            what="the job has left no checkpoint: it would start again at step 0",
            got=f"no objects in {job.checkpoints.s3_uri}",
            wanted="what the script saves",
            fix="resubmit it; resume it all the same with ignore=('SPOT013',)",
        )
