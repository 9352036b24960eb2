"""A job's lines out of CloudWatch Logs: every stream of every host, forward tokens, nothing twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import boto3
from botocore.exceptions import ClientError

from ..logs import LogEvent, host_of, merge
from ..ports import LogCursor
from .backend import make_client
from .errors import as_cloud_error

GROUP = "/aws/sagemaker/TrainingJobs"


class CloudWatchLogs:
    """The ``LogSource`` port. Streams are ``<job>/algo-<n>-<epoch>``; a restart of a spot job opens new ones."""

    def __init__(self, session: boto3.Session) -> None:
        self._logs = make_client(session, "logs")

    def fetch_events(self, job_name: str, cursor: LogCursor) -> tuple[list[LogEvent], LogCursor]:
        """What is new since ``cursor``, in time order, and the cursor to come back with."""
        tokens = dict(cursor.tokens)
        batches: list[list[LogEvent]] = []
        for stream in self._streams(job_name):
            events, tokens[stream] = self._read(stream, tokens.get(stream))
            batches.append(events)
        return list(merge(batches)), LogCursor(tuple(tokens.items()))

    def _streams(self, job_name: str) -> list[str]:
        try:
            with as_cloud_error("DescribeLogStreams", job_name):
                return list(self._stream_names(job_name))
        except Exception as error:
            if isinstance(error.__cause__, ClientError) and _code(error.__cause__) == "ResourceNotFoundException":
                return []  # no job of this account has ever logged
            raise

    def _stream_names(self, job_name: str) -> Iterator[str]:
        pages = self._logs.get_paginator("describe_log_streams").paginate(
            logGroupName=GROUP, logStreamNamePrefix=f"{job_name}/"
        )
        for page in pages:
            yield from (stream["logStreamName"] for stream in page["logStreams"])

    def _read(self, stream: str, token: str | None) -> tuple[list[LogEvent], str]:
        """Read a stream to its present end: the service says so by giving the same forward token again."""
        events: list[LogEvent] = []
        host = host_of(stream)
        while True:
            place: dict[str, Any] = {"nextToken": token} if token else {}
            with as_cloud_error("GetLogEvents", stream):
                answer = self._logs.get_log_events(
                    logGroupName=GROUP, logStreamName=stream, startFromHead=True, **place
                )
            events.extend(LogEvent(event["timestamp"] / 1000, host, event["message"]) for event in answer["events"])
            following = str(answer["nextForwardToken"])
            if following == token or (token is None and not answer["events"]):
                return events, following
            token = following


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))
