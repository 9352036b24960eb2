"""``st.why``: explains a text, a log file, a describe answer as a file or a mapping, or a snapshot."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...core.logs.saved import SavedLog, parse_log
from ...core.specs.job import JobSpec
from ...core.specs.snapshot import JobSnapshot, parse_snapshot
from .cause import Diagnosis
from .diagnose import JobText, why_text

_PATH = 1024  # characters that a path may have
_DESCRIBE = 4_000_000  # bytes of a describe answer, at most
_WITHIN = ("describe", "answer", "response", "TrainingJob")  # a describe answer may stand in another document


def why(about: str | os.PathLike[str] | JobSnapshot | Mapping[str, Any], *, spec: JobSpec | None = None) -> Diagnosis:
    """Return why a job failed, stopped or hangs. ``about`` is a text (a FailureReason, an error, lines of a log), the path of a log,
    of a describe answer as JSON or of a worker's error file, the answer itself, or a snapshot. With ``spec`` the fix is a change of it.

    It asks nobody; ``TrainingJob.why()`` reads log and status itself. Raises OSError for a file that cannot be read,
    TypeError for anything else.

    >>> st.why("ClientError: Data download failed:403 Forbidden (403): Forbidden").id
    'data.s3_access_denied'
    >>> st.why("AlgorithmError: See job logs for more information").id
    'unknown'
    """
    if isinstance(about, (JobSnapshot, Mapping)):
        snapshot = about if isinstance(about, JobSnapshot) else parse_snapshot(about)
        return JobText(snapshot.name, snapshot, spec).diagnosis()
    if not isinstance(about, (str, os.PathLike)):
        raise TypeError(
            f"about: got {about!r:.80}, wanted a text, the path of a log or of a describe answer, the answer, or a snapshot"
        )
    path = _path(about)
    if path is None:
        text, log, name = str(about), parse_log(str(about)), "this text"
    else:
        text, log, name = "", SavedLog(path=path), path.name
        if path.stat().st_size <= _DESCRIBE:
            text = path.read_text("utf-8", "replace")
    answer = described(text) if text.startswith("{") else None
    return why_text(name, log, spec=spec) if answer is None else why(answer, spec=spec)


def described(text: str) -> Mapping[str, Any] | None:
    """The describe answer in a JSON text; None where there is none."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return None
    parts = [body, *(body.get(name) for name in _WITHIN)] if isinstance(body, dict) else []
    return next((part for part in parts if isinstance(part, dict) and "TrainingJobName" in part), None)


def _path(about: str | os.PathLike[str]) -> Path | None:
    if isinstance(about, str) and (len(about) > _PATH or "\n" in about or "\0" in about):
        return None
    path = Path(about)
    try:
        exists = path.is_file()
    except OSError:
        return None
    return path if exists or not isinstance(about, str) else None
