"""A job's lines out of CloudWatch Logs: every stream of every host, forward tokens, nothing twice, a page at a time.

What is promised about order: each stream keeps its own; streams are interleaved by time within one look. A host whose
lines reach CloudWatch late is late – its lines come with the next look, with their own times, and are never dropped.
https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_GetLogEvents.html
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator, Mapping
from itertools import islice
from operator import itemgetter
from typing import Any, NamedTuple

import boto3

from ..errors import CloudError
from ..logs.events import LogEvent, host_of
from ..ports import LogBatch, LogCursor, StreamPlace
from .backend import make_client
from .errors import as_cloud_error

GROUP = "/aws/sagemaker/TrainingJobs"
SELDOM = 30  # looks between two listings of streams once all that are expected are known
_PAGE = 10_000  # events; the service's own limit, beside 1 MiB
_PAGE_CHARACTERS = 2**20 // 4  # a page with fewer has room left, whatever its characters are
_HELD = 200_000  # events of all streams together that are held at a time
_BY_TIME = ""  # in a place of a token: the token had expired, the time is where we stand


class CloudWatchLogs:
    """The ``LogSource`` port. Streams are ``<job>/algo-<n>-<epoch>``; a restart of a spot job opens new ones."""

    def __init__(self, session: boto3.Session) -> None:
        self._logs = make_client(session, "logs")

    def fetch_events(
        self, job_name: str, cursor: LogCursor, *, streams: int | None = None
    ) -> tuple[list[LogEvent], LogCursor]:
        """Return the events since ``cursor``, in time order, and the cursor to come back with.

        Raises CloudError; the cursor that was given is then still the right one.
        """
        events: list[LogEvent] = []
        for batch in self.stream_events(job_name, cursor, streams=streams):
            events.extend(batch.events)
            cursor = batch.cursor
        return events, cursor

    def stream_events(self, job_name: str, cursor: LogCursor, *, streams: int | None = None) -> Iterator[LogBatch]:
        """The same piece by piece: at most one page of each stream is held. Raises CloudError between two batches; the
        cursor of the last batch is then the right one, and nothing is lost or doubled."""
        readers = [
            _Stream(self._logs, place, since_ms=cursor.since_ms, whole=streams is None)
            for place in self._places(job_name, cursor, streams)
        ]
        limit = max(1000, min(_PAGE, _HELD // max(1, len(readers))))
        while True:
            for reader in readers:
                while not reader.waiting and not reader.done:
                    reader.fill(limit)
            finished = not any(reader.waiting for reader in readers)
            events = () if finished else tuple(_ready(readers))
            looks = cursor.looks + finished
            yield LogBatch(events, LogCursor(tuple(reader.place for reader in readers), looks, cursor.since_ms))
            if finished:
                return

    def _places(self, job_name: str, cursor: LogCursor, streams: int | None) -> list[StreamPlace]:
        """The known streams, and new ones when there can be any.

        A running job has one stream a host and attempt, so a listing can only find something while fewer are known. More
        than expected happens when the service restarts a host on its own: therefore seldom, and at the end, all the same.
        """
        known = {place.stream: place for place in cursor.places}
        if streams is None or len(known) < streams or cursor.looks % SELDOM == SELDOM - 1:
            for stream in self._streams(job_name):
                known.setdefault(stream, StreamPlace(stream=stream))
        return list(known.values())

    def _streams(self, job_name: str) -> list[str]:
        try:
            with as_cloud_error("DescribeLogStreams", job_name):
                pages = self._logs.get_paginator("describe_log_streams").paginate(
                    logGroupName=GROUP, logStreamNamePrefix=f"{job_name}/"
                )
                return [stream["logStreamName"] for page in pages for stream in page["logStreams"]]
        except CloudError as error:
            if error.code == "ResourceNotFoundException":
                return []  # no job of this account has ever logged
            raise


class _Page(NamedTuple):
    """One answer of GetLogEvents: each event's time and text."""

    events: list[tuple[int, str]]
    following: str
    characters: int


