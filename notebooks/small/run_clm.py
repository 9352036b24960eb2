"""Stands in for run_clm.py of transformers 4.21 on the emulator, which has today's libraries: the package's own script."""

import runpy
from pathlib import Path

runpy.run_path(str(Path(__file__).with_name("train_language_model.py")), run_name="__main__")
