"""S3's objects: what is put is what is listed and got, under any key, by any way of sending, and nothing else is there."""

from __future__ import annotations

import contextlib
import hashlib
import io
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlencode

import pytest
from botocore.exceptions import ClientError
from emulator.bench import Bench
from hypothesis import given, settings
from hypothesis import strategies as st

from sm_trn.emulator.errors import AwsError
from sm_trn.emulator.http.body import Spool
from sm_trn.emulator.s3.object_store import ObjectStore
from sm_trn.emulator.state.quota import Quota
from sm_trn.emulator.state.store import Store

PART = 5 * 2**20
names = st.text(st.sampled_from(["a", "b", "/", "é", "\U0010ffff", "\x01", "-"]), min_size=1, max_size=5)


@contextlib.contextmanager
def kept(keys: Sequence[str] = (), limit_gb: float = 1.0) -> Iterator[ObjectStore]:
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "emulator.db")
        objects = ObjectStore(Path(folder) / "s3", store, Quota(Path(folder), limit_gb))
        objects.create_bucket("bucket", "us-west-2")
        for key in keys:
            objects.put("bucket", key, key.encode())
        yield objects
        store.close()


@settings(deadline=None, max_examples=60)
@given(
    st.sets(names, max_size=12),
    st.sampled_from(["", "a", "a/", "é"]),
    st.sampled_from(["", "/", "a"]),
    st.integers(1, 5),
)
def test_pages_of_any_size_hold_every_name_once_and_in_order(
    keys: set[str], prefix: str, delimiter: str, limit: int
) -> None:
    expected: list[str] = []
    for key in sorted(key for key in keys if key.startswith(prefix)):
        cut = key.find(delimiter, len(prefix)) if delimiter else -1
        name = key if cut < 0 else key[: cut + len(delimiter)]
        if name not in expected:
            expected.append(name)
    with kept(sorted(keys)) as objects:
        found: list[str] = []
        after = ""
        for _ in range(len(keys) + 1):
            entries, groups, after = objects.page(
                "bucket", prefix=prefix, delimiter=delimiter, after=after, limit=limit
            )
            found += sorted([*(entry.key for entry in entries), *groups])
            assert len(entries) + len(groups) <= limit
            if not after:
                break
    assert expected == found


@pytest.mark.parametrize(
    "key",
    ["../../etc/passwd", "..", "/", "//", "/etc/passwd", "a//b", "a/./b", "a\\b", "x" * 1024, "con", ".hidden/../x", "é/ü\U0001f600",
     "a\tb\nc\x1b[31m", "%2e%2e/%2f", "lock", "emulator.db", "~", "*", "?x=1", "#f", " lead and trail "],
)  # fmt: skip
def test_any_key_is_a_name_and_never_a_path(bench: Bench, key: str) -> None:
    bucket, root = bench.endpoint.bucket, bench.endpoint.state / "s3"
    content = hashlib.sha256(key.encode()).digest()
    bench.s3.put_object(Bucket=bucket, Key=key, Body=content)
    assert content == bench.s3.get_object(Bucket=bucket, Key=key)["Body"].read()
    listed = bench.s3.list_objects_v2(Bucket=bucket, Prefix=key)["Contents"]
    assert [(key, f'"{hashlib.md5(content).hexdigest()}"')] == [
        (row["Key"], row["ETag"]) for row in listed if row["Key"] == key
    ]
    held = [path for path in root.rglob("*") if path.is_file() and path.read_bytes() == content]
    assert 1 == len(held)
    assert 32 == len(held[0].name), "a file has a name of its own"
    bench.s3.delete_object(Bucket=bucket, Key=key)
    assert not held[0].exists()


@pytest.mark.parametrize(("key", "code"), [("nul\x00", "InvalidURI"), ("é" * 513, "KeyTooLongError")])
def test_a_key_that_s3_refuses_is_refused(bench: Bench, key: str, code: str) -> None:
    with pytest.raises(ClientError, match=code):
        bench.s3.put_object(Bucket=bench.endpoint.bucket, Key=key, Body=b"1")


