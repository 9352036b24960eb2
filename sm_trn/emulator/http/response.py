"""These values hold what a request is answered with, before it is written to the connection."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import AwsError

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


def document(body: bytes) -> Mapping[str, Any]:
    """The JSON object of a request. Raises AwsError for anything else."""
    try:
        read = json.loads(body or b"{}")
    except (ValueError, RecursionError) as error:
        raise AwsError("SerializationException", f"the body is not JSON: {error}") from error
    if not isinstance(read, dict):
        raise AwsError("SerializationException", "the body is not a JSON object")
    return read


def json_body(answer: Mapping[str, Any]) -> tuple[Mapping[str, str], bytes]:
    """Headers and body of an answer of the JSON protocol."""
    return {"Content-Type": "application/x-amz-json-1.1"}, json.dumps(answer).encode()
