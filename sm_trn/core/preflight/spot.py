"""SPOT rules, SCRIPT009 and SCRIPT024: interruptions, and what a job leaves beside the places that SageMaker keeps.

Of a source only places that it writes out count; where one is computed, nothing is said.
"""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..catalog import limits
from ..specs.compute import Spot
from ..specs.data import Checkpoint, bucket_and_key
from ..specs.job import JobSpec
from ..specs.problems import Advice, AnyOf, Change, Field, Line, Problem, rules_of
from . import reading, source

HOUR_S = 3600
# Where a request says it, beside what a spec has words for.
WAIT, ASKED = "/StoppingCondition/MaxWaitTimeInSeconds", "/EnableManagedSpotTraining"

# API reference, CheckpointConfig.LocalPath; developer guide, "Amazon SageMaker Training Storage Folders".
CHECKPOINTS, MODEL, CODE = "/opt/ml/checkpoints", "/opt/ml/model", "/opt/ml/code"
SAVE_STEPS = 500  # transformers, TrainingArguments.save_steps
TRAINER_FLAGS = frozenset({"save_strategy", "save_steps", "save_total_limit", "overwrite_output_dir", "do_train"})
# Which argument of a call is the place that is saved to, by the end of its name.
_SAVES = {"torch.save": 1, "joblib.dump": 1, "save_file": 1, "save_pretrained": 0, "save_model": 0}
# Words of a source that may keep what it saves otherwise than by its place.
_KEEPS = re.compile(
    r"SM_MODEL_DIR|SM_OUTPUT|SM_TRAINING_ENV|/opt/ml/(?:model|output)|sagemaker_(?:training|containers)|boto3|s3fs|s3://|fsspec|smart_open"
    r"|push_to_hub|hub_model_id|[Uu]pload|mlflow|log_artifact|log_model|subprocess|Popen|os\.system|os\.exec|runpy|aws s3|copytree|move\("
)

if TYPE_CHECKING:
    from ..specs.snapshot import JobSnapshot
_LOOKS_FIRST = re.compile(r"check_?point|ckpt|exist|is_?dir|is_?file|listdir|glob|resum|last|len\(", re.IGNORECASE)
_RULES = rules_of(__package__)


def wait_shorter_than_run(job: JobSpec) -> Iterator[Problem]:
    """SPOT001: max_wait covers waiting and running. The SDK sends it, the service refuses it."""
    if job.spot is not None and job.spot.max_wait_s < job.max_run_s:
        yield _RULES["SPOT001"].problem(
            Field("spot.max_wait_s"),
            "max_wait_s is shorter than max_run_s",
            got=f"{job.spot.max_wait_s:,} s",
            wanted=f"at least {job.max_run_s:,} s",
            fix=Change(max_wait_s=job.max_run_s + HOUR_S),
        )


def wait_without_spot(job: JobSpec) -> Iterator[Problem]:
    """SPOT008: a request that waits for spot but does not ask for it; the service refuses it."""
    wait, spot = job.kept_at(WAIT), job.kept_at(ASKED) is True
    if job.spot is None and wait is not None and not spot:
        yield _RULES["SPOT008"].problem(
            Field("spot"),
            "the request has a longest wait for spot, but does not ask for spot",
            got=f"MaxWaitTimeInSeconds {wait!r} and no EnableManagedSpotTraining",
            wanted="both, or neither",
            fix=Change("or leave it out of kept", spot=Spot(max_wait_s=wait))
            if type(wait) is int and wait > 0
            else Advice("leave it out of kept"),
        )


def spot_without_wait(job: JobSpec) -> Iterator[Problem]:
    """SPOT009: a request that asks for spot must say how long it waits, and at least as long as it runs."""
    wait = job.kept_at(WAIT)
    long_enough = type(wait) is int and wait >= job.max_run_s
    if job.spot is None and job.kept_at(ASKED) is True and not long_enough:
        yield _RULES["SPOT009"].problem(
            Field("spot"),
            "the request asks for spot without a longest wait that covers the run",
            got=f"MaxWaitTimeInSeconds {wait!r}" if wait is not None else "no MaxWaitTimeInSeconds",
            wanted=f"at least {job.max_run_s:,} s",
            fix=Change(spot=Spot(max_wait_s=job.max_run_s + HOUR_S)),
        )