def test_an_upload_in_parts_appears_when_it_is_complete(bench: Bench) -> None:
    bucket, key = bench.endpoint.bucket, "parts/c.bin"
    upload = bench.s3.create_multipart_upload(Bucket=bucket, Key=key, Metadata={"who": "me"}, ContentType="text/x")[
        "UploadId"
    ]
    sent = [b"a" * PART, b"b" * 10]
    whole = {"Bucket": bucket, "Key": key, "UploadId": upload}
    for number in (2, 1):
        bench.s3.upload_part(**whole, PartNumber=number, Body=b"replaced")
        bench.s3.upload_part(**whole, PartNumber=number, Body=sent[number - 1])
    listed = bench.s3.list_parts(**whole)["Parts"]
    assert [(1, PART), (2, 10)] == [(part["PartNumber"], part["Size"]) for part in listed]
    assert upload in [one["UploadId"] for one in bench.s3.list_multipart_uploads(Bucket=bucket)["Uploads"]]
    assert "Contents" not in bench.s3.list_objects_v2(Bucket=bucket, Prefix="parts/")
    parts = [{"ETag": part["ETag"], "PartNumber": part["PartNumber"]} for part in listed]
    with pytest.raises(ClientError, match="InvalidPartOrder"):
        bench.s3.complete_multipart_upload(**whole, MultipartUpload={"Parts": parts[::-1]})
    with pytest.raises(ClientError, match="InvalidPart"):
        bench.s3.complete_multipart_upload(**whole, MultipartUpload={"Parts": [{"ETag": "0" * 32, "PartNumber": 1}]})
    bench.s3.complete_multipart_upload(**whole, MultipartUpload={"Parts": parts})
    digests = b"".join(hashlib.md5(content).digest() for content in sent)
    answer = bench.s3.get_object(Bucket=bucket, Key=key)
    assert f'"{hashlib.md5(digests).hexdigest()}-2"' == answer["ETag"]
    assert b"".join(sent) == answer["Body"].read()
    assert ({"who": "me"}, "text/x") == (answer["Metadata"], answer["ContentType"])
    with pytest.raises(ClientError, match="NoSuchUpload"):
        bench.s3.list_parts(**whole)


def test_an_upload_that_is_given_up_leaves_no_file(bench: Bench) -> None:
    bucket, root = bench.endpoint.bucket, bench.endpoint.state / "s3"
    before = {path for path in root.rglob("*") if path.is_file()}
    upload = bench.s3.create_multipart_upload(Bucket=bucket, Key="given-up")["UploadId"]
    bench.s3.upload_part(Bucket=bucket, Key="given-up", UploadId=upload, PartNumber=1, Body=b"x" * 100)
    bench.s3.abort_multipart_upload(Bucket=bucket, Key="given-up", UploadId=upload)
    assert before == {path for path in root.rglob("*") if path.is_file()}


def test_a_part_that_is_too_small_is_refused_at_the_end(bench: Bench) -> None:
    whole = {"Bucket": bench.endpoint.bucket, "Key": "small"}
    whole["UploadId"] = bench.s3.create_multipart_upload(**whole)["UploadId"]
    tags = [bench.s3.upload_part(**whole, PartNumber=n, Body=b"x")["ETag"] for n in (1, 2)]
    parts = [{"ETag": tag, "PartNumber": number} for number, tag in enumerate(tags, 1)]
    with pytest.raises(ClientError, match="EntityTooSmall"):
        bench.s3.complete_multipart_upload(**whole, MultipartUpload={"Parts": parts})
    bench.s3.abort_multipart_upload(**whole)


def test_a_large_file_goes_up_and_comes_back_in_parts(bench: Bench, tmp_path: Path) -> None:
    content = bytes(range(256)) * 2**16  # 16 MiB: boto3 sends it in two parts
    bench.s3.upload_fileobj(io.BytesIO(content), bench.endpoint.bucket, "large.bin")
    bench.s3.download_file(bench.endpoint.bucket, "large.bin", str(tmp_path / "large.bin"))
    assert content == (tmp_path / "large.bin").read_bytes()


@pytest.mark.parametrize(
    ("asked", "got", "status"),
    [("bytes=0-3", b"0123", 206), ("bytes=7-", b"789", 206), ("bytes=-2", b"89", 206), ("bytes=5-99", b"56789", 206),
     ("bytes=0-", b"0123456789", 206), ("lines=1-2", b"0123456789", 200)],
)  # fmt: skip
def test_a_range_is_that_part(bench: Bench, asked: str, got: bytes, status: int) -> None:
    bench.s3.put_object(Bucket=bench.endpoint.bucket, Key="digits", Body=b"0123456789")
    answer = bench.s3.get_object(Bucket=bench.endpoint.bucket, Key="digits", Range=asked)
    assert (got, status) == (answer["Body"].read(), answer["ResponseMetadata"]["HTTPStatusCode"])


