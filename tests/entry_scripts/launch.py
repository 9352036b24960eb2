"""Starts a script in its own process, alone or under torchrun, and reads what it printed."""

from __future__ import annotations

import ast
import contextlib
import io
import os
import signal
import subprocess
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fork_server import TORCH, python_with
from sm_spot import exit_code_of

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "entry_scripts"
SCRIPT = SCRIPTS / "train_text_classification.py"
DEADLINE_S = 900.0  # a run that hangs, not one that is slow: compiling on a busy machine took four times its usual time
QUIET = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "PYTHONPATH": "", "PYTHONWARNINGS": ""}


@dataclass(frozen=True)
class Finished:
    code: int
    out: str
    err: str

    @property
    def metrics(self) -> list[dict[str, Any]]:
        return [ast.literal_eval(line) for line in self.out.splitlines() if line.startswith("{")]

    def having(self, key: str) -> list[dict[str, Any]]:
        return [line for line in self.metrics if key in line]


def run_here(main: Callable[[Sequence[str]], None], *flags: str) -> Finished:
    """In this process, which has its imports behind it: a tiny run takes a second instead of ten."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of one library about another
        code = exit_code_of(lambda: main(flags))
    return Finished(code, out.getvalue(), err.getvalue())


class Launch:
    """One working folder; every call is one run in it. Without another ``python``, this one with torch loaded already."""

    def __init__(self, folder: Path, script: str = SCRIPT.name, python: str | None = None) -> None:
        self.folder, self._script, self._python = folder, str(SCRIPTS / script), python or python_with(*TORCH)

    def run(self, *flags: str, workers: int = 0, environment: dict[str, str] | None = None) -> Finished:
        process = self.start(*flags, workers=workers, environment=environment)
        out, err = process.communicate(timeout=DEADLINE_S)
        return Finished(process.returncode, out, err)

    def run_until(self, said: str, number: signal.Signals, *flags: str, workers: int = 0) -> Finished:
        """Send the signal when a line contains `said`; what was printed, and how it ended."""
        process = self.start(*flags, workers=workers)
        assert process.stdout is not None
        seen = []
        for line in process.stdout:
            seen.append(line)
            if said in line:
                break
        process.send_signal(number)
        out, err = process.communicate(timeout=DEADLINE_S)
        return Finished(process.returncode, "".join(seen) + out, err)

    def start(self, *flags: str, workers: int = 0, environment: dict[str, str] | None = None) -> subprocess.Popen[str]:
        torchrun = ["-m", "torch.distributed.run", f"--nproc_per_node={workers}"] if workers else []
        return subprocess.Popen(
            [self._python, *torchrun, self._script, *flags],
            cwd=self.folder,
            env={**os.environ, **QUIET, "PYTHON_EXEC": self._python, **(environment or {})},  # torchrun's workers, too
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
