"""Our reading of Signature Version 4 against botocore's own signer."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from urllib.parse import parse_qsl, quote, urlsplit

import pytest
from botocore.auth import HmacV1QueryAuth, S3SigV4Auth, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given
from hypothesis import strategies as st

from sm_trn.emulator.iam import signature

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


@pytest.mark.parametrize("scope", ["a//r/s3/aws4_request", "a/20250101/r/s3", "a/20250101/r/s3/aws3_request"])
def test_a_presigned_scope_without_its_parts_is_none(scope: str) -> None:
    asked = {"X-Amz-Algorithm": signature.ALGORITHM, "X-Amz-Credential": scope, "X-Amz-Signature": "0" * 64}
    assert signature.parse_presigned(asked) is None


@pytest.mark.parametrize("header", ["", "Bearer x", "AWS4-HMAC-SHA256 Credential=a/b", "AWS key:signature"])
def test_anything_else_is_no_signature(header: str) -> None:
    assert signature.parse_authorization(header) is None


def presigned_by_botocore_in_version_2(
    method: str, url: str, headers: dict[str, str], token: str | None
) -> tuple[signature.Signed, signature.Credential]:
    """The request as it comes from whoever was given the URL: without those headers."""
    request = AWSRequest(method, url, headers=dict(headers))
    HmacV1QueryAuth(Credentials(ACCESS, SECRET, token), expires=60).add_auth(request)
    parts = urlsplit(request.url)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    credential = signature.parse_presigned_2(query, "us-west-2")
    assert credential is not None
    signed = signature.Signed(
        method=method,
        path=parts.path,
        query=parts.query,
        headers=[("host", parts.netloc), ("accept", "*/*")],
        payload=signature.UNSIGNED,
        timestamp=query["Expires"],
    )
    return signed, credential


words = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=20)


@given(
    method=st.sampled_from(["GET", "HEAD", "PUT", "DELETE"]),
    key=st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="?#%\\"), max_size=20),
    settings=st.dictionaries(
        st.sampled_from(["tagging", "uploadId", "partNumber", "response-content-type", "prefix"]), words
    ),
    headers=st.dictionaries(
        st.sampled_from(["x-amz-meta-a", "x-amz-acl", "Content-Type", "Content-MD5"]), words.filter(bool)
    ),
    token=st.none() | st.text("abc+/=", min_size=1),
    tampered=st.sampled_from(["method", "path", "timestamp", "acl", "%61cl", "header"]),
)
def test_what_botocore_presigns_in_version_2_is_accepted_and_nothing_else(
    method: str, key: str, settings: dict[str, str], headers: dict[str, str], token: str | None, tampered: str
) -> None:
    asked = "&".join(f"{name}={quote(value, safe='')}" for name, value in settings.items())
    url = f"http://127.0.0.1:5000/bucket/{key}" + (f"?{asked}" if asked else "")
    request, credential = presigned_by_botocore_in_version_2(method, url, headers, token)
    assert signature.matches(request, credential, SECRET)
    assert not signature.matches(request, credential, SECRET + "x")
    changes: dict[str, dict[str, object]] = {
        "method": {"method": "POST"},
        "path": {"path": request.path + "x"},
        "timestamp": {"timestamp": str(int(request.timestamp) + 1)},
        "acl": {"query": f"acl&{request.query}"},
        "%61cl": {"query": f"%61cl&{request.query}"},  # the same name, in disguise
        "header": {"headers": [*request.headers, ("x-amz-copy-source", "another/key")]},
    }
    assert not signature.matches(replace(request, **changes[tampered]), credential, SECRET)  # type: ignore[arg-type]  # one of many