def test_a_range_beyond_the_end_is_refused(bench: Bench) -> None:
    bench.s3.put_object(Bucket=bench.endpoint.bucket, Key="digits", Body=b"0123456789")
    with pytest.raises(ClientError, match="InvalidRange"):
        bench.s3.get_object(Bucket=bench.endpoint.bucket, Key="digits", Range="bytes=10-12")


def test_a_copy_has_content_and_metadata_of_its_own(bench: Bench) -> None:
    bucket = bench.endpoint.bucket
    bench.s3.put_object(Bucket=bucket, Key="copy/a", Body=b"one", Metadata={"who": "me"}, Tagging="k=v&l=w+x")
    bench.s3.copy_object(Bucket=bucket, Key="copy/b", CopySource={"Bucket": bucket, "Key": "copy/a"})
    bench.s3.put_object(Bucket=bucket, Key="copy/a", Body=b"two")
    answer = bench.s3.get_object(Bucket=bucket, Key="copy/b")
    assert (b"one", {"who": "me"}) == (answer["Body"].read(), answer["Metadata"])
    tags = bench.s3.get_object_tagging(Bucket=bucket, Key="copy/b")["TagSet"]
    assert [{"Key": "k", "Value": "v"}, {"Key": "l", "Value": "w x"}] == tags
    bench.s3.put_object_tagging(Bucket=bucket, Key="copy/b", Tagging={"TagSet": [{"Key": "a b", "Value": "&="}]})
    assert [{"Key": "a b", "Value": "&="}] == bench.s3.get_object_tagging(Bucket=bucket, Key="copy/b")["TagSet"]


def test_a_body_that_is_not_its_checksum_is_not_kept(bench: Bench) -> None:
    bucket = bench.endpoint.bucket
    for wrong in ({"ChecksumCRC32": "AAAAAA=="}, {"ContentMD5": "AAAAAAAAAAAAAAAAAAAAAA=="}):
        with pytest.raises(ClientError, match="BadDigest"):
            bench.s3.put_object(Bucket=bucket, Key="wrong", Body=b"content", **wrong)
    with pytest.raises(ClientError, match="404"):
        bench.s3.head_object(Bucket=bucket, Key="wrong")


def test_conditions_hold(bench: Bench) -> None:
    bucket = bench.endpoint.bucket
    etag = bench.s3.put_object(Bucket=bucket, Key="once", Body=b"1")["ETag"]
    with pytest.raises(ClientError, match="PreconditionFailed"):
        bench.s3.put_object(Bucket=bucket, Key="once", Body=b"2", IfNoneMatch="*")
    with pytest.raises(ClientError, match="PreconditionFailed"):
        bench.s3.get_object(Bucket=bucket, Key="once", IfMatch='"other"')
    with pytest.raises(ClientError, match="304"):
        bench.s3.get_object(Bucket=bucket, Key="once", IfNoneMatch=etag)


def in_parts(bench: Bench, key: str, **conditions: str) -> str:
    where = {"Bucket": bench.endpoint.bucket, "Key": key}
    whole = {**where, "UploadId": bench.s3.create_multipart_upload(**where)["UploadId"]}
    tag = bench.s3.upload_part(**whole, PartNumber=1, Body=b"parts")["ETag"]
    parts = {"Parts": [{"PartNumber": 1, "ETag": tag}]}
    return str(bench.s3.complete_multipart_upload(**whole, MultipartUpload=parts, **conditions)["ETag"])


def at_once(bench: Bench, key: str, **conditions: str) -> str:
    return str(bench.s3.put_object(Bucket=bench.endpoint.bucket, Key=key, Body=b"new", **conditions)["ETag"])


def copied(bench: Bench, key: str, **conditions: str) -> str:
    bench.s3.put_object(Bucket=bench.endpoint.bucket, Key="source-of-copies", Body=b"copy")
    source = f"{bench.endpoint.bucket}/source-of-copies"
    answer = bench.s3.copy_object(Bucket=bench.endpoint.bucket, Key=key, CopySource=source, **conditions)
    return str(answer["CopyObjectResult"]["ETag"])


