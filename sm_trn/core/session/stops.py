"""Asking jobs to stop."""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import CloudError
from ..ports import Backend
from ..specs.snapshot import JobStatus
from .details import each


def stop_one(backend: Backend, name: str) -> bool:
    """Ask a job to stop, and return whether it was asked. A job that has ended, or is being stopped, is left alone."""
    try:
        backend.stop_job(name)
    except CloudError as error:
        if error.code != "ValidationException":
            raise
        now = backend.fetch_snapshot(name)  # it may have ended while we asked; raises for a job that never was
        if now.terminal or now.status is JobStatus.STOPPING:
            return False
        raise
    return True


def stop_each(backend: Backend, names: Iterable[str]) -> set[str]:
    """Ask every job to stop; the names of those that were asked. One that cannot be asked keeps no other one running: what
    failed is raised as one CloudError when all were asked.
    """

    def ask(name: str) -> tuple[str, bool, CloudError | None]:
        try:
            return name, stop_one(backend, name), None
        except CloudError as error:
            return name, False, error

    outcomes = each(ask, dict.fromkeys(names))
    failed = [(name, error) for name, _, error in outcomes if error is not None]
    if len(outcomes) == 1 and failed:
        raise failed[0][1]
    if failed:
        lines = [f"  {name} runs on, as far as is known: {error}" for name, error in failed]
        raise CloudError(
            "\n".join([f"{len(failed)} of {len(outcomes)} jobs could not be asked to stop", *lines]),
            operation="StopTrainingJob",
            code=failed[0][1].code,
        ) from failed[0][1]
    return {name for name, asked, _ in outcomes if asked}
