"""A spot rehearsal: the same job twice on this machine, once left alone, once interrupted, and whether that made a difference."""

from __future__ import annotations

import dataclasses
import random
import secrets
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType

from ..core.errors import EmulatorError, JobFailed
from ..core.formatting.cards import HasCard
from ..core.formatting.missing import Missing
from ..core.logs.events import LogEvent
from ..core.logs.metrics import points
from ..core.logs.script import SIMULATED
from ..core.ports import LogCursor
from ..core.session.handles import Session, TrainingJob
from ..core.specs.compute import Spot
from ..core.specs.data import bucket_and_key
from ..core.specs.job import JobSpec
from ..core.specs.metrics import MetricPoint
from ..core.specs.snapshot import JobSnapshot, JobStatus
from ..core.status import why_command

LOOK_S = 0.2
WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".npz")
_TIMES = ("_runtime", "_per_second", "_time")
NOT_WEIGHTS = frozenset({"training_args.bin"})  # holds paths and times of the run


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal(HasCard):
    """What interruptions did to a job. ``files`` says of each file of the model whether both runs wrote the same bytes.

    ``redone`` is how many steps were done again, at most; None when the log names no steps.
    ``doubt`` says why nothing shows that it resumed; it is empty where its steps, or epochs, went on from a checkpoint.
    ``evaluations`` holds the last value of every ``eval_…`` metric, of the plain run and of the interrupted one. ``simulated`` is the
    log's line about a simulated device, or empty.
    """

    plain: str
    interrupted: str
    wanted: int
    interruptions: int
    steps: int | None
    redone: int | None
    doubt: str
    files: Mapping[str, bool]
    evaluations: Mapping[str, tuple[float, float | None]]
    simulated: str = ""

    @property
    def weights(self) -> tuple[str, ...]:
        """The files that hold the model's weights; every file when none looks like it."""
        found = tuple(
            name for name in self.files if name.endswith(WEIGHTS) and name.rsplit("/", 1)[-1] not in NOT_WEIGHTS
        )
        return found or tuple(self.files)

    @property
    def identical(self) -> bool:
        """Whether every weight is bitwise what it would have been without interruptions."""
        return bool(self.weights) and all(self.files[name] for name in self.weights)

    def __str__(self) -> str:
        """The sentences, marked as emulated."""
        return "EMULATED " + "\n".join(self.sentences())

    def sentences(self) -> list[str]:
        """What the interruptions did, on this machine."""
        times = f"{self.interruptions} time{'' if self.interruptions == 1 else 's'}"
        lines = [f"on this machine: {self.interrupted} was interrupted {times}, {self.plain} never."]
        lines += filter(None, [self.simulated])
        if self.interruptions < self.wanted:
            lines.append(f"{self.wanted - self.interruptions} more were wanted; the job had ended before.")
        if self.doubt:
            return [*lines, f"Nothing was resumed: {self.doubt}."]
        different = [name for name in self.weights if not self.files[name]]
        if self.identical:
            lines.append(f"The weights are bitwise identical ({', '.join(self.weights)}).")
        elif different:
            lines.append(
                f"The weights DIFFER ({', '.join(different)}): what this job learns depends on its interruptions."
            )
        else:
            lines.append("Cannot compare weights: the script saved no model. Save it to the folder in SM_MODEL_DIR.")
        for name, (alone, cut) in self.evaluations.items():
            if alone != cut:
                lines.append(f"{name}: {alone} left alone, {cut} interrupted.")
        if self.redone == 0:
            lines.append(f"None of {self.steps} steps was done again.")
        elif self.redone is not None:
            lines.append(f"At most {self.redone} of {self.steps} steps were done again, as far as the log tells.")
        return lines