@pytest.mark.parametrize("write", [at_once, in_parts, copied])
def test_a_write_on_a_condition_that_does_not_hold_changes_nothing(bench: Bench, write: Callable[..., str]) -> None:
    """https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html"""
    bucket, key = bench.endpoint.bucket, f"conditional-{write.__name__}"
    with pytest.raises(ClientError, match="NoSuchKey"):
        write(bench, key, IfMatch='"0123"')
    first = write(bench, key, IfNoneMatch="*")
    for condition in ({"IfMatch": '"0123"'}, {"IfNoneMatch": "*"}):
        with pytest.raises(ClientError) as caught:
            write(bench, key, **condition)
        assert 412 == caught.value.response["ResponseMetadata"]["HTTPStatusCode"]
    assert first == bench.s3.head_object(Bucket=bucket, Key=key)["ETag"]
    assert write(bench, key, IfMatch=first)
    with pytest.raises(ClientError, match="PreconditionFailed"):
        bench.s3.delete_object(Bucket=bucket, Key=key, IfMatch='"0123"')
    bench.s3.delete_object(Bucket=bucket, Key=key, IfMatch="*")


def test_of_many_who_write_on_one_condition_one_succeeds(bench: Bench) -> None:
    etag = at_once(bench, "contended")

    def swap(number: int) -> int:
        body = f"new-{number}".encode() * 1000
        try:
            bench.s3.put_object(Bucket=bench.endpoint.bucket, Key="contended", Body=body, IfMatch=etag)
        except ClientError as error:
            assert "PreconditionFailed" == error.response["Error"]["Code"]  # noqa: PT017 - of those that lose
            return 0
        return 1

    with ThreadPoolExecutor(8) as pool:
        assert 1 == sum(pool.map(swap, range(24)))


@pytest.mark.parametrize(
    "name", ["A_b", "a_b", "Upper", "ab", "a..b", "192.168.5.4", "-ab", "ab-", "xn--ab", "ab-s3alias", "a" * 64]
)
def test_what_no_bucket_can_be_called_makes_none(bench: Bench, name: str) -> None:
    """https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html"""
    with pytest.raises(ClientError, match="InvalidBucketName"):
        bench.s3.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": bench.endpoint.region})
    assert name not in [each["Name"] for each in bench.s3.list_buckets()["Buckets"]]


def test_a_bucket_goes_only_when_it_is_empty(bench: Bench) -> None:
    where = {"LocationConstraint": bench.endpoint.region}
    bench.s3.create_bucket(Bucket="a-bucket-that-goes", CreateBucketConfiguration=where)
    bench.s3.put_object(Bucket="a-bucket-that-goes", Key="a", Body=b"")
    with pytest.raises(ClientError, match="BucketNotEmpty"):
        bench.s3.delete_bucket(Bucket="a-bucket-that-goes")
    bench.s3.delete_objects(Bucket="a-bucket-that-goes", Delete={"Objects": [{"Key": "a"}, {"Key": "never"}]})
    bench.s3.delete_bucket(Bucket="a-bucket-that-goes")
    with pytest.raises(ClientError, match="NoSuchBucket"):
        bench.s3.list_objects_v2(Bucket="a-bucket-that-goes")


def test_what_is_not_kept_is_refused_and_not_nodded_through(bench: Bench) -> None:
    bucket = bench.endpoint.bucket
    bench.s3.put_object(Bucket=bucket, Key="plain", Body=b"1")
    for call in (
        lambda: bench.s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"}),
        lambda: bench.s3.list_object_versions(Bucket=bucket),
        lambda: bench.s3.get_object(Bucket=bucket, Key="plain", VersionId="1"),
        lambda: bench.s3.copy_object(
            Bucket=bucket, Key="other", CopySource={"Bucket": bucket, "Key": "plain", "VersionId": "1"}
        ),
        lambda: bench.s3.get_object_attributes(Bucket=bucket, Key="plain", ObjectAttributes=["ETag"]),
    ):
        with pytest.raises(ClientError, match="NotImplemented"):
            call()  # type: ignore[no-untyped-call]  # a table of functions


