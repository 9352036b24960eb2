"""botocore's errors as ours: with the operation, the job, and what to do; and which of them pass by themselves."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    EndpointConnectionError,
    HTTPClientError,
    IncompleteReadError,
    NoCredentialsError,
)
from botocore.exceptions import ConnectionError as BotoConnectionError
from botocore.parsers import ResponseParserError

from ..errors import CloudError
from ..ports import OTHER_ACCOUNT, Trouble
from ..specs.value import suggestion

EXPIRED = {"ExpiredToken", "ExpiredTokenException", "RequestExpired", "UnrecognizedClientException"}
# A key that AWS does not know, or a secret that is not its own. UnrecognizedClientException is said of a login that ended, too.
WRONG_KEY = {
    "UnrecognizedClientException", "InvalidClientTokenId", "InvalidAccessKeyId", "SignatureDoesNotMatch",
    "InvalidSignatureException", "IncompleteSignature", "AuthFailure", "MissingAuthenticationToken",
}  # fmt: skip
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
# What AWS says word for word, and what to do about it.
_TOLD = {
    "Requested resource not found": "; sm-trn list shows the jobs that are here, --region looks elsewhere",
    "Could not find endpoint": "; sm-trn deploy lists those that are here, --region looks elsewhere",
    "is 0 Instances": "; request the quota in Service Quotas. A region that does not offer the type says 0 too: try another "
    "--region. Nothing was started, nothing is billed",
}
_ENUMERATION = re.compile(
    r"Value '(?P<got>[^']*)' at '(?P<field>[^']*)' failed to satisfy constraint: "
    r"Member must satisfy enum value set: \[(?P<known>[^\]]*)\]"
)
_LONG = 300  # characters of a message that nobody reads to its end
_SERVER = 500
_UNREACHED = (HTTPClientError, BotoConnectionError, IncompleteReadError)
# What reading an answer raises that is not the service's: a proxy's or a sign-in page comes with status 200. botocore makes
# an empty answer of a body that is no JSON, and raises what it stumbles over in JSON of another shape.
FOREIGN = (ResponseParserError, KeyError, AttributeError, TypeError, ValueError)


def trouble(error: CloudError) -> Trouble | None:
    """Return the kind of an error that may pass by itself, or None for one that asking again will not mend."""
    cause = error.__cause__
    if error.code in EXPIRED | LOGGED_OUT | {OTHER_ACCOUNT} or isinstance(cause, NoCredentialsError):
        return Trouble.EXPIRED
    if isinstance(cause, ClientError):
        if (
            error.code in THROTTLED | SKEWED
            or _status(cause) >= _SERVER
            or any(words in str(cause).lower() for words in _SKEW_WORDS)
        ):
            return Trouble.TRANSIENT
        if error.code == "ResourceNotFoundException" or "not found" in str(cause).lower():
            return Trouble.NOT_FOUND
        return None
    return Trouble.TRANSIENT if isinstance(cause, (*_UNREACHED, *FOREIGN)) else None


def unanswered(error: CloudError) -> bool:
    """Return True if the call may have taken effect although it failed: an answer was lost or foreign, or the server broke off.

    Whatever the last attempt was told, it says nothing of the attempts before it.
    """
    cause = error.__cause__
    if isinstance(cause, ClientError):
        return _status(cause) >= _SERVER or bool(cause.response.get("ResponseMetadata", {}).get("RetryAttempts"))
    return isinstance(cause, (*_UNREACHED, *FOREIGN))


@contextlib.contextmanager
def as_cloud_error(operation: str, subject: str) -> Iterator[None]:
    """Re-raise what boto3 raises as CloudError, ``from`` the original."""
    try:
        yield
    except ClientError as error:
        detail = error.response.get("Error", {})
        code, text = detail.get("Code", ""), _readable(detail.get("Message", str(error)))
        raise CloudError(
            f"{operation} of {subject!r}: {code}: {text}{_fix(code, text)}", operation=operation, code=code
        ) from error
    except NoCredentialsError as error:
        raise CloudError(
            f"{operation} of {subject!r}: no AWS credentials; run aws configure or aws sso login", operation=operation
        ) from error
    except BotoCoreError as error:
        raise CloudError(
            f"{operation} of {subject!r}: {error}{_unreachable(error)}", operation=operation, code=type(error).__name__
        ) from error
    except FOREIGN as error:
        raise CloudError(
            f"{operation} of {subject!r}: got an answer that is not the service's ({type(error).__name__}: {error}), wanted "
            "AWS's own; a proxy or a sign-in page may stand between: check the network and the endpoint, then ask again",
            operation=operation,
            code="UnreadableAnswer",
        ) from error


def _readable(text: str) -> str:
    """Shorten the service's list of hundreds of values to the one that may have been meant."""
    match = _ENUMERATION.search(text)
    if match is None or len(text) < _LONG:
        return text
    known = match["known"].split(", ")
    return (
        f"{match['field']}: got {match['got']!r}, wanted one of the {len(known)} values that the service knows"
        f"{suggestion(match['got'], known)}"
    )


def _status(error: ClientError) -> int:
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode") or 0)


def own_endpoint() -> str | None:
    """Return the address to which the environment sends SageMaker's calls instead of AWS."""
    return os.environ.get("AWS_ENDPOINT_URL_SAGEMAKER") or os.environ.get("AWS_ENDPOINT_URL")


def _unreachable(error: BotoCoreError) -> str:
    """Say what to do when nobody answers: an endpoint that the user has set is looked at first."""
    if not isinstance(error, EndpointConnectionError):
        return ""
    own = own_endpoint()
    if own:
        return (
            f"; AWS_ENDPOINT_URL is {own}: start that emulator with sm-trn local up, or unset the variable to ask AWS"
        )
    return "; check the network, the proxy and the region's name, then ask again: jobs that were started go on"


def _fix(code: str, text: str) -> str:
    for words, advice in _TOLD.items():
        if words in text:
            return advice
    if code in WRONG_KEY:
        return (
            "; AWS does not know this key: check AWS_PROFILE, AWS_ACCESS_KEY_ID and the secret that belongs to it, or log in "
            "again: aws sso login; the job itself is not affected"
        )
    if code in EXPIRED:
        return "; your AWS login expired: run aws sso login (or aws configure), the job itself is not affected"
    if code in DENIED:
        return "; the identity that asks lacks this permission"
    if code == "ResourceLimitExceeded":
        return "; request the quota named above in Service Quotas. Nothing was started, nothing is billed"
    return ""