def checkpoint_uri(job: JobSpec) -> Iterator[Problem]:
    """SPOT002: a checkpoint place that is not in S3."""
    uri = job.spot.checkpoint_s3_uri if job.spot else None
    if uri is not None and not (limits.matches("S3Uri", uri) and bucket_and_key(uri)):
        yield _RULES["SPOT002"].problem(
            Field("spot.checkpoint_s3_uri"),
            "checkpoints are kept in S3",
            got=repr(uri),
            wanted="s3://bucket/prefix",
            fix=Change(checkpoint_s3_uri=f"s3://your-bucket/checkpoints/{job.name}"),
        )


def local_path_alone(job: JobSpec) -> Iterator[Problem]:
    """SPOT003: a local checkpoint path without S3 is dropped silently by the SDK."""
    if job.spot is not None and job.spot.checkpoint_local_path and not job.spot.checkpoint_s3_uri:
        yield _RULES["SPOT003"].problem(
            Field("spot.checkpoint_local_path"),
            "a local checkpoint path does nothing without checkpoint_s3_uri",
            got=repr(job.spot.checkpoint_local_path),
            wanted="checkpoint_s3_uri beside it",
            fix=Change(checkpoint_s3_uri=f"s3://your-bucket/checkpoints/{job.name}"),
        )


def no_checkpoint(job: JobSpec) -> Iterator[Problem]:
    """SPOT004: legal, and every interruption starts at step 0."""
    if job.spot is None or job.checkpoints is not None:
        return
    yield _RULES["SPOT004"].problem(
        Field("spot"),
        "an interruption would start again at step 0",
        got="checkpoint_s3_uri is not set",
        wanted="a place for checkpoints",
        fix=Change(checkpoint_s3_uri=f"s3://your-bucket/checkpoints/{job.name}"),
    )


def two_places(job: JobSpec) -> Iterator[Problem]:
    """SPOT007: a job has one place for checkpoints; of two, the spot's is taken."""
    if job.checkpoint is None or job.checkpoints in {None, job.checkpoint}:
        return
    yield _RULES["SPOT007"].problem(
        Field("checkpoint"),
        "checkpoints are given two places",
        got=f"{job.checkpoint.s3_uri!r} beside the spot's own",
        wanted="one of them",
        fix=Advice("leave checkpoint out, or spot.checkpoint_s3_uri"),
    )


@dataclass(frozen=True, slots=True)
class Result:
    """A call that saves, and its place as a path of the container; None where that is computed."""

    where: Line
    call: str
    place: str | None


def results(job: JobSpec) -> tuple[Result, ...]:
    """Return what the job's source saves, and the folder of its Trainer."""
    if not _own(job):
        return ()
    literals, found = reading.literals(job), list[Result]()
    for path, call in literals.calls:
        name = ast.unparse(call.func)
        position = next((at for end, at in _SAVES.items() if f".{name}".endswith(f".{end}")), None)
        trainer = name.endswith(reading.TRAINERS) and ".train(" in literals.text
        if position is None and not trainer:
            continue
        named = {each.arg: each.value for each in call.keywords}
        place = named.get("output_dir") if trainer else named.get("f", named.get("save_directory"))
        place = place or next(iter(call.args[position or 0 :]), None)
        if place is None and name.endswith("save_model"):
            continue  # to the folder of its Trainer
        known = literals.place(place) if place is not None else literals.sent.get("output_dir")
        found.append(Result(Line(path.name, call.lineno), name, _in_container(known)))
    if "output_dir" in literals.sent and re.search(r"(?s)(?:HfArgument|Trl)Parser.*\.train\(", literals.text):
        found.append(Result(Line(source.entry_name(job), 1), "the Trainer", _in_container(literals.sent["output_dir"])))
    return tuple(found)


