"""Temporary credentials of STS: good everywhere while they last, for nothing once they or their parent have ended."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials
from botocore.exceptions import ClientError
from emulator.bench import Bench, client_of
from hypothesis import given
from hypothesis import strategies as some
from test_authenticator import asked_by_url, plain_get

from sm_trn.emulator import Endpoint
from sm_trn.emulator.errors import AwsError
from sm_trn.emulator.iam import authenticator, keys, session_tokens
from sm_trn.emulator.state.quota import Quota

HOUR = 3600


def client(endpoint: Endpoint, service: str, credentials: dict[str, Any], **more: Any) -> Any:
    return client_of(
        endpoint,
        service,
        aws_access_key_id=credentials["AccessKeyId"],
        aws_secret_access_key=credentials["SecretAccessKey"],
        aws_session_token=credentials.get("SessionToken"),
        config=Config(**more),
    )


def assumed(bench: Bench, **more: Any) -> dict[str, Any]:
    sts = bench.client("sts")
    return dict(sts.assume_role(RoleArn=bench.endpoint.role_arn, RoleSessionName="me", **more)["Credentials"])


WAYS = {
    "AssumeRole": assumed,
    "GetSessionToken": lambda bench: bench.client("sts").get_session_token()["Credentials"],
    "GetFederationToken": lambda bench: bench.client("sts").get_federation_token(Name="guest")["Credentials"],
}
CALLS = [
    ("sagemaker", "list_training_jobs"),
    ("sagemaker", "list_endpoints"),
    ("s3", "list_buckets"),
    ("logs", "describe_log_groups"),
    ("cloudwatch", "list_metrics"),
    ("iam", "list_roles"),
    ("sts", "get_caller_identity"),
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("service", "call"), CALLS)
def test_they_are_taken_by_every_service_with_their_token_only(bench: Bench, way: str, service: str, call: str) -> None:
    credentials = WAYS[way](bench)  # type: ignore[no-untyped-call]  # a table of functions
    getattr(client(bench.endpoint, service, credentials), call)()
    other = WAYS[way](bench)  # type: ignore[no-untyped-call]  # a table of functions
    for wrong in (
        {"SessionToken": None},
        {"SessionToken": other["SessionToken"]},
        {"SessionToken": credentials["SessionToken"][:-1] + "x"},
        {"SessionToken": "none.at-all"},
        {"SecretAccessKey": other["SecretAccessKey"]},
        {"AccessKeyId": other["AccessKeyId"]},
    ):
        with pytest.raises(ClientError) as caught:
            getattr(client(bench.endpoint, service, {**credentials, **wrong}), call)()
        assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] in {400, 403}


def test_the_caller_is_the_role_that_was_assumed(bench: Bench) -> None:
    made = bench.client("sts").assume_role(RoleArn=bench.endpoint.role_arn, RoleSessionName="me")
    who = client(bench.endpoint, "sts", made["Credentials"]).get_caller_identity()
    arn = f"arn:aws:sts::{bench.endpoint.account_id}:assumed-role/SageMakerExecutionRole/me"
    assert (arn, bench.endpoint.account_id) == (who["Arn"], who["Account"])
    assert (arn, who["UserId"]) == (made["AssumedRoleUser"]["Arn"], made["AssumedRoleUser"]["AssumedRoleId"])
    again = client(bench.endpoint, "sts", made["Credentials"]).assume_role(
        RoleArn=bench.endpoint.role_arn, RoleSessionName="chained"
    )
    assert again["AssumedRoleUser"]["Arn"].endswith("/chained")
    client(bench.endpoint, "sagemaker", again["Credentials"]).list_training_jobs()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            {"RoleArn": "arn:aws:iam::000000000000:role/NobodyMadeIt"},
            "AccessDenied.*not authorized to perform: sts:AssumeRole",
        ),
        ({"DurationSeconds": 899}, "ValidationError.*greater than or equal to 900"),
        ({"DurationSeconds": HOUR + 1}, "ValidationError.*exceeds the MaxSessionDuration set for this role"),
        ({"RoleSessionName": "a b"}, "ValidationError.*regular expression"),
    ],
)
def test_what_sts_refuses_is_refused(bench: Bench, asked: dict[str, Any], said: str) -> None:
    body = {"RoleArn": bench.endpoint.role_arn, "RoleSessionName": "me", **asked}
    owner = {"AccessKeyId": bench.endpoint.access_key, "SecretAccessKey": bench.endpoint.secret_key}
    sts = client(bench.endpoint, "sts", owner, parameter_validation=False)
    with pytest.raises(ClientError, match=said):
        sts.assume_role(**body)


def test_the_query_protocol_may_ask_in_its_query(bench: Bench) -> None:
    """As GET, which botocore never sends and others may: the answer is not moto's, whose keys open nothing."""
    asked = (
        f"/?Action=AssumeRole&Version=2011-06-15&RoleSessionName=me&RoleArn={quote(bench.endpoint.role_arn, safe='')}"
    )
    request = AWSRequest("GET", bench.endpoint.url + asked)
    own = Credentials(bench.endpoint.access_key, bench.endpoint.secret_key)
    SigV4Auth(own, "sts", bench.endpoint.region).add_auth(request)
    status, said = plain_get(bench.endpoint, asked, headers=dict(request.headers))
    assert (200, True) == (status, b"<AccessKeyId>SMTRN" in said)


