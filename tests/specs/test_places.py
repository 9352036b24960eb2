"""Places in S3 in both spellings that SageMaker takes."""

from __future__ import annotations

import jobs
import pytest
from hypothesis import given
from hypothesis import strategies as some

import sm_trn as st
from sm_trn.core.specs.data import bucket_and_key

BUCKETS = some.from_regex(r"[a-z0-9][a-z0-9-]{1,40}[a-z0-9]", fullmatch=True)
KEYS = some.text("abcXYZ019-_./ =", max_size=30)
FORMS = (
    "s3://{bucket}/{key}",
    "https://s3.amazonaws.com/{bucket}/{key}",
    "https://s3-us-west-2.amazonaws.com/{bucket}/{key}",
    "https://s3.eu-central-1.amazonaws.com/{bucket}/{key}",
    "https://s3.dualstack.eu-west-1.amazonaws.com/{bucket}/{key}",
    "https://{bucket}.s3.amazonaws.com/{key}",
    "https://{bucket}.s3-us-west-2.amazonaws.com/{key}",
    "https://{bucket}.s3.cn-north-1.amazonaws.com.cn/{key}",
)


@pytest.mark.parametrize("form", FORMS)
@given(bucket=BUCKETS, key=KEYS)
def test_every_form_names_the_bucket_and_the_key(form: str, bucket: str, key: str) -> None:
    if "{bucket}." in form and bucket == "s3":
        return
    assert (bucket, key) == bucket_and_key(form.format(bucket=bucket, key=key))


@pytest.mark.parametrize(
    "uri", ["", "s3://", "s3:///key", "http://s3.amazonaws.com/b/k", "https://example.com/bucket/key", "/opt/ml", "gs://b/k",
            "https://s3.amazonaws.com.evil.example/bucket/key"]
)  # fmt: skip
def test_anything_else_is_no_place(uri: str) -> None:
    assert bucket_and_key(uri) is None


def test_check_takes_an_output_that_the_service_takes(tmp_path: object) -> None:
    for uri, fine in (
        ("https://s3-us-west-2.amazonaws.com/my-bucket/out", True),
        ("https://my-bucket.s3.us-west-2.amazonaws.com/out", True),
        ("https://example.com/out", False),
        ("my-bucket/out", False),
    ):
        job = jobs.trainium(str(tmp_path)).replace(output=st.Output(s3_uri=uri))
        assert fine == ("DATA002" not in {problem.id for problem in st.check(job)}), uri
        assert uri == st.render(job)["OutputDataConfig"]["S3OutputPath"]


def test_check_takes_a_checkpoint_that_the_service_takes(tmp_path: object) -> None:
    for uri, fine in (("https://s3.eu-west-1.amazonaws.com/my-bucket/c", True), ("https://example.com/c", False)):
        spot = st.Spot(max_wait_s=90_000, checkpoint_s3_uri=uri)
        job = jobs.trainium(str(tmp_path)).replace(spot=spot)
        assert fine == ("SPOT002" not in {problem.id for problem in st.check(job)}), uri
