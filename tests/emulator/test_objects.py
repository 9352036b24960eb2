"""S3 is moto's: what jobs and clients share of it, what outlives the process, and what is refused as at AWS."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from emulator.bench import Bench, bench_of, running, shell

from sm_trn import emulator as embedded

pytestmark = pytest.mark.local


def body(bench: Bench, key: str) -> bytes:
    return bytes(bench.s3.get_object(Bucket=bench.endpoint.bucket, Key=key)["Body"].read())


def refusal(call: Any) -> tuple[str, int]:
    with pytest.raises(ClientError) as caught:
        call()
    answer = caught.value.response
    return answer["Error"]["Code"], answer["ResponseMetadata"]["HTTPStatusCode"]


def test_what_was_there_when_a_job_ended_survives_a_kill_and_what_came_later_does_not(tmp_path: Path) -> None:
    state = tmp_path / "state"
    with running(state) as bench:
        where = {"Bucket": bench.endpoint.bucket}
        bench.s3.put_object(**where, Key="before", Body=b"1" * 3_000_000, Metadata={"a": "b"}, Tagging="t=1")
        bench.s3.put_object(**where, Key="deleted", Body=b"x")
        name = bench.submit("", AlgorithmSpecification=shell("echo weights > /opt/ml/model/w"))
        assert "Completed" == bench.finished(name)["TrainingJobStatus"]
        bench.s3.put_object(**where, Key="later", Body=b"2")
        bench.s3.delete_object(**where, Key="deleted")
        os.kill(bench.endpoint.pid, signal.SIGKILL)
        again = bench_of(embedded.up(state))
        assert {"w": b"weights\n"} == again.model(name)
        head = again.s3.head_object(**where, Key="before")
        assert (b"1" * 3_000_000, {"a": "b"}) == (body(again, "before"), head["Metadata"])
        assert [{"Key": "t", "Value": "1"}] == again.s3.get_object_tagging(**where, Key="before")["TagSet"]
        assert ("NoSuchKey", 404) == refusal(lambda: body(again, "later"))
        assert b"x" == body(again, "deleted")  # as it was when the job ended


def test_an_emulator_that_is_stopped_keeps_all(tmp_path: Path) -> None:
    with running(tmp_path / "state") as bench:
        bench.s3.create_bucket(Bucket="mine", CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
        parts = bench.s3.create_multipart_upload(Bucket="mine", Key="parts")["UploadId"]
        whole = {"Bucket": "mine", "Key": "parts", "UploadId": parts}
        tags = [bench.s3.upload_part(**whole, PartNumber=n, Body=b"p" * 5 * 2**20)["ETag"] for n in (1, 2)]
        listed = [{"PartNumber": n, "ETag": tag} for n, tag in enumerate(tags, 1)]
        bench.s3.complete_multipart_upload(**whole, MultipartUpload={"Parts": listed})
        embedded.down(bench.endpoint.state)
        again = bench_of(embedded.up(bench.endpoint.state))
        head = again.s3.head_object(Bucket="mine", Key="parts")
        assert (10 * 2**20, True) == (head["ContentLength"], head["ETag"].endswith('-2"'))
        again.s3.delete_object(Bucket="mine", Key="parts")
        again.s3.delete_bucket(Bucket="mine")
        embedded.down(bench.endpoint.state)
        names = [each["Name"] for each in bench_of(embedded.up(bench.endpoint.state)).s3.list_buckets()["Buckets"]]
        assert ["sagemaker-us-west-2-000000000000"] == names


def test_a_bucket_of_somebody_else_is_refused(bench: Bench) -> None:
    where = {"Bucket": bench.endpoint.bucket, "Key": "owned"}
    bench.s3.put_object(**where, Body=b"x")
    assert b"x" == bench.s3.get_object(**where, ExpectedBucketOwner=bench.endpoint.account_id)["Body"].read()
    assert ("AccessDenied", 403) == refusal(lambda: bench.s3.get_object(**where, ExpectedBucketOwner="1" * 12))
    assert ("AccessDenied", 403) == refusal(lambda: bench.s3.put_object(**where, ExpectedBucketOwner="1" * 12))
    assert ("InvalidDigest", 400) == refusal(lambda: bench.s3.put_object(**where, Body=b"y", ContentMD5="invalid"))
    bench.s3.put_object(**where, Body=b"x", ContentMD5="ndTkYSaMgDT1yFZOFVxnpg==")
    assert b"x" == body(bench, "owned")


def test_conditions_of_a_read_hold(bench: Bench) -> None:
    where = {"Bucket": bench.endpoint.bucket, "Key": "conditions"}
    etag = bench.s3.put_object(**where, Body=b"x")["ETag"]
    bench.s3.get_object(**where, IfMatch=etag, IfUnmodifiedSince="2100-01-01")
    assert ("PreconditionFailed", 412) == refusal(lambda: bench.s3.get_object(**where, IfUnmodifiedSince="2000-01-01"))
    assert ("PreconditionFailed", 412) == refusal(lambda: bench.s3.get_object(**where, IfMatch='"other"'))
    assert 304 == refusal(lambda: bench.s3.get_object(**where, IfNoneMatch=etag))[1]


def test_what_was_put_with_a_customers_key_is_read_with_it_only(bench: Bench) -> None:
    where, secret = {"Bucket": bench.endpoint.bucket, "Key": "sealed"}, {"SSECustomerAlgorithm": "AES256"}
    sent: list[Any] = []
    bench.s3.meta.events.register("before-sign.s3", lambda request, **_: sent.append(request))
    bench.s3.put_object(**where, Body=b"x", **secret, SSECustomerKey="k" * 32)
    assert b"x" == bench.s3.get_object(**where, **secret, SSECustomerKey="k" * 32)["Body"].read()
    assert ("InvalidRequest", 400) == refusal(lambda: bench.s3.get_object(**where))
    assert 400 == refusal(lambda: bench.s3.get_object(**where, **secret, SSECustomerKey="l" * 32))[1]


def test_no_key_of_an_object_is_a_path(bench: Bench) -> None:
    root = bench.endpoint.state
    before = {path for folder in (root, root.parent) for path in folder.iterdir()}
    keys = ["../../escape", "..", "a/../../b", "a//b", "folder/", "ünï/日本", "x" * 1024, "sp ace+%2F"]
    bench.s3.create_bucket(Bucket="odd", CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
    for key in keys:
        bench.s3.put_object(Bucket="odd", Key=key, Body=key.encode())
    bench.finished(bench.submit("", AlgorithmSpecification=shell("true")))
    assert set(keys) == {each["Key"] for each in bench.s3.list_objects_v2(Bucket="odd")["Contents"]}
    assert keys == [bench.s3.get_object(Bucket="odd", Key=key)["Body"].read().decode() for key in keys]
    assert before == {path for folder in (root, root.parent) for path in folder.iterdir()}
