"""These values hold what a request is answered with, before it is written to the connection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator


class Blocks(Protocol):
    def __iter__(self) -> Iterator[bytes]: ...
    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Answer:
    """``body`` is bytes, or blocks that add up to the Content-Length among the headers; these have ``close``.

    ``of_an_object``: the headers are those of an object of S3, with nothing to be added.
    """

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes | Blocks
    of_an_object: bool = False
