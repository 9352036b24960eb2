"""botocore's errors as ours: with the operation, the job, and what to do."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

from ..errors import CloudError

EXPIRED = {"ExpiredToken", "ExpiredTokenException", "RequestExpired", "UnrecognizedClientException"}
DENIED = {"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"}


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


def _fix(code: str) -> str:
    if code in EXPIRED:
        return "; your AWS login expired: run aws sso login, the job itself is not affected"
    if code in DENIED:
        return "; the identity that asks lacks this permission"
    if code == "ResourceLimitExceeded":
        return "; request the quota named above in Service Quotas. Nothing was started, nothing is billed"
    return ""