def rehearse(
    job: JobSpec,
    session: Session,
    *,
    interruptions: int = 2,
    seed: int = 0,
    notice: bool = True,
    state: str | Path | None = None,
    tell: Callable[[str], None] = print,
) -> Rehearsal:
    """Run ``job`` in the emulator of ``session``, left alone and interrupted ``interruptions`` times, and compare what it learned.

    A job that is not on spot is rehearsed as if it were. Interruptions come at random steps (``seed``), without ``notice``
    as a SIGKILL. ``tell`` hears what is going on, for it takes as long as two runs. Raises InvalidJob when the job is not
    launchable, JobFailed when a run does not complete, ValueError for less than one interruption.
    """
    if interruptions < 1:
        raise ValueError(f"interruptions: got {interruptions!r}, wanted at least 1")
    token = secrets.token_hex(4)
    alone = session.submit(_on_spot(job, "plain", f"s3://{session.bucket}/sm_trn/rehearsals/{token}/plain"))
    tell(f"1/2  {alone.name} runs, left alone")
    plain = _completed(alone, session.wait([alone], progress=False)[0])
    found = alone.points()
    unit = next((name for name in ("step", "epoch") if len(set(_counts(found, name))) > 1), "second")
    moments = _moments(found, plain, unit, interruptions, seed)
    cut = session.submit(_on_spot(job, "cut", f"s3://{session.bucket}/sm_trn/rehearsals/{token}/cut"))
    tell(f"2/2  {cut.name} runs; to be interrupted after {unit} {', '.join(f'{at:.4g}' for at in moments)}")
    happened, kept = _cut(session, cut, moments, unit=unit, notice=notice, state=state, tell=tell)
    ended = _completed(cut, cut.snapshot())
    events = list(cut.logs())
    starts = _starts(events, ended, unit)
    last = {point.name: point.value for point in points(events)}
    evaluations = {
        point.name: (point.value, last.get(point.name))
        for point in found
        if point.name.startswith("eval_") and not point.name.endswith(_TIMES)
    }
    return Rehearsal(
        plain=alone.name,
        interrupted=cut.name,
        wanted=interruptions,
        interruptions=happened,
        steps=int(max(_counts(found, unit))) if unit == "step" else None,
        redone=redone_steps(starts) if unit == "step" else None,
        doubt=doubt_of(starts, kept=kept, kept_later=_has_checkpoint(session, cut)),
        files=_compared(session, plain, ended),
        evaluations=MappingProxyType(evaluations),
        simulated=next((line.text.partition(": ")[2] for line in events if line.text.startswith(SIMULATED)), ""),
    )


def _has_checkpoint(session: Session, job: TrainingJob) -> bool:
    """Return True if the job has a checkpoint to go on from."""
    place = bucket_and_key(job.spec.checkpoints.s3_uri if job.spec.checkpoints else "")
    if place is None or session.boto_session is None:
        return False
    found = session.boto_session.client("s3").list_objects_v2(Bucket=place[0], Prefix=place[1], MaxKeys=1)
    return bool(found["KeyCount"])


def doubt_of(starts: Sequence[Sequence[float]], *, kept: bool, kept_later: bool) -> str:
    """Why nothing shows that an interrupted job resumed. ``starts`` are the steps or epochs that each start of its script logged;
    ``kept`` says whether there was a checkpoint after an interruption, ``kept_later`` whether there was one at the end."""
    first = [min(counts) for counts in starts if counts]
    if len(starts) < 2:
        return "it ended before it was interrupted"
    if not kept_later:
        return "no checkpoint was written, every step was redone"
    if not kept:
        return "the first checkpoint came after the last interruption; try more --interruptions"
    if not first:
        return "its log names neither steps nor epochs, which would show it"
    if max(first) <= first[0]:
        return f"checkpoints were written, and each start began again at {first[0]:g}"
    return ""


def redone_steps(attempts: Sequence[Sequence[float]]) -> int | None:
    """How many steps were done again, at most: ``attempts`` are the steps that each start of the script logged, in order.

    A log that speaks every ``n`` steps leaves up to ``n - 1`` open before an interruption and as many after it: they count.
    None when no steps were logged.
    """
    logged = [sorted({int(step) for step in steps}) for steps in attempts if steps]
    if not logged:
        return None
    every = min((after - before for steps in logged for before, after in pairwise(steps)), default=1)
    return sum(max(0, before[-1] - after[0] + 2 * every - 1) for before, after in pairwise(logged))


def _starts(events: Iterable[LogEvent], snapshot: JobSnapshot, unit: str) -> list[list[float]]:
    """The steps, or epochs, that each start of the script logged."""
    began = [item.started.timestamp() for item in snapshot.transitions if item.status == "Training"]
    lines: list[list[LogEvent]] = [[] for _ in began]
    for event in events:
        lines[max(0, bisect_right(began, event.time_s) - 1)].append(event)
    read = [[point for point in points(each) if not point.name.startswith(("eval_", "train_"))] for each in lines]
    return [_counts(each, unit) for each in read]


