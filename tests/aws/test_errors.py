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

from sm_trn.aws.errors import as_cloud_error, trouble, unanswered
from sm_trn.errors import CloudError
from sm_trn.ports import Trouble

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
