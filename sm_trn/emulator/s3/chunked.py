"""S3's ``aws-chunked`` bodies, decoded: pieces with their sizes, then trailers, as SDKs send them to sum while they send.

The signatures of single pieces are not looked at: the request's own holds, and its sender has the key.
https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-streaming.html
"""

from __future__ import annotations

from typing import IO, Protocol

from ..errors import AwsError

_LINE = 8192
_BLOCK = 2**20
_TRAILERS = 20


class Writable(Protocol):
    def write(self, block: bytes, /) -> object: ...


def decode(source: IO[bytes], out: Writable, length: int | None = None) -> dict[str, str]:
    """Write the plain content to ``out``; the trailers, names in lower case. Raises AwsError for a body that is not whole."""
    whole = 0
    while size := _size(source):
        left = size
        while left > 0 and (block := source.read(min(left, _BLOCK))):
            out.write(block)
            left -= len(block)
        whole += size
        if left or source.readline(3) != b"\r\n":
            raise _incomplete()
    if length not in {None, whole}:
        raise _incomplete()
    trailers = {}
    for _ in range(_TRAILERS):
        line = source.readline(_LINE).strip()
        if not line:
            break
        name, _, value = line.decode("latin-1").partition(":")
        trailers[name.strip().lower()] = value.strip()
    return trailers


def _size(source: IO[bytes]) -> int:
    line = source.readline(_LINE)
    try:
        size = int(line.partition(b";")[0].strip() or b"-", 16)
    except ValueError as error:
        raise _incomplete() from error
    if size < 0:
        raise _incomplete()
    return size


def _incomplete() -> AwsError:
    return AwsError("IncompleteBody", "The request body terminated unexpectedly")
