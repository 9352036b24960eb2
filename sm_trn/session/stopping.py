"""Which jobs run, and asking them to stop."""

from __future__ import annotations

from ..errors import CloudError
from ..ports import Backend, JobQuery
from ..specs import JobSnapshot, JobStatus


def fetch_running(backend: Backend, containing: str) -> list[JobSnapshot]:
    """Jobs in progress, newest first, whose name contains this; they know what a list knows."""
    query = JobQuery(containing=containing, status=JobStatus.IN_PROGRESS.value)
    found: list[JobSnapshot] = []
    token: str | None = None
    while True:
        page = backend.fetch_page(query, token)
        found.extend(page.jobs)
        token = page.token
        if token is None:
            return found


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
