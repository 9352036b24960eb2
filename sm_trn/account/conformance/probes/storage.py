"""Objects under the run's own prefix: put, read, listed, fetched by presigned URLs, and deleted; and what a job wrote."""

from __future__ import annotations

from typing import Final

from ....core.specs.json import Object
from ..bench import Bench
from ..probe import STORAGE, Probe

_BODY = b"conformance line\n"


def _key(bench: Bench, name: str) -> dict[str, str]:
    return {"Bucket": bench.place.bucket, "Key": f"{bench.place.root}/objects/{name}"}


def _put(bench: Bench, name: str) -> None:
    bench.ask("s3:PutObject", {**_key(bench, name), "Body": _BODY}, kept=False)


def _read(bench: Bench) -> None:
    _put(bench, "read.txt")
    kept = ("ContentLength", "ContentType", "LastModified", "ETag")
    for call in ("s3:HeadObject", "s3:GetObject"):
        bench.ask(call, _key(bench, "read.txt"), keep=lambda answer: {k: v for k, v in answer.items() if k in kept})
    bench.ask("s3:GetObject", {**_key(bench, "read.txt"), "Range": "bytes=99-"}, "from behind its end")


def _missing(bench: Bench) -> None:
    bench.ask("s3:GetObject", _key(bench, "absent.txt"))
    bench.ask("s3:HeadObject", _key(bench, "absent.txt"))


def _presigned(bench: Bench) -> None:
    _put(bench, "signed.txt")
    bench.presigned("GetObject", _key(bench, "signed.txt"), "as it was signed")
    bench.presigned("GetObject", _key(bench, "signed.txt"), "with another method", method="PUT")
    bench.presigned("GetObject", _key(bench, "absent.txt"), "of nothing")


def _listed(bench: Bench) -> None:
    for name in ("list/a.txt", "list/b.txt"):
        _put(bench, name)
    request: Object = {"Bucket": bench.place.bucket, "Prefix": f"{bench.place.root}/objects/list/", "MaxKeys": 1}
    kept = ("KeyCount", "MaxKeys", "IsTruncated", "NextContinuationToken", "Prefix")
    bench.ask(
        "s3:ListObjectsV2", request, "first page", keep=lambda answer: {k: answer[k] for k in kept if k in answer}
    )


def _deleted(bench: Bench) -> None:
    _put(bench, "deleted.txt")
    bench.ask("s3:DeleteObject", _key(bench, "deleted.txt"), keep=lambda _answer: {})
    bench.ask("s3:GetObject", _key(bench, "deleted.txt"), "after it was deleted")
    bench.ask("s3:DeleteObject", _key(bench, "deleted.txt"), "once more", keep=lambda _answer: {})


def _artefact(bench: Bench) -> None:
    bench.until("plain", kept=False)
    key = f"{bench.place.root}/out/{bench.name('plain')}/output/model.tar.gz"
    request: Object = {"Bucket": bench.place.bucket, "Key": key}
    bench.ask("s3:HeadObject", request, "model.tar.gz", keep=lambda answer: {"ContentType": answer.get("ContentType")})


PROBES: Final = (
    Probe(
        name="an object", battery=STORAGE, sends=("s3:PutObject", "s3:HeadObject", "s3:GetObject"), send=_read, bucket=True
    ),
    Probe(
        name="an object that does not exist",
        battery=STORAGE,
        sends=("s3:GetObject", "s3:HeadObject"),
        send=_missing,
        bucket=True,
    ),
    Probe(
        name="presigned URLs", battery=STORAGE, sends=("s3:PutObject", "s3:presigned"), send=_presigned, bucket=True
    ),
    Probe(
        name="a page of objects",
        battery=STORAGE,
        sends=("s3:PutObject", "s3:ListObjectsV2"),
        send=_listed,
        bucket=True,
    ),
    Probe(
        name="a deleted object",
        battery=STORAGE,
        sends=("s3:PutObject", "s3:DeleteObject", "s3:GetObject"),
        send=_deleted,
        bucket=True,
    ),
    Probe(
        name="a job's model",
        battery=STORAGE,
        sends=("sagemaker:DescribeTrainingJob", "s3:HeadObject"),
        send=_artefact,
        jobs=("plain",),
        bucket=True,
    ),
)  # fmt: skip
