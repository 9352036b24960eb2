"""Asking a job to stop."""

from __future__ import annotations

from ..errors import CloudError
from ..ports import Backend
from ..specs import JobStatus


def stop_one(backend: Backend, name: str) -> bool:
    """Ask a job to stop; whether it was asked. One that has ended, or is being stopped, is left alone."""
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
