"""Hugging Face's name for train_language_model.py: the same program with the same flags, for jobs that are written with it.

python run_clm.py --model_type tiny-gpt2 --num_train_epochs 3 --do_eval True
"""

from __future__ import annotations

import sys

from _console import exit_code_of, leave
from train_language_model import main


def _mp_fn(_index: int) -> None:
    """Where torch_xla's spawn launcher (the Training Compiler's `pytorchxla` distribution) enters each worker."""
    sys.exit(exit_code_of(main))


if __name__ == "__main__":
    leave(exit_code_of(main))
