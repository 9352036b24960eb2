"""SPOT and SCRIPT rules of ``output_dir``: where the Hugging Face Trainer keeps its checkpoints."""

from __future__ import annotations

from collections.abc import Iterator

from ..specs.job import JobSpec
from ..specs.problems import Advice, Change, Field, Problem, rules_of
from . import source
from .spot import DEFAULT_PATH

MODEL = "/opt/ml/model"
SAVE_STEPS = 500  # transformers, TrainingArguments.save_steps
TRAINER_FLAGS = frozenset({"save_strategy", "save_steps", "save_total_limit", "overwrite_output_dir", "do_train"})

_RULES = rules_of(__package__)
SCRIPT009 = _RULES["SCRIPT009"]
SPOT006 = _RULES["SPOT006"]


def kept_elsewhere(job: JobSpec) -> Iterator[Problem]:
    """SPOT006: the Trainer's checkpoints do not reach S3, or there are none: an interruption starts again at step 0."""
    if job.spot is None or job.checkpoints is None:
        return
    path = job.checkpoints.local_path or DEFAULT_PATH
    output = str(job.hyperparameters.get("output_dir", ""))
    never = job.hyperparameters.get("save_strategy") == "no"
    if output and (never or not _inside(output, path)) and _trainer(job):
        yield SPOT006.problem(
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
    if not _inside(output, MODEL) or sent.get("save_strategy") == "no" or not _trainer(job):
        return
    steps, every = sent.get("max_steps", -1), sent.get("save_steps", SAVE_STEPS)
    if "save_strategy" not in sent and isinstance(steps, int) and isinstance(every, (int, float)) and 0 < steps < every:
        return  # ends before the first checkpoint
    strategy = f"save_strategy={sent['save_strategy']!r}" if "save_strategy" in sent else "without save_strategy"
    yield SCRIPT009.problem(
        Field("hyperparameters.output_dir"),
        "the Trainer's checkpoints would be packed into the model",
        got=f"output_dir={output!r}, {strategy}",
        wanted=f"checkpoints under {DEFAULT_PATH}, or none",
        fix=Advice("save_strategy='no', or an output_dir elsewhere and save_model to /opt/ml/model at the end"),
    )


def _inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _trainer(job: JobSpec) -> bool:
    """Whether the script seems to be the Trainer's. The shipped scripts know where checkpoints belong."""
    if job.script is None or (job.script.source_dir is None and job.script.git is None):
        return False
    return bool(TRAINER_FLAGS & set(job.hyperparameters)) or source.mentions(job, "TrainingArguments") is True


RULES = (kept_elsewhere, checkpoints_in_the_model)
