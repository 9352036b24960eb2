"""``st.why``: what may be asked about – a text, a log file, dumps, a describe answer as a file or a mapping, a snapshot."""

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
from .diagnose import why_snapshot, why_text
from .flight import why_dumps
from .mentions import without_quotation

_PATH = 1024  # characters that a path may have
_DESCRIBE = 4_000_000  # bytes of a describe answer, at most
_WITHIN = ("describe", "answer", "response", "TrainingJob")  # a describe answer may stand in another document


def why(about: str | os.PathLike[str] | JobSnapshot | Mapping[str, Any], *, spec: JobSpec | None = None) -> Diagnosis:
    """Why a job failed, stopped or hangs: ``about`` is a text (a FailureReason, an error, lines of a log), the path of a log
    or of a describe answer as JSON, of a worker's error file, or of a folder with dumps of PyTorch's flight recorder, the answer
    itself, or a snapshot. With ``spec`` the fix is a change of it.

    It asks nobody; ``TrainingJob.why()`` reads log and status itself. Raises OSError for a file that cannot be read,
    TypeError for anything else.

    >>> st.why("ClientError: Data download failed:403 Forbidden (403): Forbidden").id
    'data.s3_access_denied'
    >>> st.why("AlgorithmError: See job logs for more information").id
    'unknown'
    """
    if isinstance(about, JobSnapshot):
        return why_snapshot(about, spec=spec)
    if isinstance(about, Mapping):
        return why_snapshot(parse_snapshot(about), spec=spec)
    if not isinstance(about, (str, os.PathLike)):
        raise TypeError(
            f"about: got {about!r:.80}, wanted a text, the path of a log or of a describe answer, the answer, or a snapshot"
        )
    path = _path(about)
    if path is None:
        return _of_text("this text", str(about), spec)
    if path.is_dir():
        return why_dumps(path) or Diagnosis(name=path.name)
    if path.stat().st_size <= _DESCRIBE:
        with path.open("rb") as file:
            answer = described(file.read()) if file.read(1) == b"{" and file.seek(0) == 0 else None
        if answer is not None:
            return why_snapshot(parse_snapshot(answer), spec=spec)
    return why_text(path.name, SavedLog(path=path), spec=spec)


def described(raw: bytes) -> Mapping[str, Any] | None:
    """The describe answer in a JSON text; None where there is none."""
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    parts = [body, *(body.get(name) for name in _WITHIN)] if isinstance(body, dict) else []
    return next((part for part in parts if isinstance(part, dict) and "TrainingJobName" in part), None)


def _of_text(name: str, text: str, spec: JobSpec | None) -> Diagnosis:
    answer = described(text.encode("utf-8", "replace")) if text.lstrip().startswith("{") else None
    if answer is not None:
        return why_snapshot(parse_snapshot(answer), spec=spec)
    return why_text(name, parse_log(without_quotation(text)), spec=spec)


def _path(about: str | os.PathLike[str]) -> Path | None:
    if isinstance(about, str) and (len(about) > _PATH or "\n" in about or "\0" in about):
        return None
    path = Path(about)
    try:
        found = path.is_file() or path.is_dir()
    except OSError:
        return None
    return path if found or not isinstance(about, str) else None
