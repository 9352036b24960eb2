"""CloudWatch Logs as its readers meet it: pages with tokens, empty pages in between, late events, faults, expired tokens.

Answers a real boto3 client through botocore's ``before-send`` event, so that retries, parsing and errors are botocore's own.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import boto3
from botocore.awsrequest import AWSResponse
from botocore.config import Config

GROUP = "/aws/sagemaker/TrainingJobs"
THROTTLED = (400, {"__type": "ThrottlingException", "message": "Rate exceeded"})
BROKEN = (500, {"__type": "InternalFailure", "message": "broken"})


class LogService:
    """Fill ``streams`` with (milliseconds, text); what was asked is counted in ``calls``."""

    def __init__(self, page: int = 10_000) -> None:
        self.streams: dict[str, list[tuple[int, str]]] = {}
        self.page = page
        self.calls: Counter[str] = Counter()
        self.empty_pages = 0  # so many empty pages before each page that holds events
        self.fault: Callable[[int], tuple[int, dict[str, str]] | None] = lambda _: None  # by number of the call
        self.lifetime = 0  # tokens given out before this generation are no longer valid
        self._number = itertools.count()

    def session(self, attempts: int = 1) -> boto3.Session:
        """A boto3 session whose clients talk to this object, with so many attempts a call."""
        service = self

        class Session(boto3.Session):  # type: ignore[misc]  # boto3 has no types
            def client(self, name: str, **_: Any) -> Any:
                config = Config(retries={"mode": "standard", "total_max_attempts": attempts})
                client = super().client(name, config=config, region_name="us-west-2")
                client.meta.events.register("before-send.cloudwatch-logs", service._answer)
                return client

        return Session(aws_access_key_id="x", aws_secret_access_key="x", region_name="us-west-2")

    def _answer(self, request: Any, **_: Any) -> AWSResponse:
        operation = request.headers["X-Amz-Target"].decode().partition(".")[2]
        self.calls[operation] += 1
        status, body = self.fault(next(self._number)) or self._look(operation, json.loads(request.body))
        raw = json.dumps(body).encode()
        answer = AWSResponse(request.url, status, {"content-type": "application/x-amz-json-1.1"}, None)
        answer._content = raw
        return answer

    def _look(self, operation: str, asked: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if operation == "DescribeLogStreams":
            return self._describe(asked)
        events = self.streams.get(asked["logStreamName"])
        if events is None:
            return 400, {"__type": "ResourceNotFoundException", "message": "The specified log stream does not exist."}
        position, blanks = 0, self.empty_pages
        if "nextToken" in asked:
            generation, position, blanks = (int(part) for part in asked["nextToken"].split("/"))
            if generation < self.lifetime:
                return 400, {"__type": "InvalidParameterException", "message": "The specified nextToken is invalid."}
        elif "startTime" in asked:
            position = next((i for i, (at, _) in enumerate(events) if at >= asked["startTime"]), len(events))
        limit = min(self.page, asked.get("limit", self.page))
        if blanks and position < len(events):
            return 200, {"events": [], "nextForwardToken": f"{self.lifetime}/{position}/{blanks - 1}"}
        found = [{"timestamp": at, "message": text} for at, text in events[position : position + limit]]
        after = position + len(found)
        left = self.empty_pages if found else blanks
        return 200, {"events": found, "nextForwardToken": f"{self.lifetime}/{after}/{left}"}

    def _describe(self, asked: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        names = sorted(name for name in self.streams if name.startswith(asked["logStreamNamePrefix"]))
        if not self.streams:
            return 400, {"__type": "ResourceNotFoundException", "message": "The specified log group does not exist."}
        at = int(asked.get("nextToken", 0))
        body: dict[str, Any] = {"logStreams": [{"logStreamName": name} for name in names[at : at + 50]]}
        if at + 50 < len(names):
            body["nextToken"] = str(at + 50)
        return 200, body
