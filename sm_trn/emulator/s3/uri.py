"""This module reads the addresses of objects in S3, as the members of requests spell them."""

from __future__ import annotations

from ..errors import validation


def parse_s3_uri(uri: str) -> tuple[str, str]:
    """Return bucket and key of ``s3://bucket/key``. Raises AwsError for any other form."""
    if not uri.startswith("s3://"):
        raise validation(f"got {uri!r}, wanted a URI of the form s3://bucket/key")
    bucket, _, key = uri.removeprefix("s3://").partition("/")
    return bucket, key