def no_model(job: JobSpec) -> Iterator[Problem]:
    """SCRIPT024: what is saved elsewhere than in SM_MODEL_DIR is gone with the container."""
    saved = results(job)
    given = " ".join(map(str, (*job.arguments.values(), *job.environment.values())))
    kept = ("/opt/ml/input", "/opt/ml/output", MODEL, CHECKPOINTS, checkpoint_path(job))
    if not saved or _KEEPS.search(f"{reading.literals(job).text} {given}"):
        return
    if any(each.place is None or inside(each.place, *kept) for each in saved):
        return
    yield _RULES["SCRIPT024"].problem(
        saved[0].where,
        "the script saves nothing where SageMaker keeps it: the job would leave no model",
        got=f"{(saved[0].place or '').removeprefix(CODE + '/')!r} of {saved[0].call}",
        wanted=f"a place in {MODEL}, which is packed into model.tar.gz",
        fix=Advice("save to os.environ['SM_MODEL_DIR'] at the end"),
    )


def checkpoints_not_kept(job: JobSpec) -> Iterator[Problem]:
    """SPOT014: without a place in S3 nothing of /opt/ml/checkpoints outlives the job. SPOT004 says it of spot."""
    if job.checkpoints is not None or job.spot is not None or job.script is None:
        return
    sent = [name for name, value in job.hyperparameters.items() if inside(str(value), CHECKPOINTS)]
    written = [each for each in results(job) if each.place is not None and inside(each.place, CHECKPOINTS)]
    if sent or written:
        yield _RULES["SPOT014"].problem(
            Field(f"hyperparameters.{sent[0]}") if sent else written[0].where,
            "checkpoints are written that nothing keeps",
            got=f"{CHECKPOINTS} and no checkpoint",
            wanted="a place for checkpoints in S3",
            fix=Advice(f'checkpoint = Checkpoint(s3_uri="s3://your-bucket/checkpoints/{job.name}")'),
        )


def script_ignores_checkpoints(job: JobSpec) -> Iterator[Problem]:
    """SPOT005: checkpoints are configured, but nothing in the source mentions them."""
    path = checkpoint_path(job)
    if (
        job.checkpoints is None
        or job.script is None
        or any(path in str(value) for value in job.hyperparameters.values())
    ):
        return
    if (
        source.mentions(job, "checkpoint") is not False
        or source.mentions(job, path)
        or (job.spot is None and _trainer(job))
    ):
        return  # on demand it is enough that a Trainer saves them
    yield _RULES["SPOT005"].problem(
        Field("script"),
        "the script never mentions checkpoints",
        consequence=_lost(job),
        got=repr(job.script.entry),
        wanted=f"saving to and resuming from {path}",
        fix=Advice("see sm_spot.py among the shipped scripts: sm-trn init --script sm_spot.py"),
    )


def kept_elsewhere(job: JobSpec) -> Iterator[Problem]:
    """SPOT006: the Trainer's checkpoints do not reach S3, or there are none."""
    if job.checkpoints is None or not _trainer(job):
        return
    literals, path = reading.literals(job), checkpoint_path(job)
    output = str(job.hyperparameters.get("output_dir") or literals.setting("output_dir") or "")
    never = literals.setting("save_strategy") == "no"
    where = "save_strategy" if never else "output_dir"
    if not output or not (never or not inside(output, path)):
        return
    if where not in job.hyperparameters and path in literals.text.replace(output, ""):
        return  # a source that names the path besides may save there in its own way
    yield _RULES["SPOT006"].problem(
        literals.where(where, job),
        f"the Trainer {'saves no checkpoints' if never else 'does not save where checkpoints are kept'}",
        consequence=_lost(job),
        got="save_strategy='no'" if never else f"output_dir={output!r}",
        wanted=f"checkpoints under {path}",
        fix=Change(output_dir=path, **({"save_strategy": "steps"} if never else {})),
    )


