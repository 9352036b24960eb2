"""CloudWatch Logs' reading operations, for the groups that jobs and endpoints write to.

Other groups are moto's, whose store keeps every line in memory and looks at all of a group's for each page of a filter.
https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_GetLogEvents.html
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Mapping
from typing import Any, Final

from ..api import shapes
from ..api.shapes import given
from ..errors import AwsError
from ..options import EMULATED_ACCOUNT
from .log_store import Line, LogLines

LogRequest = Mapping[str, Any]
LogAnswer = dict[str, Any]

GROUP: Final = "/aws/sagemaker/TrainingJobs"
HOSTED: Final = "/aws/sagemaker/Endpoints/"
_PAGE = 10_000  # events; one answer also ends at 1 MiB
_PAGE_BYTES = 2**20
_STREAMS = 50  # of one answer of DescribeLogStreams
_TOKEN = re.compile(r"([fb])/(\d{34})")
_WRITERS: Final = frozenset({"PutLogEvents", "CreateLogStream", "DeleteLogStream", "DeleteLogGroup", "CreateLogGroup"})


def answer(lines: LogLines, region: str, operation: str, body: LogRequest) -> LogAnswer | None:
    """Answer an operation on a group of ours; None for any other. Raises AwsError."""
    readers = {"DescribeLogStreams": _describe, "GetLogEvents": _get}
    named = str(body.get("logGroupName") or body.get("logGroupIdentifier") or "")
    group = named.rpartition("log-group:")[2].rstrip(":*")  # of an ARN
    if not group.startswith((GROUP, HOSTED)) or operation not in {*readers, *_WRITERS, "FilterLogEvents"}:
        return None
    if operation == "FilterLogEvents":
        raise AwsError("UnknownOperationException", "the emulator filters no logs: GetLogEvents reads a job's streams")
    if operation in _WRITERS:
        raise AwsError("OperationAbortedException", f"{operation}: the emulator alone writes {group!r}")
    try:
        shapes.check(operation, body, "logs")
    except AwsError as fault:
        code = "InvalidParameterException" if fault.code == "ValidationException" else fault.code
        raise AwsError(code, fault.message) from fault
    made = readers[operation](lines, group, body)
    for stream in made.get("logStreams", ()):
        stream["arn"] = (
            f"arn:aws:logs:{region}:{EMULATED_ACCOUNT}:log-group:{group}:log-stream:{stream['logStreamName']}"
        )
    return made


def _describe(lines: LogLines, group: str, body: LogRequest) -> LogAnswer:
    by_time, prefix = body.get("orderBy") == "LastEventTime", body.get("logStreamNamePrefix")
    if by_time and prefix is not None:
        raise _invalid("Cannot order by LastEventTime with a logStreamNamePrefix.")
    rows = [
        given(
            logStreamName=name,
            creationTime=stream.created,
            storedBytes=0,
            firstEventTimestamp=stream.stamps[0] if stream.stamps else None,
            lastEventTimestamp=stream.stamps[-1] if stream.stamps else None,
            lastIngestionTime=stream.stamps[-1] if stream.stamps else None,
        )
        for name, stream in lines.streams(group, str(prefix or ""))
    ]
    if by_time:
        rows.sort(key=lambda row: row.get("lastEventTimestamp", 0))
    if body.get("descending"):
        rows.reverse()
    token, limit = str(body.get("nextToken") or 0), body.get("limit") or _STREAMS
    if not token.isdecimal():
        raise _invalid("The specified nextToken is invalid.")
    end = int(token) + limit
    return given(logStreams=rows[int(token) : end], nextToken=str(end) if end < len(rows) else None)


def _get(lines: LogLines, group: str, body: LogRequest) -> LogAnswer:
    stream = f"{group}:{body.get('logStreamName')}"
    stamps = lines.stamps(stream)
    if stamps is None:
        raise AwsError("ResourceNotFoundException", "The specified log stream does not exist.")
    since, until = body.get("startTime"), body.get("endTime")
    low = bisect.bisect_left(stamps, int(since)) if since is not None else 0
    high = bisect.bisect_left(stamps, int(until)) if until is not None else len(stamps)
    limit = body.get("limit") or _PAGE
    forward, position = _direction(body, low, high)
    start, stop = (max(position, low), high) if forward else (low, min(position, high))
    start, stop = (start, min(stop, start + limit)) if forward else (max(start, stop - limit), max(start, stop))
    page = _capped(list(lines.read(stream, start, stop)), newest=not forward)
    first, last = (page[0].index, page[-1].index + 1) if page else (position, position)
    events = [{"timestamp": line.timestamp, "message": line.message, "ingestionTime": line.ingestion} for line in page]
    return {"events": events, "nextForwardToken": f"f/{last:034d}", "nextBackwardToken": f"b/{first:034d}"}


def _direction(body: LogRequest, low: int, high: int) -> tuple[bool, int]:
    """Return whether a page goes forward, and the line at which it begins."""
    token = body.get("nextToken")
    if token is None:
        forward = bool(body.get("startFromHead"))
        return forward, low if forward else high
    match = _TOKEN.fullmatch(str(token))
    if match is None:
        raise _invalid("The specified nextToken is invalid.")
    return match[1] == "f", int(match[2])


def _capped(page: list[Line], *, newest: bool) -> list[Line]:
    size = 0
    kept: list[Line] = []
    for line in reversed(page) if newest else page:
        size += len(line.message) + 26
        if kept and size > _PAGE_BYTES:
            break
        kept.append(line)
    return kept[::-1] if newest else kept


def _invalid(message: str) -> AwsError:
    return AwsError("InvalidParameterException", message)
