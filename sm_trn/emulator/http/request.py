"""A request as it came over the connection, and its answer before it is written there."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import IO, Any

from ..errors import AwsError


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """``raw_path`` and ``query`` are still percent-encoded; ``headers`` are as sent, with names in lower case, ``fields`` joined by name.

    ``known_caller`` tells the server that a key's holder sent it; ``environ`` is for other WSGI applications.
    """

    method: str
    path: str
    raw_path: str
    query: str
    headers: tuple[tuple[str, str], ...]
    content: IO[bytes]
    chunked: bool = False
    known_caller: Callable[[], None] = lambda: None
    environ: Any = None
    fields: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        joined: dict[str, str] = {}
        for name, value in self.headers:
            joined[name] = f"{joined[name]},{value}" if name in joined else value
        object.__setattr__(self, "fields", joined)

    @classmethod
    def of(cls, environ: dict[str, Any]) -> HttpRequest:
        """Read a WSGI request of ``http.server.LoopbackServer``."""
        raw_path, _, query = environ["REQUEST_URI"].partition("?")
        return cls(
            method=environ["REQUEST_METHOD"],
            path=environ["PATH_INFO"],
            raw_path=raw_path,
            query=query,
            headers=tuple((name.lower(), str(value)) for name, value in environ["sm_trn.headers"]),
            content=environ["wsgi.input"],
            chunked=bool(environ.get("wsgi.input_terminated")),
            known_caller=environ["sm_trn.known_caller"],
            environ=environ,
        )

    @property
    def target(self) -> tuple[str, str]:
        """Return the service and the operation that a request of the JSON protocol names; empty where it names none."""
        prefix, _, operation = self.fields.get("x-amz-target", "").rpartition(".")
        return prefix, operation


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


def json_answer(document: Mapping[str, Any]) -> Answer:
    """Return an answer of the JSON protocol."""
    return Answer(200, (("Content-Type", "application/x-amz-json-1.1"),), json.dumps(document).encode())


def json_document(body: bytes) -> Mapping[str, Any]:
    """Return the JSON object of a request. Raises AwsError for anything else."""
    try:
        document = json.loads(body or b"{}")
    except (ValueError, RecursionError) as error:
        raise AwsError("SerializationException", f"the body is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise AwsError("SerializationException", "the body is not a JSON object")
    return document
