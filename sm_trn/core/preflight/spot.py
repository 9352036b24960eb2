"""SPOT rules, and SCRIPT009: waiting, interruption, checkpoints and where the Trainer keeps them."""

from __future__ import annotations

from collections.abc import Iterator

from ..catalog import limits
from ..pricing.book import snapshot_book
from ..pricing.cost import usd_for
from ..specs.compute import Spot
from ..specs.job import JobSpec
from ..specs.places import bucket_and_key
from ..specs.problems import Advice, Change, Field, Problem, rules_of
from ..specs.units import WallSeconds
from . import source

HOUR_S = 3600
# Where a request says it, beside what a spec has words for.
WAIT, ASKED = "/StoppingCondition/MaxWaitTimeInSeconds", "/EnableManagedSpotTraining"
DEFAULT_PATH = "/opt/ml/checkpoints"  # API reference, CheckpointConfig.LocalPath

MODEL = "/opt/ml/model"
SAVE_STEPS = 500  # transformers, TrainingArguments.save_steps
TRAINER_FLAGS = frozenset({"save_strategy", "save_steps", "save_total_limit", "overwrite_output_dir", "do_train"})

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
    wait, asked = job.kept_at(WAIT), job.kept_at(ASKED) is True
    if job.spot is None and wait is not None and not asked:
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
    price = snapshot_book().find(job.compute.instance, "us-west-2")
    lost = ""
    if price is not None:
        most = usd_for(WallSeconds(job.max_run_s), job.compute.count, price.usd_per_hour)
        lost = f"an interruption in the last hour runs up to ${most:,.2f} again (on-demand, {price.as_of})"
    yield _RULES["SPOT004"].problem(
        Field("spot"),
        "an interruption would start again at step 0",
        consequence=lost,
        got="checkpoint_s3_uri is not set",
        wanted="a place for checkpoints",
        fix=Change(checkpoint_s3_uri=f"s3://your-bucket/checkpoints/{job.name}"),
    )


def script_ignores_checkpoints(job: JobSpec) -> Iterator[Problem]:
    """SPOT005: checkpoints are configured, but nothing in the source mentions them."""
    if job.spot is None or job.checkpoints is None:
        return
    path = job.checkpoints.local_path or DEFAULT_PATH
    named = any(path in str(value) for value in job.hyperparameters.values())
    if job.script is None or named or source.mentions(job, "checkpoint") is not False:
        return
    yield _RULES["SPOT005"].problem(
        Field("script"),
        "the script never mentions checkpoints",
        consequence="an interruption would start again at step 0",
        got=repr(job.script.entry),
        wanted=f"saving to and resuming from {path}",
        fix=Advice("see sm_spot.py among the shipped scripts: sm-trn init --script sm_spot.py"),
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


def kept_elsewhere(job: JobSpec) -> Iterator[Problem]:
    """SPOT006: the Trainer's checkpoints do not reach S3, or there are none: an interruption starts again at step 0."""
    if job.spot is None or job.checkpoints is None:
        return
    path = job.checkpoints.local_path or DEFAULT_PATH
    output = str(job.hyperparameters.get("output_dir", ""))
    never = job.hyperparameters.get("save_strategy") == "no"
    if output and (never or not inside(output, path)) and _trainer(job):
        yield _RULES["SPOT006"].problem(
            Field("hyperparameters.save_strategy" if never else "hyperparameters.output_dir"),
            f"the Trainer {'saves no checkpoints' if never else 'does not save where checkpoints are kept'}",
            consequence="an interruption would start again at step 0",
            got="save_strategy='no'" if never else f"output_dir={output!r}",
            wanted=f"checkpoints under {path}",
            fix=Change(output_dir=path, **({"save_strategy": "steps"} if never else {})),
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
    strategy = f"save_strategy={sent['save_strategy']!r}" if "save_strategy" in sent else "without save_strategy"
    yield _RULES["SCRIPT009"].problem(
        Field("hyperparameters.output_dir"),
        "the Trainer's checkpoints would be packed into the model",
        got=f"output_dir={output!r}, {strategy}",
        wanted=f"checkpoints under {DEFAULT_PATH}, or none",
        fix=Advice("save_strategy='no', or an output_dir elsewhere and save_model to /opt/ml/model at the end"),
    )


def inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _trainer(job: JobSpec) -> bool:
    """Whether the script seems to be the Trainer's. The shipped scripts know where checkpoints belong."""
    if job.script is None or (job.script.source_dir is None and job.script.git is None):
        return False
    return bool(TRAINER_FLAGS & set(job.hyperparameters)) or source.mentions(job, "TrainingArguments") is True


RULES = (
    wait_shorter_than_run,
    wait_without_spot,
    spot_without_wait,
    checkpoint_uri,
    local_path_alone,
    no_checkpoint,
    script_ignores_checkpoints,
    two_places,
    kept_elsewhere,
    checkpoints_in_the_model,
)
