"""These functions answer CloudWatch Logs' reading operations, for the groups that jobs and endpoints write to.

Other groups are moto's. It must not know how a line is stored.
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
from typing import TYPE_CHECKING, Any, Final, Protocol

from ...specs.snapshot import EMULATED_ACCOUNT
from ..errors import AwsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from .log_store import Line, LogLines, StreamFacts

GROUP: Final = "/aws/sagemaker/TrainingJobs"
HOSTED: Final = ("/aws/sagemaker/Endpoints/", "/aws/sagemaker/TransformJobs")
_PAGE = 10_000  # events; one answer also ends at 1 MiB
_PAGE_BYTES = 2**20
_TOKEN = re.compile(r"([fb])/(\d{34})")
_READERS: Final = frozenset({"DescribeLogStreams", "GetLogEvents", "FilterLogEvents"})
_WRITERS: Final = frozenset({"PutLogEvents", "CreateLogStream", "DeleteLogStream", "DeleteLogGroup", "CreateLogGroup"})


class Streams(Protocol):
    """The streams of one group."""

    def streams(self, prefix: str = "") -> list[StreamFacts]: ...
    def has(self, stream: str) -> bool: ...
    def count(self, stream: str) -> int: ...
    def stamps(self, stream: str) -> Sequence[int]: ...
    def read(self, stream: str, start: int, stop: int) -> Iterator[Line]: ...


class _Part:
    """Those of many groups' streams whose names begin with ``prefix``, under their names without it."""

    def __init__(self, lines: LogLines, prefix: str) -> None:
        self._lines = lines
        self._prefix = prefix

    def streams(self, prefix: str = "") -> list[StreamFacts]:
        found = self._lines.streams(self._prefix + prefix)
        return [replace(facts, name=facts.name.removeprefix(self._prefix)) for facts in found]

    def has(self, stream: str) -> bool:
        return self._lines.has(self._prefix + stream)

    def count(self, stream: str) -> int:
        return self._lines.count(self._prefix + stream)

    def stamps(self, stream: str) -> Sequence[int]:
        return self._lines.stamps(self._prefix + stream)

    def read(self, stream: str, start: int, stop: int) -> Iterator[Line]:
        return self._lines.read(self._prefix + stream, start, stop)