def test_they_may_not_control_the_emulator(bench: Bench) -> None:
    credentials = assumed(bench)
    sagemaker = client(bench.endpoint, "sagemaker", credentials)
    sagemaker.meta.events.register(
        "before-sign.sagemaker",
        lambda request, **_more: request.headers.replace_header("X-Amz-Target", "SmTrnEmulator.Status"),
    )
    with pytest.raises(ClientError, match="may not control"):
        sagemaker.list_training_jobs()


@pytest.mark.parametrize("version", [None, "s3v4"])
def test_a_url_signed_with_them_opens_its_object_and_ends_with_them(
    bench: Bench, tmp_path: Path, version: str | None
) -> None:
    credentials = assumed(bench, DurationSeconds=900)
    bench.s3.put_object(Bucket=bench.endpoint.bucket, Key="temporary.txt", Body=b"shown")
    more = {"signature_version": version} if version else {}
    url = client(bench.endpoint, "s3", credentials, **more).generate_presigned_url(
        "get_object", {"Bucket": bench.endpoint.bucket, "Key": "temporary.txt"}, HOUR
    )
    path = url.removeprefix(bench.endpoint.url)
    assert (200, b"shown") == plain_get(bench.endpoint, path)
    shift, owner = [0.0], keys.Key(bench.endpoint.access_key, bench.endpoint.secret_key)
    entrance = authenticator.Authenticator(
        keys.Principals(owner),
        int(bench.endpoint.url.rpartition(":")[2]),
        tmp_path,
        Quota(tmp_path, 1),
        clock=lambda: time.time() + shift[0],
    )
    for shift[0] in (0.0, 800.0):
        assert not entrance.authenticate(asked_by_url(bench.endpoint, path)).owner
    shift[0] = 1000.0
    with pytest.raises(AwsError, match="ExpiredToken: The provided token has expired"):
        entrance.authenticate(asked_by_url(bench.endpoint, path))


def test_a_profile_that_names_a_role_works(bench: Bench, tmp_path: Path) -> None:
    """As a user's own: a program that has never heard of the emulator, and a configuration file."""
    (tmp_path / "config").write_text(
        f"[profile assumed]\nrole_arn = {bench.endpoint.role_arn}\ncredential_source = Environment\n"
        "[profile elsewhere]\nrole_arn = arn:aws:iam::111122223333:role/team/Dev\ncredential_source = Environment\n",
        encoding="utf-8",
    )
    code = (
        "import boto3, sys\n"
        "session = boto3.Session(profile_name=sys.argv[1])\n"
        "session.client('sagemaker').list_training_jobs()\n"
        "session.client('s3').list_buckets()\n"
        "print(session.client('sts').get_caller_identity()['Arn'])"
    )
    env = {"AWS_CONFIG_FILE": str(tmp_path / "config"), "HOME": str(tmp_path), **bench.endpoint.environment()}
    for profile, arn in (
        ("assumed", "arn:aws:sts::000000000000:assumed-role/SageMakerExecutionRole/"),
        ("elsewhere", "arn:aws:sts::111122223333:assumed-role/Dev/"),
    ):
        run = subprocess.run(
            [sys.executable, "-c", code, profile], env=env, capture_output=True, text=True, check=False
        )
        assert run.stdout.startswith(arn), run.stderr


def test_long_lived_keys_that_nobody_would_take_are_not_made(bench: Bench) -> None:
    with pytest.raises(ClientError, match=r"takes no other long-lived keys.*AssumeRole"):
        bench.client("iam").create_access_key(UserName="somebody")


def known_of(parent: keys.Key, expires: int = 10) -> session_tokens.Temporary:
    return session_tokens.Temporary(parent=parent.access, access="ASIA", arn="arn", user="user", expires=expires)


def test_they_hold_after_a_restart_and_end_with_the_key_they_came_from() -> None:
    owner, jobs = keys.new_key(), keys.new_key()
    principals = keys.Principals(owner)
    principals.add(jobs)
    for parent in (owner, jobs):
        secret, token = session_tokens.issue(known_of(parent), parent.secret)
        assert (known_of(parent), secret) == session_tokens.read(token, principals.secret_of)
        assert (session_tokens.read(token, keys.Principals(owner).secret_of) is not None) == (parent is owner)
    principals.remove(jobs)
    assert session_tokens.read(token, principals.secret_of) is None


@given(some.data())
def test_no_letter_of_a_token_can_be_changed(data: some.DataObject) -> None:
    owner = keys.new_key()
    _, token = session_tokens.issue(known_of(owner), owner.secret)
    at = data.draw(some.integers(0, len(token) - 1))
    letter = data.draw(some.sampled_from("aA0._-=é\0"))
    changed = token[:at] + letter + token[at + 1 :]
    assert changed == token or session_tokens.read(changed, keys.Principals(owner).secret_of) is None


def test_a_token_left_in_the_environment_does_no_harm_beside_the_owners_key(bench: Bench) -> None:
    own = Credentials(bench.endpoint.access_key, bench.endpoint.secret_key, "left over")
    credentials = {"AccessKeyId": own.access_key, "SecretAccessKey": own.secret_key, "SessionToken": own.token}
    client(bench.endpoint, "s3", credentials).list_buckets()
