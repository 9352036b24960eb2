"""The only composition root: which cloud, whose credentials, and the ports wired to it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from typing_extensions import TypeVar

from ..errors import NotConfigured, UnknownName
from ..ports import Backend
from ..specs.job import JobSpec
from ..specs.value import suggestion
from .defaults import expect_region, known_prices, known_region
from .handles import Session
from .pace import SystemClock

if TYPE_CHECKING:
    import boto3


class EmulatorEndpoint(Protocol):
    """A running emulator: where it is, and who asks there."""

    @property
    def url(self) -> str: ...

    @property
    def access_key(self) -> str: ...

    @property
    def secret_key(self) -> str: ...

    @property
    def region(self) -> str: ...

    @property
    def role_arn(self) -> str: ...

    @property
    def bucket(self) -> str: ...


StartEmulator = Callable[[Path | None, str], EmulatorEndpoint]  # of a state folder and a region
S = TypeVar("S", bound=Session[Any], default=Session)


def connect(  # noqa: PLR0913 - what a session needs, each by name
    backend: str | None = None,
    *,
    region: str | None = None,
    role: str | None = None,
    bucket: str | None = None,
    profile: str | None = None,
    state: str | Path | None = None,
    session_class: type[S] = Session,  # type: ignore[assignment]  # the default of S
    start_emulator: StartEmulator | None = None,
) -> S:
    """A session on AWS or on the emulator: ``backend`` ('aws' or 'emulator'), else ``SM_TRN_BACKEND``, else AWS when boto3
    finds credentials, else the emulator, which ``start_emulator`` starts when it is not up.

    ``region`` comes from where ``known_region`` finds it; on AWS there is no default.
    ``announcement`` says which it is and why. An AWS failure never turns into an emulated run. Raises NotConfigured when
    role, bucket or region cannot be found; UnknownName for another backend. Prices are ``known_prices()``.
    """
    from .. import aws  # noqa: PLC0415 - `import sm_trn` loads no boto3

    if region is not None:
        expect_region(region)
    chosen = backend or os.environ.get("SM_TRN_BACKEND")
    if chosen not in {None, "aws", "emulator"}:
        raise UnknownName(
            f"backend: got {chosen!r}, wanted 'aws' or 'emulator'{suggestion(str(chosen), ['aws', 'emulator'])}"
        )
    boto_session = None if chosen == "emulator" else aws.RenewableSession(profile=profile, region=region)
    logged_in = boto_session is not None and aws.has_credentials(boto_session)
    if chosen == "aws" and not logged_in:
        raise NotConfigured(
            "credentials: got none, wanted an AWS login; run aws configure or aws sso login, give --profile or profile=, "
            "or rehearse on this machine with SM_TRN_BACKEND=emulator"
        )
    if boto_session is None or not logged_in:
        if start_emulator is None:
            raise NotConfigured("backend: got 'emulator', which is not installed, wanted 'aws'")
        reason = "no AWS credentials were found" if chosen is None else "chosen" if backend else "SM_TRN_BACKEND"
        endpoint = start_emulator(Path(state) if state is not None else None, known_region(region, profile=profile))
        return emulated_session(endpoint, reason, session_class=session_class)
    where = expect_region(aws.find_region(boto_session, region))
    aws.check_endpoint()
    found_bucket = aws.find_bucket(boto_session, bucket, where)
    return _session(
        session_class,
        boto_session,
        backend=aws.Boto3Backend(boto_session, SystemClock()),
        role=aws.find_role(boto_session, role),
        bucket=found_bucket,
        region=where,
        announcement=f"AWS, {where}, s3://{found_bucket}",
    )


def emulated_session(
    endpoint: EmulatorEndpoint,
    reason: str,
    *,
    session_class: type[S] = Session,  # type: ignore[assignment]  # the default of S
) -> S:
    """A session on a running emulator; ``reason`` says why it is not AWS."""
    from .. import aws  # noqa: PLC0415 - `import sm_trn` loads no boto3

    boto_session = aws.EndpointSession(
        url=endpoint.url, access_key=endpoint.access_key, secret_key=endpoint.secret_key, region=endpoint.region
    )
    return _session(
        session_class,
        boto_session,
        backend=aws.Boto3Backend(boto_session),
        role=endpoint.role_arn,
        bucket=endpoint.bucket,
        region=endpoint.region,
        emulated=True,
        announcement=f"EMULATED on this machine ({reason}), {endpoint.url}, {endpoint.region}: seconds are this machine's, "
        "and there is no cost",
    )


def _session(  # noqa: PLR0913 - the fields of a session, each by name
    session_class: type[S],
    boto: boto3.Session,
    *,
    backend: Backend,
    role: str,
    bucket: str,
    region: str,
    announcement: str,
    emulated: bool = False,
) -> S:
    """The ports of one boto3 session, joined."""
    from .. import aws  # noqa: PLC0415 - `import sm_trn` loads no boto3

    return session_class(
        backend=backend,
        logs=aws.CloudWatchLogs(boto),
        storage=aws.S3Storage(boto, bucket),
        account=aws.Boto3Account(session=boto, role=role, bucket=bucket, region=region),
        utilization=aws.CloudWatchUtilization(boto),
        role=role,
        bucket=bucket,
        region=region,
        emulated=emulated,
        announcement=announcement,
        boto_session=boto,
        prices=known_prices(),
    )


def estimator(
    job: JobSpec, *, role: str | None = None, bucket: str | None = None, session: Session[Any] | None = None
) -> Any:
    """SDK v2's own estimator object for ``job``: a ``sagemaker.pytorch.PyTorch`` or ``sagemaker.huggingface.HuggingFace``.

    ``role`` or ``session`` must be given. Raises NotConfigured without either, or without SDK v2.
    """
    from .. import sdk  # noqa: PLC0415 - the SDK takes seconds to import

    if session is None and role is None:
        raise NotConfigured(
            "role: got nothing, wanted an IAM role ARN; estimator(job, role='arn:aws:iam::<account>:role/<name>')"
        )
    if session is None:
        return sdk.estimator(job, role=str(role), bucket=bucket)
    made = sdk.sdk_session(boto_session=session.boto_session, bucket=bucket or session.bucket)
    return sdk.estimator(job, role=role or session.role, bucket=bucket or session.bucket, session=made)
