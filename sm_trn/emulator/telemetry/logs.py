"""These functions answer CloudWatch Logs' reading operations, for the groups that jobs and endpoints write to.

Other groups are moto's, whose store keeps every line in memory and looks at all of a group's for each page of a filter.
https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_GetLogEvents.html
"""

from __future__ import annotations

import base64
import binascii
import bisect
import heapq
import json
import re
from typing import TYPE_CHECKING, Any, Final

from ..api import shapes
from ..api.shapes import given
from ..errors import AwsError
from ..options import EMULATED_ACCOUNT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from .log_store import Line, LogLines, StreamFacts

    LogRequest = Mapping[str, Any]
    LogAnswer = dict[str, Any]

GROUP: Final = "/aws/sagemaker/TrainingJobs"
HOSTED: Final = "/aws/sagemaker/Endpoints/"
_PAGE = 10_000  # events; one answer also ends at 1 MiB
_PAGE_BYTES = 2**20
_STREAMS = 50  # of one answer of DescribeLogStreams
_TOKEN = re.compile(r"([fb])/(\d{34})")
_READERS: Final = frozenset({"DescribeLogStreams", "GetLogEvents", "FilterLogEvents"})
_WRITERS: Final = frozenset({"PutLogEvents", "CreateLogStream", "DeleteLogStream", "DeleteLogGroup", "CreateLogGroup"})


def answer(lines: LogLines, region: str, operation: str, body: LogRequest) -> LogAnswer | None:
    """Answer an operation on a group of ours; None for any other. Raises AwsError."""
    group = _group(body)
    if not group.startswith((GROUP, HOSTED)) or operation not in _READERS | _WRITERS:
        return None
    if operation in _WRITERS:
        raise AwsError("OperationAbortedException", f"{operation}: the emulator alone writes {group!r}")
    _check(operation, body)
    if operation == "DescribeLogStreams":
        return _describe(lines, group, body, f"arn:aws:logs:{region}:{EMULATED_ACCOUNT}:log-group:{group}")
    return _get(lines, group, body) if operation == "GetLogEvents" else _filter(lines, group, body)


def _check(operation: str, body: LogRequest) -> None:
    """Raise the AwsError for what the service model forbids, and for the one rule over two members that it tells in words."""
    try:
        shapes.check(operation, body, "logs")
    except AwsError as fault:
        code = "InvalidParameterException" if fault.code == "ValidationException" else fault.code
        raise AwsError(code, fault.message) from fault
    if body.get("orderBy") == "LastEventTime" and body.get("logStreamNamePrefix") is not None:
        raise AwsError("InvalidParameterException", "Cannot order by LastEventTime with a logStreamNamePrefix.")


def _describe(lines: LogLines, group: str, body: LogRequest, arn: str) -> LogAnswer:
    found = lines.streams(group, str(body.get("logStreamNamePrefix") or ""))
    if body.get("orderBy") == "LastEventTime":
        found.sort(key=lambda facts: facts.last or 0)
    if body.get("descending"):
        found.reverse()
    start = _index(body.get("nextToken"))
    limit = body.get("limit") or _STREAMS
    more = {"nextToken": str(start + limit)} if start + limit < len(found) else {}
    return {"logStreams": [_stream(facts, arn) for facts in found[start : start + limit]], **more}


def _stream(facts: StreamFacts, arn: str) -> dict[str, object]:
    return given(
        logStreamName=facts.name,
        creationTime=facts.created,
        storedBytes=0,
        arn=f"{arn}:log-stream:{facts.name}",
        firstEventTimestamp=facts.first,
        lastEventTimestamp=facts.last,
        lastIngestionTime=facts.last,
    )


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


def _filter(lines: LogLines, group: str, body: LogRequest) -> LogAnswer:
    wanted, names = _pattern(str(body.get("filterPattern") or "")), body.get("logStreamNames")
    found = lines.streams(group, str(body.get("logStreamNamePrefix") or ""))
    at, limit = _positions(body.get("nextToken")), body.get("limit") or _PAGE
    low, high = int(body.get("startTime") or 0), body.get("endTime")
    streams = [facts.name for facts in found if names is None or facts.name in names]
    sources = [_timed(lines, group, name, at.get(name, 0)) for name in streams]
    answer: LogAnswer = {"events": [], "searchedLogStreams": []}
    size = 0
    for _, name, line in heapq.merge(*sources, key=lambda item: item[:2]):
        if len(answer["events"]) == limit or size > _PAGE_BYTES:
            answer["nextToken"] = base64.urlsafe_b64encode(json.dumps(at).encode()).decode()
            break
        at[name] = line.index + 1
        if line.timestamp >= low and (high is None or line.timestamp <= int(high)) and wanted(line.message):
            answer["events"].append(_event(name, line))
            size += len(line.message)
    return answer


def _timed(lines: LogLines, group: str, stream: str, start: int) -> Iterator[tuple[int, str, Line]]:
    """Yield a stream's lines from a position on, to be merged with those of others."""
    name = f"{group}:{stream}"
    for line in lines.read(name, start, lines.count(name)):
        yield line.timestamp, stream, line


def _group(body: LogRequest) -> str:
    """The group's name, be it given by name or by ARN."""
    given = str(body.get("logGroupName") or body.get("logGroupIdentifier") or "")
    return given.rpartition("log-group:")[2].rstrip(":*")


def _event(stream: str, line: Line) -> dict[str, str | int]:
    return {
        "logStreamName": stream,
        "timestamp": line.timestamp,
        "message": line.message,
        "ingestionTime": line.ingestion,
        "eventId": f"{line.timestamp:020d}{line.index:016d}",
    }


def _direction(body: LogRequest, low: int, high: int) -> tuple[bool, int]:
    token = body.get("nextToken")
    if token is None:
        forward = bool(body.get("startFromHead"))
        return forward, low if forward else high
    match = _TOKEN.fullmatch(str(token))
    if match is None:
        raise AwsError("InvalidParameterException", "The specified nextToken is invalid.")
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


def _index(token: object) -> int:
    if token is None:
        return 0
    if not str(token).isdecimal():
        raise AwsError("InvalidParameterException", "The specified nextToken is invalid.")
    return int(str(token))


def _positions(token: object) -> dict[str, int]:
    if token is None:
        return {}
    try:
        found = json.loads(base64.urlsafe_b64decode(str(token)))
        return {str(name): int(at) for name, at in found.items()}
    except (binascii.Error, ValueError, AttributeError) as error:
        raise AwsError("InvalidParameterException", "The specified nextToken is invalid.") from error


def _pattern(text: str) -> Callable[[str], bool]:
    """Terms and quoted phrases: all of them, any of those with `?`, none of those with `-`."""
    text = text.strip()
    if text.startswith(("{", "[", "%")):
        raise AwsError(
            "InvalidParameterException", "the emulator knows plain terms only, not structured filter patterns"
        )
    terms = [(sign, quoted or plain) for sign, quoted, plain in re.findall(r'([?-]?)(?:"([^"]*)"|([^\s"]+))', text)]
    every = [term for sign, term in terms if not sign]
    some = [term for sign, term in terms if sign == "?"]
    none = [term for sign, term in terms if sign == "-"]
    return lambda message: (
        all(term in message for term in every)
        and (not some or any(term in message for term in some))
        and not any(term in message for term in none)
    )
