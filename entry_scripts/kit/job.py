"""What the scripts share as programs of a job: folders that can be written to, graphs that are only
collected, flags.
"""

from __future__ import annotations

import contextlib
import math
import os
import sys
import tempfile
from pathlib import Path
from typing import Any, Iterator

from sm_spot import UsageError, exit_code_of

# exists in a job that was given a checkpoint_s3_uri
CHECKPOINTS = Path(os.environ.get("SAGEMAKER_BASE_DIR", "/opt/ml")) / "checkpoints"
GRAPHS_ONLY_STEPS = 5  # neuron_parallel_compile sees every graph of a training loop within these
SAMPLES = Path(__file__).resolve().parent.parent / "sample"


def channel(*names: str) -> str | None:
    """Where SageMaker has put the files of the first of these channels that there is."""
    for name in names:
        folder = os.environ.get("SM_CHANNEL_" + name.upper())
        if folder:
            return folder
    return None


def default_checkpoint_dir() -> str | None:
    return str(CHECKPOINTS) if CHECKPOINTS.is_dir() else None


def default_model_dir() -> str:
    return os.environ.get("SM_MODEL_DIR") or "model"


def check_folder(flag: str, folder: Any) -> None:
    """That it can be written to is known before hours are spent, not after."""
    if folder is None or graphs_only():
        return
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        wanted = "wanted a folder that this user may write to"
        raise UsageError(f"--{flag}: got {str(folder)!r} ({error}), {wanted}") from error


def graphs_only() -> bool:
    """Under `neuron_parallel_compile` graphs are collected and not executed: no number that comes
    out means anything.

    A script then makes few steps, and neither reads nor writes a checkpoint, saves no model and
    prints no metric.
    """
    return os.environ.get("NEURON_EXTRACT_GRAPHS_ONLY", "0") not in {"", "0"}


def refuse_nan(loss: float) -> None:
    if not math.isfinite(loss) and not graphs_only():
        wanted = "wanted a finite number; lower the learning rate, or use bf16 instead of fp16"
        raise UsageError(f"loss: got {loss}, {wanted}")


@contextlib.contextmanager
def needed(script: str, libraries: str) -> Iterator[None]:
    """Around imports that not every image has: a missing one ends the script with a sentence."""
    try:
        yield
    except ImportError as error:
        wanted = f"wanted the library {error.name} ({error}); install {libraries}, or use an image that has it"

        def refuse() -> None:
            raise UsageError(f"{script}: {wanted}")

        sys.exit(exit_code_of(refuse))
