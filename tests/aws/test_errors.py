"""Which failures pass by themselves, which need a login, and which are final – in AWS's own words."""

from __future__ import annotations

import pytest
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    ParamValidationError,
    ReadTimeoutError,
    SSOTokenLoadError,
)

from sm_trn.core.aws.errors import as_cloud_error, trouble, unanswered
from sm_trn.core.errors import CloudError
from sm_trn.core.ports import Trouble

URL = "https://sagemaker.us-west-2.amazonaws.com"


def failure(error: Exception) -> CloudError:
    with pytest.raises(CloudError) as caught, as_cloud_error("DescribeTrainingJob", "a-job"):
        raise error
    return caught.value


def answer(code: str, message: str = "", status: int = 400) -> ClientError:
    body = {"Error": {"Code": code, "Message": message}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(body, "DescribeTrainingJob")


@pytest.mark.parametrize(
    ("error", "wanted"),
    [
        (answer("ThrottlingException", "Rate exceeded"), Trouble.TRANSIENT),
        (answer("InternalFailure", status=500), Trouble.TRANSIENT),
        (answer("ServiceUnavailable", status=503), Trouble.TRANSIENT),
        (answer("InvalidSignatureException", "Signature expired: 2026 is now earlier than 2026"), Trouble.TRANSIENT),
        (EndpointConnectionError(endpoint_url=URL), Trouble.TRANSIENT),
        (ConnectTimeoutError(endpoint_url=URL), Trouble.TRANSIENT),
        (ReadTimeoutError(endpoint_url=URL), Trouble.TRANSIENT),
        (answer("ExpiredTokenException", "The security token included in the request is expired"), Trouble.EXPIRED),
        (SSOTokenLoadError(profile_name="default", error_msg="expired"), Trouble.EXPIRED),
        (NoCredentialsError(), Trouble.EXPIRED),
        (answer("ValidationException", "Requested resource not found."), Trouble.NOT_FOUND),
        (answer("AccessDeniedException", "not authorized"), None),
        (answer("ValidationException", "1 validation error detected"), None),
        (answer("InvalidSignatureException", "check the secret key"), None),
        (ParamValidationError(report="wrong"), None),
    ],
)
def test_a_failure_passes_or_does_not(error: ClientError | BotoCoreError, wanted: Trouble | None) -> None:
    assert wanted is trouble(failure(error))


@pytest.mark.parametrize(
    ("error", "wanted"),
    [
        (ReadTimeoutError(endpoint_url=URL), True),
        (answer("InternalFailure", status=500), True),
        (answer("ThrottlingException"), False),
        (answer("ResourceLimitExceeded"), False),
        (NoCredentialsError(), False),
    ],
)
def test_only_a_lost_answer_may_have_taken_effect(error: ClientError | BotoCoreError, wanted: bool) -> None:
    assert wanted is unanswered(failure(error))


def test_hundreds_of_values_are_told_as_the_one_that_was_meant() -> None:
    known = ", ".join([f"ml.x{number}.large" for number in range(300)] + ["ml.c5.xlarge"])
    text = (
        "1 validation error detected: Value 'ml.c5.xlarg' at 'productionVariants.1.member.instanceType' failed to satisfy "
        f"constraint: Member must satisfy enum value set: [{known}]"
    )
    said = str(failure(answer("ValidationException", text)))
    assert "instanceType: got 'ml.c5.xlarg', wanted one of the 301 values that the service knows" in said
    assert "(did you mean 'ml.c5.xlarge'?)" in said
    assert len(said) < 300


@pytest.mark.parametrize("code", ["InvalidClientTokenId", "SignatureDoesNotMatch", "UnrecognizedClientException"])
def test_a_wrong_key_is_not_called_an_expired_login(code: str) -> None:
    said = str(failure(answer(code, "The security token included in the request is invalid.")))
    assert "AWS does not know this key" in said
    assert "expired" not in said