def test_buckets_are_their_owners_and_take_no_access_lists(bench: Bench) -> None:
    """As all are that were made at AWS since 2023."""
    where = {"Bucket": bench.endpoint.bucket, "Key": "owned"}
    bench.s3.put_object(**where, Body=b"1", ACL="bucket-owner-full-control")
    found = bench.s3.get_object_acl(**where)
    assert [("FULL_CONTROL", found["Owner"]["ID"])] == [
        (grant["Permission"], grant["Grantee"]["ID"]) for grant in found["Grants"]
    ]
    bench.s3.put_object_acl(**where, ACL="bucket-owner-full-control")
    for call in (
        lambda: bench.s3.put_object(**where, Body=b"2", ACL="public-read"),
        lambda: bench.s3.put_object(**where, Body=b"2", GrantRead="uri=everybody"),
        lambda: bench.s3.create_multipart_upload(**where, ACL="public-read"),
        lambda: bench.s3.copy_object(**where, CopySource=where, ACL="public-read", MetadataDirective="REPLACE"),
        lambda: bench.s3.put_object_acl(**where, ACL="public-read"),
        lambda: bench.s3.put_object_acl(**where, AccessControlPolicy={"Grants": [], "Owner": found["Owner"]}),
    ):
        with pytest.raises(ClientError, match="AccessControlListNotSupported"):
            call()  # type: ignore[no-untyped-call]  # a table of functions
    assert b"1" == bench.s3.get_object(**where)["Body"].read()
    with pytest.raises(ClientError, match="NoSuchKey"):
        bench.s3.get_object_acl(Bucket=bench.endpoint.bucket, Key="never")


def test_what_an_object_says_of_caches_is_what_was_sent(bench: Bench) -> None:
    bucket = bench.endpoint.bucket
    for key, sent in (("kept", {"CacheControl": "max-age=60, public"}), ("silent", {})):
        bench.s3.put_object(Bucket=bucket, Key=key, Body=b"1", **sent)
        for answer in (bench.s3.get_object(Bucket=bucket, Key=key), bench.s3.head_object(Bucket=bucket, Key=key)):
            assert sent.get("CacheControl") == answer.get("CacheControl")
    asked = bench.s3.get_object(Bucket=bucket, Key="kept", ResponseCacheControl="no-cache")
    assert "no-cache" == asked["CacheControl"]


def test_a_copy_takes_from_its_source_and_from_the_request_what_s3_does(bench: Bench) -> None:
    bucket = bench.endpoint.bucket
    source, target = {"Bucket": bucket, "Key": "from"}, {"Bucket": bucket, "Key": "to"}
    sent = bench.s3.put_object(
        **source,
        Body=b"one",
        Metadata={"a": "1"},
        StorageClass="STANDARD_IA",
        ChecksumAlgorithm="SHA256",
        Tagging="k=v",
    )
    made = bench.s3.copy_object(**target, CopySource=source, ServerSideEncryption="AES256", Metadata={"b": "2"})
    assert (sent["ETag"], sent["ChecksumSHA256"]) == tuple(
        made["CopyObjectResult"][k] for k in ("ETag", "ChecksumSHA256")
    )
    assert "AES256" == made["ServerSideEncryption"]
    found = bench.s3.head_object(**target, ChecksumMode="ENABLED")
    assert ({"a": "1"}, "AES256", None, sent["ChecksumSHA256"]) == tuple(
        found.get(key) for key in ("Metadata", "ServerSideEncryption", "StorageClass", "ChecksumSHA256")
    )
    bench.s3.copy_object(
        **target, CopySource=source, MetadataDirective="REPLACE", Metadata={"b": "2"}, TaggingDirective="REPLACE",
        Tagging="l=w",
    )  # fmt: skip
    found = bench.s3.head_object(**target, ChecksumMode="ENABLED")
    assert ({"b": "2"}, sent["ChecksumSHA256"]) == (found["Metadata"], found["ChecksumSHA256"])
    assert [{"Key": "l", "Value": "w"}] == bench.s3.get_object_tagging(**target)["TagSet"]


