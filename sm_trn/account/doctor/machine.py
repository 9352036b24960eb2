"""This machine: Python, the packages that launching and rehearsing need."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from .finding import Finding, State

OLDEST = (3, 10)  # pyproject.toml, requires-python
LOCAL = ("torch", "transformers")  # the scripts run in this environment when the emulator runs them


def findings() -> Iterator[Finding]:
    """Yield what of this machine is ready."""
    yield _python()
    yield _sdk()
    missing = [name for name in LOCAL if _version(name) is None]
    if missing:
        yield Finding(
            "local runs",
            State.NOTE,
            f"{' and '.join(missing)} not installed: jobs on AWS need none, rehearsals and the emulator's jobs do",
            'pip install "sm_trn[local]"',
        )


def _python() -> Finding:
    own = ", ".join(f"{name} {_version(name) or 'from its source'}" for name in ("sm_trn", "boto3"))
    says = f"Python {platform.python_version()}, {own}"
    if sys.version_info[:2] < OLDEST:
        return Finding("Python", State.ERROR, says, "install Python 3.10 or newer")
    return Finding("Python", State.READY, says)


def _sdk() -> Finding:
    found = _version("sagemaker")
    if found is None:
        says = "SageMaker SDK not installed: submitting needs none, estimators do"
        return Finding("SDK", State.NOTE, says, 'pip install "sm_trn[sdk]"')
    if found.startswith("2."):
        return Finding("SDK", State.READY, f"SageMaker SDK {found}")
    says = f"SageMaker SDK {found}: ModelTrainer; estimators are of version 2"
    return Finding("SDK", State.NOTE, says)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
