"""Digests of the files that a job left in S3, read without unpacking them."""

from __future__ import annotations

import hashlib
import tarfile
import tempfile
from typing import Any

import boto3

from ..archives import Member
from ..errors import CloudError
from ..specs.data import bucket_and_key
from .backend import make_client
from .errors import as_cloud_error

IN_MEMORY_BYTES = 16_000_000
CHUNK = 1 << 20


def model_digests(session: boto3.Session, uri: str) -> dict[str, str]:
    """SHA-256 by name of every file of the ``model.tar.gz``, or of every object below a prefix. Raises CloudError."""
    bucket, key = bucket_and_key(uri) or (uri, "")
    client = make_client(session, "s3")
    with as_cloud_error("GetObject", uri):
        if key.endswith(".tar.gz"):
            return _of_tar(client, bucket, key, uri)
        prefix = f"{key.rstrip('/')}/"
        pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
        names = [item["Key"] for page in pages for item in page.get("Contents", ())]
        return {
            name.removeprefix(prefix): _digest(client.get_object(Bucket=bucket, Key=name)["Body"]) for name in names
        }


def _of_tar(client: Any, bucket: str, key: str, uri: str) -> dict[str, str]:
    with tempfile.SpooledTemporaryFile(max_size=IN_MEMORY_BYTES) as file:
        client.download_fileobj(bucket, key, file)
        file.seek(0)
        try:
            with tarfile.open(fileobj=file, mode="r:gz", tarinfo=Member) as tar:
                return {
                    member.name.removeprefix("./"): _digest(tar.extractfile(member))
                    for member in tar
                    if member.isfile()
                }
        except (tarfile.TarError, EOFError, OSError) as error:
            raise CloudError(
                f"{uri}: got no readable tar.gz ({error}), wanted a model", operation="GetObject"
            ) from error


def _digest(file: Any) -> str:
    digest = hashlib.sha256()
    while chunk := file.read(CHUNK):
        digest.update(chunk)
    return digest.hexdigest()