@pytest.mark.parametrize(
    "condition",
    [
        {"CopySourceIfMatch": '"other"'},
        {"CopySourceIfNoneMatch": "*"},
        {"CopySourceIfModifiedSince": "2100-01-01"},
        {"CopySourceIfUnmodifiedSince": "2000-01-01"},
    ],
)
def test_a_copy_whose_conditions_do_not_hold_is_not_made(bench: Bench, condition: dict[str, str]) -> None:
    source = {"Bucket": bench.endpoint.bucket, "Key": "conditional"}
    bench.s3.put_object(**source, Body=b"1")
    with pytest.raises(ClientError, match="PreconditionFailed"):
        bench.s3.copy_object(Bucket=bench.endpoint.bucket, Key="never", CopySource=source, **condition)
    upload = bench.s3.create_multipart_upload(Bucket=bench.endpoint.bucket, Key="never")["UploadId"]
    with pytest.raises(ClientError, match="PreconditionFailed"):
        bench.s3.upload_part_copy(
            Bucket=bench.endpoint.bucket, Key="never", CopySource=source, UploadId=upload, PartNumber=1, **condition
        )


def test_a_copy_onto_itself_must_change_something(bench: Bench) -> None:
    where = {"Bucket": bench.endpoint.bucket, "Key": "itself"}
    bench.s3.put_object(**where, Body=b"1", Metadata={"a": "1"})
    with pytest.raises(ClientError, match=r"InvalidRequest.*to itself without changing"):
        bench.s3.copy_object(**where, CopySource=where)
    bench.s3.copy_object(**where, CopySource=where, MetadataDirective="REPLACE", Metadata={"a": "2"})
    found = bench.s3.get_object(**where)
    assert ({"a": "2"}, b"1") == (found["Metadata"], found["Body"].read())


@pytest.mark.parametrize(
    ("tags", "code"),
    [
        ([("a", "1"), ("a", "2")], "InvalidTag"),
        ([("AWS:x", "1")], "InvalidTag"),
        ([(str(n), "") for n in range(11)], "BadRequest"),
    ],
)
def test_tags_that_no_object_takes_are_refused(bench: Bench, tags: list[tuple[str, str]], code: str) -> None:
    where = {"Bucket": bench.endpoint.bucket, "Key": "tagged"}
    bench.s3.put_object(**where, Body=b"1")
    with pytest.raises(ClientError, match=code):
        bench.s3.put_object_tagging(**where, Tagging={"TagSet": [{"Key": key, "Value": value} for key, value in tags]})
    with pytest.raises(ClientError, match=code):
        bench.s3.put_object(**where, Body=b"2", Tagging=urlencode(tags))
    assert b"1" == bench.s3.get_object(**where)["Body"].read()


@pytest.mark.parametrize("before", [b"", b"<!--" + b"x" * 5000 + b"-->"])
def test_a_document_type_is_not_read(before: bytes) -> None:
    """What an expansion of entities would need."""
    from sm_trn.emulator.s3.markup import read

    with pytest.raises(AwsError, match="MalformedXML"):
        read(before + b'<!DOCTYPE d [<!ENTITY a "aaaa">]><Delete><Object><Key>&a;</Key></Object></Delete>')


def test_a_write_beyond_the_limit_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    with kept(limit_gb=1e-6) as objects:
        objects.put("bucket", "a", b"x" * 600)
        with pytest.raises(AwsError, match=r"EntityTooLarge: .* may hold 1e-06 GB; .* SM_TRN_STATE_MAX_GB"):
            objects.put("bucket", "b", b"x" * 600)
        objects.put("bucket", "a", b"y" * 300)
        objects.delete("bucket", "a")
        objects.put("bucket", "b", b"x" * 600)
        assert ["b"] == objects.keys("bucket", "")


@pytest.mark.parametrize("size", [0, 10, 2**20, 2**20 + 1, 3 * 2**20])
def test_a_spooled_body_has_its_sums_and_moves_whole(tmp_path: Path, size: int) -> None:
    content = bytes(size)
    spool = Spool(tmp_path, ("md5",))
    for start in range(0, size, 2**19):
        spool.write(content[start : start + 2**19])
    assert hashlib.md5(content).digest() == spool.digest("md5")
    assert hashlib.sha1(content).digest() == spool.digest("sha1")
    spool.move_to(tmp_path / "moved")
    assert content == (tmp_path / "moved").read_bytes()
    assert ["moved"] == [path.name for path in tmp_path.iterdir()]


def test_nothing_of_an_object_stays_in_memory() -> None:
    """The class holds names of buckets only; what it is asked for it reads."""
    with kept([f"key-{n}" for n in range(50)]) as objects:
        held = {
            name: value for name, value in vars(objects).items() if isinstance(value, (dict, list, set, tuple, bytes))
        }
        assert {"_buckets": {"bucket": "us-west-2"}} == held
