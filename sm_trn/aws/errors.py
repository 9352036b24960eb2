"""botocore's errors as ours: with the operation, the job, and what to do; and which of them pass by themselves."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError, IncompleteReadError, NoCredentialsError
from botocore.exceptions import ConnectionError as BotoConnectionError

from ..errors import CloudError
from ..ports import Trouble

EXPIRED = {"ExpiredToken", "ExpiredTokenException", "RequestExpired", "UnrecognizedClientException"}
DENIED = {"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"}
# Answers that mean "not now". https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html
THROTTLED = {
    "Throttling", "ThrottlingException", "ThrottledException", "RequestThrottledException", "RequestThrottled",
    "TooManyRequestsException", "RequestLimitExceeded", "BandwidthLimitExceeded", "LimitExceededException", "SlowDown",
    "PriorRequestNotComplete", "ProvisionedThroughputExceededException", "EC2ThrottledException", "TransactionInProgressException",
}  # fmt: skip
# botocore's own words for a login that is not there now: the names of its exceptions.
LOGGED_OUT = {
    "NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError", "SSOTokenLoadError",
    "UnauthorizedSSOTokenError", "TokenRetrievalError", "LoginRefreshRequired",
}  # fmt: skip
# A laptop that wakes up may sign with a time that is minutes off, until its clock is set.
SKEWED = {"RequestTimeTooSkewed", "RequestInTheFuture", "SignatureExpired"}
_SKEW_WORDS = ("signature expired", "signature not yet current")
_SERVER = 500
_UNREACHED = (HTTPClientError, BotoConnectionError, IncompleteReadError)


def trouble(error: CloudError) -> Trouble | None:
    """Which of these it is; None for an error that asking again will not mend."""
    cause = error.__cause__
    if error.code in EXPIRED | LOGGED_OUT or isinstance(cause, NoCredentialsError):
        return Trouble.EXPIRED
    if isinstance(cause, ClientError):
        if error.code in THROTTLED | SKEWED or _status(cause) >= _SERVER or _skewed(cause):
            return Trouble.PASSING
        if error.code == "ResourceNotFoundException" or "not found" in str(cause).lower():
            return Trouble.GONE
        return None
    return Trouble.PASSING if isinstance(cause, _UNREACHED) else None


def unanswered(error: CloudError) -> bool:
    """Whether the call may have taken effect although it failed: the answer was lost or the server broke off."""
    cause = error.__cause__
    return isinstance(cause, _UNREACHED) or (isinstance(cause, ClientError) and _status(cause) >= _SERVER)


@contextlib.contextmanager
def as_cloud_error(operation: str, subject: str) -> Iterator[None]:
    """Re-raise what boto3 raises as CloudError, ``from`` the original."""
    try:
        yield
    except ClientError as error:
        detail = error.response.get("Error", {})
        code, text = detail.get("Code", ""), detail.get("Message", str(error))
        raise CloudError(
            f"{operation} of {subject!r}: {code}: {text}{_fix(code)}", operation=operation, code=code
        ) from error
    except NoCredentialsError as error:
        raise CloudError(
            f"{operation} of {subject!r}: no AWS credentials; run aws configure or aws sso login", operation=operation
        ) from error
    except BotoCoreError as error:
        raise CloudError(
            f"{operation} of {subject!r}: {error}", operation=operation, code=type(error).__name__
        ) from error


def _skewed(error: ClientError) -> bool:
    return any(words in str(error).lower() for words in _SKEW_WORDS)


def _status(error: ClientError) -> int:
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode") or 0)


def _fix(code: str) -> str:
    if code in EXPIRED:
        return "; your AWS login expired: run aws sso login, the job itself is not affected"
    if code in DENIED:
        return "; the identity that asks lacks this permission"
    if code == "ResourceLimitExceeded":
        return "; request the quota named above in Service Quotas. Nothing was started, nothing is billed"
    return ""
