"""Temporary credentials of STS: good everywhere while they last, for nothing once they or their parent have ended."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.config import Config
from botocore.credentials import Credentials
from botocore.exceptions import ClientError
from emulator.bench import Bench, client_of

from sm_trn.emulator import Endpoint
from sm_trn.emulator.iam import keys

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


def test_they_may_not_control_the_emulator(bench: Bench) -> None:
    credentials = assumed(bench)
    sagemaker = client(bench.endpoint, "sagemaker", credentials)
    sagemaker.meta.events.register(
        "before-sign.sagemaker",
        lambda request, **_more: request.headers.replace_header("X-Amz-Target", "SmTrnEmulator.Status"),
    )
    with pytest.raises(ClientError, match="may not control"):
        sagemaker.list_training_jobs()


def test_long_lived_keys_that_nobody_would_take_are_not_made(bench: Bench) -> None:
    with pytest.raises(ClientError, match=r"takes no other long-lived keys.*AssumeRole"):
        bench.client("iam").create_access_key(UserName="somebody")


def test_they_end_with_the_key_that_they_came_from() -> None:
    owner, job, other = keys.new_key(), keys.new_key(), keys.new_key()
    principals = keys.Principals(owner)
    principals.add(job)
    principals.issue(keys.Principal(key=other, token="t", parent=job.access))
    assert principals.find(other.access) is not None
    principals.remove(job)
    assert [None, None] == [principals.find(key.access) for key in (job, other)]


def test_a_token_left_in_the_environment_does_no_harm_beside_the_owners_key(bench: Bench) -> None:
    own = Credentials(bench.endpoint.access_key, bench.endpoint.secret_key, "left over")
    credentials = {"AccessKeyId": own.access_key, "SecretAccessKey": own.secret_key, "SessionToken": own.token}
    client(bench.endpoint, "s3", credentials).list_buckets()
