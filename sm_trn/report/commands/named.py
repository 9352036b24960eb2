"""What the commands of reports take as a job: a name, a file that attach --record saved, a published record."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ...core.catalog import limits
from ...core.session.handles import Session, TrainingJob
from ...core.session.names import LAST
from ...core.specs.record import JobRecord
from .. import published_record
from ..comparing import as_record


def record_or_job(name: str, connection: Callable[[], Session]) -> JobRecord | TrainingJob | Path:
    """What is meant by a name. Asks the account only for what is neither published nor a file. Raises SmTrnError."""
    found = published_record(name)
    if found is not None:
        return found
    if Path(name).is_file():
        return Path(name)
    if name != LAST and not limits.matches("TrainingJobName", name.rsplit("/", 1)[-1]):
        return as_record(name)  # says what it is not: neither a file, nor published, nor a job's name
    return connection().attach(name)