def _page(answer: Mapping[str, Any]) -> _Page:
    """Read all of an answer at once. Raises KeyError or TypeError for one that is not the service's."""
    events = [(event["timestamp"] + 0, event["message"]) for event in answer["events"]]
    return _Page(events, str(answer["nextForwardToken"]), len("".join([message for _, message in events])))


class _Stream:
    """One stream: a page of events, what of it was handed out, and where that leaves us."""

    def __init__(self, client: Any, place: StreamPlace, *, since_ms: int | None, whole: bool) -> None:
        self._client = client
        self._since_ms = since_ms
        self._whole = whole
        self._stream, self._host = place.stream, host_of(place.stream)
        self._token = place.token
        self._skip = place.same if place.token == _BY_TIME else place.skip
        self._at_ms, self._same = place.at_ms, place.same
        self._following: str | None = None
        self._page = 0  # events in it
        self._order = 0.0  # never falls, even where the service's times do
        self.waiting: deque[tuple[float, int, LogEvent]] = deque()
        self.done = False

    @property
    def place(self) -> StreamPlace:
        return StreamPlace(stream=self._stream, token=self._token, skip=self._skip, at_ms=self._at_ms, same=self._same)

    def fill(self, limit: int) -> None:
        """One GetLogEvents. The stream has ended for now when the service gives the token back that it was given – an
        empty page alone says nothing – or, in a quick look, when a page has room left."""
        page = self._ask(limit)
        if page is None:
            self.done = True
            return
        room = len(page.events) < limit and page.characters < _PAGE_CHARACTERS
        self.done = page.following == self._token or (not self._whole and bool(page.events) and room)
        self._following, self._page = page.following, len(page.events)
        for at_ms, message in islice(page.events, self._skip, None):
            self._order = max(self._order, at_ms / 1000)
            self.waiting.append((self._order, at_ms, LogEvent(at_ms / 1000, self._host, message)))
        if not self.waiting:
            self._turn()

    def take(self, bound: float) -> Iterator[tuple[float, LogEvent]]:
        """Hand out what is not later than ``bound``; the place moves along."""
        while self.waiting and self.waiting[0][0] <= bound:
            order, at_ms, event = self.waiting.popleft()
            if self._at_ms is None or at_ms > self._at_ms:
                self._at_ms, self._same = at_ms, 0
            self._same += at_ms == self._at_ms
            self._skip += 1
            yield order, event
        if not self.waiting:
            self._turn()

    def _turn(self) -> None:
        """The page is used up: the next one is wanted."""
        if self._following is not None:
            # What is to be skipped may go on in the next page: by time, a page may be empty or short.
            self._token, self._skip, self._following = self._following, max(0, self._skip - self._page), None

    def _ask(self, limit: int) -> _Page | None:
        place: dict[str, Any] = {} if limit == _PAGE else {"limit": limit}
        if self._token == _BY_TIME or (self._token is None and self._since_ms is not None):
            start = self._at_ms if self._token == _BY_TIME else None
            place["startTime"] = start if start is not None else self._since_ms or 0
        elif self._token is not None:
            place["nextToken"] = self._token
        try:
            with as_cloud_error("GetLogEvents", self._stream):
                return _page(
                    self._client.get_log_events(
                        logGroupName=GROUP, logStreamName=self._stream, startFromHead=True, **place
                    )
                )
        except CloudError as error:
            if error.code == "InvalidParameterException" and self._token:
                self._token, self._skip = _BY_TIME, self._same  # events at that time come first, and were read
                return self._ask(limit)
            if error.code == "ResourceNotFoundException":
                return None  # deleted, or its retention has passed
            raise


def _ready(readers: list[_Stream]) -> Iterator[LogEvent]:
    """All events that no event still to come can precede: up to the end of the page that ends first."""
    bound = min(
        (reader.waiting[-1][0] for reader in readers if reader.waiting and not reader.done), default=float("inf")
    )
    merged = heapq.merge(*(list(reader.take(bound)) for reader in readers), key=itemgetter(0))
    return (event for _, event in merged)
