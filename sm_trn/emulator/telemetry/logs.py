"""These functions answer CloudWatch Logs' reading operations, for the groups that jobs and endpoints write to.

Other groups are moto's.
https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_GetLogEvents.html
"""

from __future__ import annotations

import base64
import binascii
import bisect
import heapq
import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from typing_extensions import TypedDict

from ...core.specs.snapshot import EMULATED_ACCOUNT
from ..api import shapes
from ..api.shapes import given
from ..errors import AwsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .log_store import Line, LogLines, StreamFacts

GROUP: Final = "/aws/sagemaker/TrainingJobs"
HOSTED: Final = ("/aws/sagemaker/Endpoints/", "/aws/sagemaker/TransformJobs", "/aws/sagemaker/ProcessingJobs")
_PAGE = 10_000  # events; one answer also ends at 1 MiB
_PAGE_BYTES = 2**20
_STREAMS = 50  # of one answer of DescribeLogStreams
_TOKEN = re.compile(r"([fb])/(\d{34})")
_READERS: Final = frozenset({"DescribeLogStreams", "GetLogEvents", "FilterLogEvents"})
_WRITERS: Final = frozenset({"PutLogEvents", "CreateLogStream", "DeleteLogStream", "DeleteLogGroup", "CreateLogGroup"})


class LogRequest(TypedDict, total=False):
    """This is what is read of the requests. Those for other groups are moto's, and are not checked here."""

    logGroupName: str
    logGroupIdentifier: str
    logStreamName: str
    logStreamNames: list[str]
    logStreamNamePrefix: str
    filterPattern: str
    startTime: int
    endTime: int
    startFromHead: bool
    orderBy: str
    descending: bool
    limit: int
    nextToken: str


class LogAnswer(TypedDict, total=False):
    """This is what the answers say."""

    events: list[dict[str, str | int]]
    logStreams: list[dict[str, str | int]]
    searchedLogStreams: list[str]
    nextToken: str
    nextForwardToken: str
    nextBackwardToken: str


class _Group:
    """The streams of one group: those whose names begin with ``prefix``, under their names without it."""

    def __init__(self, lines: LogLines, prefix: str) -> None:
        self._lines = lines
        self._prefix = prefix

    def streams(self, prefix: str) -> list[StreamFacts]:
        found = self._lines.streams(self._prefix + prefix)
        return [replace(facts, name=facts.name.removeprefix(self._prefix)) for facts in found]

    def stamps(self, stream: str) -> Sequence[int] | None:
        """Return the times of a stream's lines; None where there is no such stream."""
        name = self._prefix + stream
        return self._lines.stamps(name) if self._lines.has(name) else None

    def read(self, stream: str, start: int, stop: int) -> Iterator[Line]:
        return self._lines.read(self._prefix + stream, start, stop)

    def timed(self, stream: str, start: int) -> Iterator[tuple[int, str, Line]]:
        """Yield a stream's lines from a position on, to be merged with those of others."""
        for line in self.read(stream, start, self._lines.count(self._prefix + stream)):
            yield line.timestamp, stream, line


class LogsApi:
    """Answers one JSON request at a time. Jobs' lines are in a store of their own, those of other groups in ``hosted``."""

    def __init__(self, lines: LogLines, region: str, hosted: LogLines | None = None) -> None:
        self._lines = lines
        self._region = region
        self._hosted = hosted

    def owns(self, operation: str, body: LogRequest) -> bool:
        group = _group(body)
        ours = group == GROUP or (self._hosted is not None and group.startswith(HOSTED))
        return ours and operation in _READERS | _WRITERS

    def answer(self, operation: str, body: LogRequest) -> LogAnswer:
        """Answer an operation that this one owns. Raises AwsError."""
        name = _group(body) or GROUP
        if operation in _WRITERS:
            raise AwsError("OperationAbortedException", f"{operation}: the emulator alone writes {name!r}")
        _check(operation, body)
        hosted = self._hosted if name.startswith(HOSTED) else None
        group = _Group(self._lines, "") if hosted is None else _Group(hosted, f"{name}:")
        if operation == "DescribeLogStreams":
            return _describe(group, body, f"arn:aws:logs:{self._region}:{EMULATED_ACCOUNT}:log-group:{name}")
        return _get(group, body) if operation == "GetLogEvents" else _filter(group, body)


def _check(operation: str, body: LogRequest) -> None:
    """Raise the AwsError for what the service model forbids, and for the one rule over two members that it tells in words."""
    try:
        shapes.check(operation, body, "logs")
    except AwsError as fault:
        code = "InvalidParameterException" if fault.code == "ValidationException" else fault.code
        raise AwsError(code, fault.message) from fault
    if body.get("orderBy") == "LastEventTime" and body.get("logStreamNamePrefix") is not None:
        raise AwsError("InvalidParameterException", "Cannot order by LastEventTime with a logStreamNamePrefix.")


def _describe(group: _Group, body: LogRequest, arn: str) -> LogAnswer:
    found = group.streams(str(body.get("logStreamNamePrefix") or ""))
    if body.get("orderBy") == "LastEventTime":
        found.sort(key=lambda facts: facts.last or 0)
    if body.get("descending"):
        found.reverse()
    start = _index(body.get("nextToken"))
    limit = body.get("limit") or _STREAMS
    more: LogAnswer = {"nextToken": str(start + limit)} if start + limit < len(found) else {}
    return {"logStreams": [_stream(facts, arn) for facts in found[start : start + limit]], **more}


def _stream(facts: StreamFacts, arn: str) -> dict[str, str | int]:
    return given(
        logStreamName=facts.name,
        creationTime=facts.created,
        storedBytes=0,
        arn=f"{arn}:log-stream:{facts.name}",
        firstEventTimestamp=facts.first,
        lastEventTimestamp=facts.last,
        lastIngestionTime=facts.last,
    )


def _get(group: _Group, body: LogRequest) -> LogAnswer:
    stream = str(body.get("logStreamName"))
    stamps = group.stamps(stream)
    if stamps is None:
        raise AwsError("ResourceNotFoundException", "The specified log stream does not exist.")
    since, until = body.get("startTime"), body.get("endTime")
    low = bisect.bisect_left(stamps, int(since)) if since is not None else 0
    high = bisect.bisect_left(stamps, int(until)) if until is not None else len(stamps)
    limit = body.get("limit") or _PAGE
    forward, position = _direction(body, low, high)
    start, stop = (max(position, low), high) if forward else (low, min(position, high))
    start, stop = (start, min(stop, start + limit)) if forward else (max(start, stop - limit), max(start, stop))
    page = _capped(list(group.read(stream, start, stop)), newest=not forward)
    first, last = (page[0].index, page[-1].index + 1) if page else (position, position)
    events: list[dict[str, str | int]] = [
        {"timestamp": line.timestamp, "message": line.message, "ingestionTime": line.ingestion} for line in page
    ]
    return {"events": events, "nextForwardToken": f"f/{last:034d}", "nextBackwardToken": f"b/{first:034d}"}


def _filter(group: _Group, body: LogRequest) -> LogAnswer:
    wanted, names = _pattern(str(body.get("filterPattern") or "")), body.get("logStreamNames")
    found = group.streams(str(body.get("logStreamNamePrefix") or ""))
    at, limit = _positions(body.get("nextToken")), body.get("limit") or _PAGE
    low, high = int(body.get("startTime") or 0), body.get("endTime")
    streams = [facts.name for facts in found if names is None or facts.name in names]
    sources = [group.timed(name, at.get(name, 0)) for name in streams]
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
