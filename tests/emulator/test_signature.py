"""Our reading of Signature Version 4 against botocore's own signer."""

from __future__ import annotations

import hashlib
from urllib.parse import urlsplit

import pytest
from botocore.auth import S3SigV4Auth, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given
from hypothesis import strategies as st

from sm_trn.emulator import signature

ACCESS, SECRET = "SMTRNEXAMPLE", "not-a-secret"
names = st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters=":;_,"), min_size=1, max_size=12)
texts = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=30)


def signed_by_botocore(
    service: str, url: str, headers: dict[str, str], body: bytes
) -> tuple[signature.Signed, signature.Credential]:
    request = AWSRequest("POST", url, headers={"Host": urlsplit(url).netloc, **headers}, data=body)
    signer = (S3SigV4Auth if service == "s3" else SigV4Auth)(Credentials(ACCESS, SECRET), service, "us-west-2")
    signer.add_auth(request)
    parts = urlsplit(url)
    credential = signature.parse_authorization(request.headers["Authorization"])
    assert credential is not None
    payload = request.headers.get("X-Amz-Content-SHA256") or hashlib.sha256(body).hexdigest()
    signed = signature.Signed(
        method="POST",
        path=parts.path or "/",
        query=parts.query,
        headers=[(name.lower(), value) for name, value in request.headers.items()],
        payload=payload,
        timestamp=request.headers["X-Amz-Date"],
    )
    return signed, credential


@pytest.mark.parametrize("service", ["sagemaker", "s3"])
@given(
    path=st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="?#%\\"), max_size=20),
    query=st.dictionaries(st.sampled_from("abcXYZ"), st.sampled_from(["", "1", "a%20b", "%2F", "~"]), max_size=4),
    headers=st.dictionaries(st.sampled_from(["X-Amz-Target", "X-Amz-Meta-A", "Content-Type"]), texts, max_size=3),
    body=st.binary(max_size=50),
)
def test_what_botocore_signs_is_accepted(
    service: str, path: str, query: dict[str, str], headers: dict[str, str], body: bytes
) -> None:
    asked = "&".join(f"{name}={value}" for name, value in query.items())
    url = f"http://127.0.0.1:5000/{path.lstrip('/')}" + (f"?{asked}" if asked else "")
    request, credential = signed_by_botocore(service, url, headers, body)
    assert signature.matches(request, credential, SECRET)
    assert not signature.matches(request, credential, SECRET + "x")


@given(st.sampled_from(["method", "path", "query", "payload", "timestamp"]), st.text("abcdef", min_size=1, max_size=5))
def test_no_part_of_a_request_can_be_changed_after_signing(part: str, change: str) -> None:
    request, credential = signed_by_botocore("sagemaker", "http://127.0.0.1:5000/?a=1", {}, b"{}")
    parts = {name: getattr(request, name) for name in ("method", "path", "query", "headers", "payload", "timestamp")}
    changed = signature.Signed(**{**parts, part: parts[part] + change})
    assert not signature.matches(changed, credential, SECRET)


def test_our_own_calls_carry_the_header_botocore_would_write() -> None:
    request, credential = signed_by_botocore("sagemaker", "http://127.0.0.1:5000/", {"X-Amz-Target": "a.b"}, b"{}")
    header = signature.authorization(credential, signature.sign(request, credential, SECRET))
    assert credential == signature.parse_authorization(header)


@pytest.mark.parametrize("header", ["", "Bearer x", "AWS4-HMAC-SHA256 Credential=a/b", "AWS key:signature"])
def test_anything_else_is_no_signature(header: str) -> None:
    assert signature.parse_authorization(header) is None