def first_resume(job: JobSpec) -> Iterator[Problem]:
    """SPOT015: ``train(resume_from_checkpoint=True)`` without a checkpoint is a ValueError."""
    literals = reading.literals(job)
    guarded = literals.guarded(_LOOKS_FIRST)
    for path, call in literals.calls:
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "train" or call in guarded:
            continue
        named = [each.value for each in call.keywords if each.arg == "resume_from_checkpoint"]
        if not named and "trainer" in ast.unparse(call.func.value).lower():
            named = call.args[:1]
        if named and str(literals.value(named[0])).lower() == "true":
            there = job.checkpoints.s3_uri if job.checkpoints is not None else ""
            yield _RULES["SPOT015"].problem(
                Line(path.name, call.lineno),
                "the first start would fail: it resumes, and there is no checkpoint yet",
                consequence=f"it is right only where {there} holds one already" if there else "",
                got=f"{ast.unparse(call.func)}(resume_from_checkpoint=True)",
                wanted="resume_from_checkpoint only where a checkpoint was found",
                fix=Advice("last = get_last_checkpoint(output_dir), of transformers.trainer_utils"),
            )


def checkpoints_in_the_model(job: JobSpec) -> Iterator[Problem]:
    """SCRIPT009: what lies in /opt/ml/model is packed into model.tar.gz: every checkpoint makes it bigger and slower."""
    sent = job.hyperparameters
    output = str(sent.get("output_dir", ""))
    if not inside(output, MODEL) or sent.get("save_strategy") == "no" or not _trainer(job):
        return
    steps, every = sent.get("max_steps", -1), sent.get("save_steps", SAVE_STEPS)
    if "save_strategy" not in sent and isinstance(steps, int) and isinstance(every, (int, float)) and 0 < steps < every:
        return  # ends before the first checkpoint
    yield _RULES["SCRIPT009"].problem(
        Field("hyperparameters.output_dir"),
        "the Trainer's checkpoints would be packed into the model",
        got=f"output_dir={output!r}, save_strategy={sent.get('save_strategy', 'steps')!r}",
        wanted=f"checkpoints under {CHECKPOINTS}, or none",
        fix=Advice("save_strategy='no', or an output_dir elsewhere and save_model to /opt/ml/model at the end"),
    )


def checkpoint_path(job: JobSpec) -> str:
    """Where the container has the folder whose files are copied to S3."""
    return (job.checkpoints.local_path if job.checkpoints is not None else None) or CHECKPOINTS


def inside(path: str, *folders: str) -> bool:
    """Return True if a path is one of the folders or lies in one."""
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)


def _in_container(path: str | None) -> str | None:
    return None if path is None else posixpath.normpath(posixpath.join(CODE, path))


def _lost(job: JobSpec) -> str:
    return "an interruption would start again at step 0" if job.spot is not None else "nothing would be kept in S3"


def _own(job: JobSpec) -> bool:
    """Return False for the shipped scripts, which know where models and checkpoints belong."""
    return job.script is not None and not source.shipped(job)


def _trainer(job: JobSpec) -> bool:
    """Return True if the script seems to be the Trainer's."""
    named = "|".join(reading.TRAINERS)
    return _own(job) and bool(TRAINER_FLAGS & set(job.hyperparameters) or re.search(named, reading.literals(job).text))


RULES = (
    wait_shorter_than_run,
    wait_without_spot,
    spot_without_wait,
    checkpoint_uri,
    local_path_alone,
    no_checkpoint,
    two_places,
    no_model,
    checkpoints_not_kept,
    script_ignores_checkpoints,
    kept_elsewhere,
    first_resume,
    checkpoints_in_the_model,
)


def resuming(job: JobSpec, snapshot: JobSnapshot, stored: int | None) -> Iterator[Problem]:
    """SPOT010, SPOT011, SPOT012, SPOT013: only a job that has ended unfinished, with checkpoints in S3, can go on from them.

    ``stored`` is how many objects lie there; None when nobody has looked.
    """
    from ..specs.snapshot import JobStatus  # noqa: PLC0415 - a check has no snapshot

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
