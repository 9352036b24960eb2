"""What the scripts share as programs of a job: checked flags, folders that can be written to, and lines of the main worker."""

from __future__ import annotations

import difflib
import math
import os
import tempfile
from pathlib import Path
from typing import Any, Mapping, NoReturn

from sm_spot import UsageError, metric_line

CHECKPOINTS = Path("/opt/ml/checkpoints")  # exists in a job that was given a checkpoint_s3_uri
GRAPHS_ONLY_STEPS = 5  # neuron_parallel_compile sees every graph of a training loop within these


def refuse_unknown(flag: str, known: Any) -> NoReturn:
    close = difflib.get_close_matches(flag, sorted(known), n=1)
    raise UsageError(f"{flag}: unknown flag; " + (f"did you mean {close[0]}?" if close else "see --help"))


def check_folder(flag: str, folder: Path | None) -> None:
    """That it can be written to is known before hours are spent, not after."""
    try:
        if folder is not None and not graphs_only():
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise UsageError(
            f"--{flag}: got {str(folder)!r} ({error}), wanted a folder that this user may write to"
        ) from error


def graphs_only() -> bool:
    """Under `neuron_parallel_compile` graphs are collected and not executed: no number that comes out means anything.

    A script then makes few steps, and neither reads nor writes a checkpoint, saves no model and prints no metric.
    """
    return os.environ.get("NEURON_EXTRACT_GRAPHS_ONLY", "0") not in {"", "0"}


class Console:
    """Prints on the main worker only, each line at once: a killed process has said what it knew."""

    def __init__(self, *, is_main: bool) -> None:
        self.is_main = is_main

    def metrics(self, values: Mapping[str, Any]) -> None:
        if not graphs_only():
            self.say(metric_line(values))

    def say(self, *texts: str) -> None:
        if self.is_main:
            for text in texts:
                print(text, flush=True)


def refuse_nan(loss: float) -> None:
    if not math.isfinite(loss) and not graphs_only():
        wanted = "wanted a finite number; lower the learning rate, or use bf16 instead of fp16"
        raise UsageError(f"loss: got {loss}, {wanted}")
