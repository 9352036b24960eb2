"""The command line as its own process, without the caller's AWS settings."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from fork_server import SHELL, python_with


def sm_trn(
    *arguments: str, environment: dict[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run ``sm-trn`` with ``arguments``; what ``environment`` names is added."""
    path = os.pathsep.join(
        str(Path(entry).resolve()) for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry
    )
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "SM_TRN_"))}
    return subprocess.run(
        [python_with(*SHELL), "-m", "sm_trn.cli", *arguments],
        capture_output=True,
        text=True,
        env={
            **kept,
            "AWS_EC2_METADATA_DISABLED": "true",
            **({"PYTHONPATH": path} if path else {}),
            **(environment or {}),
        },
        cwd=cwd,
        timeout=120,
        check=False,
    )
