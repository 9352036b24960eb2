"""Places in S3 as requests name them: ``s3://bucket/key``, or an address of S3's own endpoints. Asks nobody."""

from __future__ import annotations

import re

_HOST = r"s3(?:[.-](?:dualstack\.)?[a-z0-9-]{1,40})?(?:\.[a-z0-9-]{1,40})?\.amazonaws\.com(?:\.cn)?"
_ADDRESS = re.compile(
    rf"https://(?:{_HOST}/(?P<path>[^/]{{3,63}})|(?P<host>[a-z0-9.-]{{3,63}}?)\.{_HOST})(?:/(?P<key>.*))?"
)


def bucket_and_key(uri: str) -> tuple[str, str] | None:
    """Bucket and key of a place in S3; None for anything else.

    SageMaker takes both spellings: the members ``S3Uri`` and ``S3OutputPath`` of botocore's model have the pattern
    ``(https|s3)://([^/]+)/?(.*)``, and AWS's older notebooks write the second one.

    >>> from sm_trn.core.specs.places import bucket_and_key
    >>> bucket_and_key("s3://my-bucket/models/bert")
    ('my-bucket', 'models/bert')
    >>> bucket_and_key("https://s3-us-west-2.amazonaws.com/my-bucket/models")
    ('my-bucket', 'models')
    >>> bucket_and_key("https://my-bucket.s3.eu-west-1.amazonaws.com/models")
    ('my-bucket', 'models')
    >>> bucket_and_key("https://example.com/my-bucket") is None
    True
    """
    if uri.startswith("s3://"):
        bucket, _, key = uri.removeprefix("s3://").partition("/")
        return (bucket, key) if bucket else None
    found = _ADDRESS.fullmatch(uri)
    return (found["path"] or found["host"], found["key"] or "") if found else None
