"""Hugging Face's name for train_language_model.py: the same program with the same flags, for jobs that are written with it.

python run_clm.py --model_type tiny-gpt2 --num_train_epochs 3 --do_eval True
"""

from __future__ import annotations

import importlib
import runpy
from pathlib import Path
from typing import Any

SCRIPT = str(Path(__file__).resolve().with_name("train_language_model.py"))


def _mp_fn(index: int) -> Any:
    """Where torch_xla's spawn launcher (the Training Compiler's `pytorchxla` distribution) enters each worker."""
    return vars(importlib.import_module("train_language_model"))["_mp_fn"](index)


if __name__ == "__main__":
    runpy.run_path(SCRIPT, run_name="__main__")
