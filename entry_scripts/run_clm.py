"""Hugging Face's name for train_language_model.py: the same program with the same flags, for jobs
that are written with it.

python run_clm.py --model_type tiny-gpt2 --num_train_epochs 3 --do_eval True
"""

from __future__ import annotations

import runpy
from pathlib import Path

if __name__ == "__main__":
    runpy.run_path(
        str(Path(__file__).resolve().with_name("train_language_model.py")), run_name="__main__"
    )
