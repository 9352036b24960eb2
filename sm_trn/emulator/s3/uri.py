"""Addresses of objects in S3, as the members of requests spell them."""

from __future__ import annotations

from ...core.specs.places import bucket_and_key
from ..errors import validation


def parse_s3_uri(uri: str) -> tuple[str, str]:
    """Return bucket and key of a place in S3. Raises AwsError for any other form."""
    found = bucket_and_key(uri)
    if found is None:
        raise validation(f"got {uri!r}, wanted a URI of the form s3://bucket/key")
    return found