def _on_spot(job: JobSpec, suffix: str, checkpoints: str) -> JobSpec:
    kept = job.checkpoints
    spot = Spot(
        max_wait_s=job.spot.max_wait_s if job.spot else 2 * job.max_run_s,
        checkpoint_s3_uri=checkpoints,
        checkpoint_local_path=kept.local_path if kept else None,
    )
    compute = dataclasses.replace(job.compute, keep_alive_s=None)
    return job.replace(name=f"{job.name[:40]}-{suffix}", spot=spot, checkpoint=None, compute=compute)


def _completed(job: TrainingJob, snapshot: JobSnapshot) -> JobSnapshot:
    if snapshot.status is not JobStatus.COMPLETED:
        raise JobFailed(
            f"{job.name} ended as {snapshot.status_word}: {snapshot.failure_reason or Missing.NO_REASON}. "
            f"Next: {why_command(job.name)}",
            operation="TrainingJob",
            code=snapshot.status_word,
        )
    return snapshot


def _counts(found: Iterable[MetricPoint], unit: str) -> list[float]:
    """The steps that the points name; for another unit the epochs."""
    counts = [point.step if unit == "step" else point.epoch for point in found]
    return [count for count in counts if count is not None]


def _moments(found: Sequence[MetricPoint], plain: JobSnapshot, unit: str, count: int, seed: int) -> list[float]:
    """Steps, epochs or seconds of training at which to interrupt: random, growing."""
    chance = random.Random(seed)  # noqa: S311 - a schedule that can be repeated, not a secret
    if unit == "step":
        span = range(1, max(2, int(max(_counts(found, unit)))))
        return sorted(float(step) for step in chance.sample(span, min(count, len(span))))
    last = (
        _trained(plain, 0.0) if unit == "second" else sorted(set(_counts(found, unit)))[-2]
    )  # the very last is the end
    return sorted(chance.uniform(0.0, last) for _ in range(count))


def _cut(
    session: Session,
    job: TrainingJob,
    moments: list[float],
    *,
    unit: str,
    notice: bool,
    state: str | Path | None,
    tell: Callable[[str], None],
) -> tuple[int, bool]:
    """Follow the job to its end and interrupt it when it gets to each moment; how often that happened, and whether there was a checkpoint
    to go on from."""
    from .. import emulator  # noqa: PLC0415 - `import sm_trn` loads no emulator

    folder = Path(state) if state is not None else None
    waiting, cursor, since, happened, resumed = list(moments), LogCursor(), 0.0, 0, False
    while not (now := job.snapshot()).terminal:
        events, cursor = session.logs.fetch_events(job.name, cursor)
        since = _trained(now, session.clock.now()) if unit == "second" else max([since, *_counts(points(events), unit)])
        if waiting and now.secondary == "Training" and since >= waiting[0]:
            try:
                emulator.interrupt(job.name, folder, notice=notice)
            except EmulatorError:  # it left Training between our look and our word
                session.clock.sleep(LOOK_S)
                continue
            tell(f"     interrupted after {unit} {since:.4g}; it starts again")
            happened, since = happened + 1, 0.0
            waiting.pop(0)
            before = now.interruptions  # until it shows: else the same attempt would be interrupted twice
            while not (now := job.snapshot()).terminal and now.secondary == "Training" and now.interruptions == before:
                session.clock.sleep(LOOK_S)
            resumed = resumed or _has_checkpoint(session, job)
        session.clock.sleep(LOOK_S)
    return happened, resumed


def _trained(now: JobSnapshot, time_s: float) -> float:
    """Seconds of training of all attempts so far."""
    return sum(
        (item.ended.timestamp() if item.ended else time_s) - item.started.timestamp()
        for item in now.transitions
        if item.status == "Training"
    )


def _compared(session: Session, plain: JobSnapshot, ended: JobSnapshot) -> Mapping[str, bool]:
    from ..core.aws.artefacts import model_digests  # noqa: PLC0415 - `import sm_trn` loads no boto3

    if not plain.model_s3_uri or not ended.model_s3_uri:
        return MappingProxyType({})
    ours, theirs = (model_digests(session.boto_session, uri) for uri in (plain.model_s3_uri, ended.model_s3_uri))
    return MappingProxyType({name: ours.get(name) == theirs.get(name) for name in sorted(ours.keys() | theirs.keys())})
