"""The scripts on the import path, as SageMaker has them, and a way to run one as a user does."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from launch import Launch

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "entry_scripts"), str(ROOT / "tests" / "fakes"), str(Path(__file__).parent)]
with contextlib.suppress(ImportError):
    import sm_spot  # noqa: F401 - whoever imports it first remembers SIGTERM, which is to end this process
signal.signal(signal.SIGTERM, signal.SIG_DFL)


@pytest.fixture
def launch(tmp_path: Path) -> Launch:
    from launch import Launch

    return Launch(tmp_path)


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No variable of a launcher or of a job; afterwards the test process's own variables and answer to SIGTERM."""
    variables = dict(os.environ)
    for name in list(os.environ):
        if name.startswith(("SM_", "NEURON_", "PJRT_", "XRT_", "GLOO_")) or name in {
            "RANK",
            "WORLD_SIZE",
            "LOCAL_RANK",
        }:
            monkeypatch.delenv(name)
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)
    for name in set(os.environ) - set(variables):  # what a runtime has set for itself
        del os.environ[name]


@pytest.fixture(scope="session")
def python38() -> str:
    """An interpreter as old as the oldest container's."""
    candidates = ["python3.8", *map(str, sorted(Path.home().glob(".pyenv/versions/3.8*/bin/python")))]
    for candidate in candidates:
        try:
            out = subprocess.run(  # noqa: PLW1510 - an interpreter that fails is not the one
                [candidate, "-c", "import sys; print(sys.version_info[:2])"], capture_output=True, text=True
            )
        except OSError:
            continue
        if out.stdout.strip() == "(3, 8)":
            return candidate
    pytest.skip("no Python 3.8 on this machine")