class LogsApi:
    """Answers one JSON request at a time."""

    def __init__(self, lines: Streams, region: str, hosted: LogLines | None = None, group: str = GROUP) -> None:
        self._lines = lines
        self._region = region
        self._hosted = hosted
        self._group = group
        self._arn = f"arn:aws:logs:{region}:{EMULATED_ACCOUNT}:log-group:{group}"

    def owns(self, operation: str, body: Mapping[str, Any]) -> bool:
        group = _group(body)
        ours = group == GROUP or (self._hosted is not None and group.startswith(HOSTED))
        return ours and operation in _READERS | _WRITERS

    def answer(self, operation: str, body: Mapping[str, Any]) -> dict[str, Any]:
        group = _group(body)
        if self._hosted is not None and group.startswith(HOSTED):
            return LogsApi(_Part(self._hosted, f"{group}:"), self._region, group=group).answer(operation, body)
        if operation in _WRITERS:
            raise AwsError("OperationAbortedException", f"{operation}: the emulator alone writes {self._group!r}")
        if operation == "DescribeLogStreams":
            return self._describe(body)
        return self._get(body) if operation == "GetLogEvents" else self._filter(body)

    def _describe(self, body: Mapping[str, Any]) -> dict[str, Any]:
        found = self._lines.streams(str(body.get("logStreamNamePrefix") or ""))
        if body.get("orderBy") == "LastEventTime":
            found.sort(key=lambda facts: facts.last or 0)
        if body.get("descending"):
            found.reverse()
        start = _index(body.get("nextToken"))
        limit = min(int(body.get("limit") or 50), 50)
        answer: dict[str, Any] = {"logStreams": [self._facts(facts) for facts in found[start : start + limit]]}
        if start + limit < len(found):
            answer["nextToken"] = str(start + limit)
        return answer

    def _facts(self, facts: StreamFacts) -> dict[str, Any]:
        row: dict[str, Any] = {
            "logStreamName": facts.name,
            "creationTime": facts.created,
            "storedBytes": 0,
            "arn": f"{self._arn}:log-stream:{facts.name}",
        }
        if facts.first is not None:
            row |= {
                "firstEventTimestamp": facts.first,
                "lastEventTimestamp": facts.last,
                "lastIngestionTime": facts.last,
            }
        return row

    def _get(self, body: Mapping[str, Any]) -> dict[str, Any]:
        stream = str(body.get("logStreamName"))
        if not self._lines.has(stream):
            raise AwsError("ResourceNotFoundException", "The specified log stream does not exist.")
        stamps = self._lines.stamps(stream)
        low = bisect.bisect_left(stamps, int(body["startTime"])) if body.get("startTime") is not None else 0
        high = bisect.bisect_left(stamps, int(body["endTime"])) if body.get("endTime") is not None else len(stamps)
        limit = min(int(body.get("limit") or _PAGE), _PAGE)
        forward, position = _direction(body, low, high)
        start, stop = (max(position, low), high) if forward else (low, min(position, high))
        start, stop = (start, min(stop, start + limit)) if forward else (max(start, stop - limit), max(start, stop))
        page = _capped(list(self._lines.read(stream, start, stop)), newest=not forward)
        first, last = (page[0].index, page[-1].index + 1) if page else (position, position)
        events = [
            {"timestamp": line.timestamp, "message": line.message, "ingestionTime": line.ingestion} for line in page
        ]
        return {"events": events, "nextForwardToken": f"f/{last:034d}", "nextBackwardToken": f"b/{first:034d}"}

    def _filter(self, body: Mapping[str, Any]) -> dict[str, Any]:
        wanted = _pattern(str(body.get("filterPattern") or ""))
        names = body.get("logStreamNames")
        prefix = str(body.get("logStreamNamePrefix") or "")
        streams = [f.name for f in self._lines.streams(prefix) if names is None or f.name in names]
        at = _positions(body.get("nextToken"))
        low, high = int(body.get("startTime") or 0), body.get("endTime")
        limit = min(int(body.get("limit") or _PAGE), _PAGE)
        sources = [self._from(name, at.get(name, 0)) for name in streams]
        events: list[dict[str, Any]] = []
        size, full = 0, False
        for _, name, line in heapq.merge(*sources, key=lambda item: item[:2]):
            if len(events) == limit or size > _PAGE_BYTES:
                full = True
                break
            at[name] = line.index + 1
            if line.timestamp >= low and (high is None or line.timestamp <= int(high)) and wanted(line.message):
                events.append(_event(name, line))
                size += len(line.message)
        answer: dict[str, Any] = {"events": events, "searchedLogStreams": []}
        if full:
            answer["nextToken"] = base64.urlsafe_b64encode(json.dumps(at).encode()).decode()
        return answer

    def _from(self, stream: str, start: int) -> Iterator[tuple[int, str, Line]]:
        for line in self._lines.read(stream, start, self._lines.count(stream)):
            yield line.timestamp, stream, line


def _group(body: Mapping[str, Any]) -> str:
    """The group's name, be it given by name or by ARN."""
    given = str(body.get("logGroupName") or body.get("logGroupIdentifier") or "")
    return given.rpartition("log-group:")[2].rstrip(":*")


def _event(stream: str, line: Line) -> dict[str, Any]:
    return {
        "logStreamName": stream,
        "timestamp": line.timestamp,
        "message": line.message,
        "ingestionTime": line.ingestion,
        "eventId": f"{line.timestamp:020d}{line.index:016d}",
    }


def _direction(body: Mapping[str, Any], low: int, high: int) -> tuple[bool, int]:
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
