"""What programs write around a line of a job: a label, a time, JSON, the service's own words. Must not know what the line says."""

from __future__ import annotations

import json
import re

from ...core.formatting.printable import plain
from .entries import LONGEST

TRACEBACK = "Traceback (most recent call last)"
_SPOKEN = re.compile(  # what the service and the toolkit put in front of a script's own words
    r"(?:\s*(?:Algorithm ?Error|ClientError|ExecuteUserScriptError|(?:sagemaker\.exceptions\.)?UnexpectedStatusException)\s*:"
    r'|\s*[Ff]ramework [Ee]rror\s*:|\s*ErrorMessage "'
    r"|\s*\"?(?:ValueError: )?Error (?:for Training job|training) [^:]{1,200}: \w{1,20}\.?\s*Reason:"
    r"|\s*FailedStatusError: Encountered unexpected failed state.{0,200}|[{\s]*\"?[Ff]ail(?:ed|ure) ?[Rr]eason\"?\s{0,4}:[\"\s]{0,4}"
    r"|\s*(?:uncaught )?[Ee]xception during training:|\s*(?:ExitCode|SystemExit:) (?!1[23]\d\b)\d{1,4}(?=\s|$))+\s*"
)
_CONTAINER = re.compile(
    r"(?:\([A-Z]\w{0,80} pid=\d{1,9}(?:, ip=[\d.]{1,15})?\) |(?:\w{1,40}-)?algo-\d{1,5}-\w{1,20} {1,20}\| |E {3})"
)
_LABEL = re.compile(  # what srun -l and pdsh have there: a task's number or a host's name
    r" {0,3}(?!\S{0,120}(?:Error|Exception))(?:\d{1,5}|(?=\S{0,62}\d)[\w.-]{2,64}): "
    r"(?=\[(?:rank)?\d|Traceback \(| {2}File \"|(?:[A-Za-z_]\w{0,80}\.){0,8}[A-Z]\w{0,80}(?:Error|Exception)\b)"
)
_STAMP = re.compile(  # what CloudWatch, containers' logs and quotations have at the beginning of each line
    r"(?:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?[ \t](?:std(?:out|err) [FP] )?|\d{13}[ \t]|> )"
)
_LOGGED = re.compile(  # an exception that a logger wrote
    r".{0,60}\b(?:ERROR|CRITICAL|FATAL)\b(?:\S{0,40}?[\s:]{1,8}){1,4}?(?=(?:\w{1,80}\.){0,8}[A-Z]\w{0,80}(?:Error|Exception): )"
)
_JSON = re.compile(r'\s*(?:\{.{0,400}?)?"@?(?:message|msg|log|text|body)"\s?:\s?("(?:[^"\\]|\\.)*")')
_STACK = "py_callstack"
_CALM = re.compile(r'"(?:level|severity|levelname)"\s?:\s?"(?:info|debug)"', re.IGNORECASE)
_FLAT = re.compile(r"(?<=\S)\s(?=(?:\w{1,80}\.){0,8}[A-Z]\w{0,80}(?:Error|Exception): )")  # a whole traceback in a line
_ESCAPED = re.compile(r"\\n(?![a-z])")  # and no path of Windows


def pieces(text: str) -> list[str]:
    """The parts that a carriage return or a line break divides, also as JSON writes it; of a long progress bar the last ones."""
    drawn = _ESCAPED.sub("\n", plain(_message(text[: 64 * LONGEST])))
    if "\r" not in drawn and "\n" not in drawn:
        return _FLAT.split(drawn) if TRACEBACK in drawn and ", line " in drawn else [drawn]
    parts = re.split(r"[\r\n]", drawn)
    return parts if len(parts) <= 400 else parts[-400:]


def _message(text: str) -> str:
    """The message of a line that is JSON: CloudWatch's export, a container's log, a logger. Of any other line all of it."""
    if not text.lstrip().startswith(("{", '"')):
        return text
    recorded = _recorded(text) if _STACK in text else ""
    if recorded:
        return recorded
    found = _JSON.match(text)
    try:
        said = str(json.loads(found[1], strict=False)) if found is not None else text
    except ValueError:
        return text
    return f"INFO {said}" if found is not None and _CALM.search(text) else said


def _recorded(text: str) -> str:
    """The traceback in a worker's error file, which torch.distributed.elastic's ``record`` writes; empty where there is none."""
    try:
        message = json.loads(text)["message"]
        return str(message["extraInfo"][_STACK] or message["message"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""


def without_label(text: str) -> str:
    """The line without the task's number or the host's name that a launcher puts in front of it."""
    label = _LABEL.match(text)
    return text[label.end() :] if label is not None else text


def without_stamp(text: str, start: int) -> str:
    """The line from ``start`` without its time."""
    stamp = _STAMP.match(text, start)
    return text[stamp.end() if stamp is not None else start :]


def words_of(text: str, *, short: bool) -> tuple[str, bool]:
    """A line without what others write in front of it, and whether the service or the toolkit did; ``short``: it is no log's."""
    named = _CONTAINER.match(text) or (_LOGGED.match(text[:LONGEST]) if short else None)
    said = (text[named.end() :] if named is not None else text).strip()
    spoken = _SPOKEN.match(said[:LONGEST]) if short else None
    return (said[spoken.end() :].rstrip('"'), True) if spoken is not None else (said, False)
