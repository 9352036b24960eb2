"""This machine: Python, the packages that launching and rehearsing need, and room on the disk."""

from __future__ import annotations

import platform
import shutil
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from .finding import Finding, State

OLDEST = (3, 10)  # pyproject.toml, requires-python
LOCAL = ("torch", "transformers")  # the scripts run in this environment when the emulator runs them
ROOM_GB = 2.0


def findings(folder: Path) -> Iterator[Finding]:
    """What of this machine is ready; ``folder`` is where the emulator would write."""
    yield _python()
    yield _sdk()
    missing = [name for name in LOCAL if _version(name) is None]
    if missing:
        yield Finding(
            about="local runs",
            state=State.NOTE,
            says=f"{' and '.join(missing)} not installed: jobs on AWS need none, rehearsals and the emulator's jobs do",
            fix='pip install "sm_trn[local]"',
        )
    yield from _disk(folder)


def _python() -> Finding:
    own = ", ".join(f"{name} {_version(name) or 'from its source'}" for name in ("sm_trn", "boto3"))
    says = f"Python {platform.python_version()}, {own}"
    if sys.version_info[:2] < OLDEST:
        return Finding(about="Python", state=State.ERROR, says=says, fix="install Python 3.10 or newer")
    return Finding(about="Python", state=State.READY, says=says)


def _sdk() -> Finding:
    found = _version("sagemaker")
    if found is None:
        says = "SageMaker SDK not installed: submitting needs none, estimators do"
        return Finding(about="SDK", state=State.NOTE, says=says, fix='pip install "sm_trn[sdk]"')
    if found.startswith("2."):
        return Finding(about="SDK", state=State.READY, says=f"SageMaker SDK {found}")
    says = f"SageMaker SDK {found}: ModelTrainer; estimators are of version 2"
    return Finding(about="SDK", state=State.NOTE, says=says)


def _disk(folder: Path) -> Iterator[Finding]:
    there = next((place for place in (folder, *folder.parents) if place.exists()), Path("/"))
    try:
        free = shutil.disk_usage(there).free / 1e9
    except OSError as error:
        yield Finding(about="disk", state=State.UNKNOWN, says=f"{there} could not be looked at: {error.strerror}")
        return
    if free < ROOM_GB:
        says = f"{free:.1f} GB free at {there}: an emulated job's model and checkpoints may not fit"
        yield Finding(
            about="disk", state=State.WARNING, says=says, fix=f"free {ROOM_GB:g} GB, or SM_TRN_STATE=/another/disk"
        )


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
