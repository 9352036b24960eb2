"""The only composition root: which cloud, whose credentials, and the ports wired to it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import NotConfigured, UnknownName
from ..ports import Backend
from ..pricing.book import PriceBook, parse_prices, snapshot_book
from ..specs.job import JobSpec
from ..specs.value import suggestion
from .handles import Session
from .pace import SystemClock

if TYPE_CHECKING:
    import boto3


def known_prices() -> PriceBook:
    """The prices that ship with the package and, when ``SM_TRN_PRICES`` names a file, those of the file.

    Raises NotConfigured when there is no such file, SmTrnError when it holds something else.
    """
    path = os.environ.get("SM_TRN_PRICES")
    if not path:
        return snapshot_book()
    try:
        text = Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise NotConfigured(
            f"SM_TRN_PRICES: got {error}, wanted a file that sm-trn catalog prices --refresh --save wrote"
        ) from error
    return snapshot_book().with_prices(parse_prices(text, where=path))


def connect(
    backend: str | None = None,
    *,
    region: str | None = None,
    role: str | None = None,
    bucket: str | None = None,
    profile: str | None = None,
    state: str | Path | None = None,
) -> Session:
    """A session on AWS or on the emulator: ``backend`` ('aws' or 'emulator'), else ``SM_TRN_BACKEND``, else AWS when boto3
    finds credentials, else the emulator, which is started when it is not up.

    ``announcement`` says which it is and why. An AWS failure never turns into an emulated run. Raises NotConfigured when
    role, bucket or region cannot be found; UnknownName for another backend. Prices are ``known_prices()``.
    """
    from .. import aws  # noqa: PLC0415 - `import sm_trn` loads no boto3

    chosen = backend or os.environ.get("SM_TRN_BACKEND")
    if chosen not in {None, "aws", "emulator"}:
        raise UnknownName(
            f"backend: got {chosen!r}, wanted 'aws' or 'emulator'{suggestion(str(chosen), ['aws', 'emulator'])}"
        )
    if chosen == "emulator":
        return _emulated(state, region, "chosen" if backend else "SM_TRN_BACKEND")
    boto_session = aws.RenewableSession(profile=profile, region=region)
    if chosen is None and not aws.has_credentials(boto_session):
        return _emulated(state, region, "no AWS credentials were found")
    if not aws.has_credentials(boto_session):
        raise NotConfigured(
            "credentials: got none, wanted an AWS login; run aws configure or aws sso login, give --profile or profile=, "
            "or rehearse on this machine with SM_TRN_BACKEND=emulator"
        )
    where = aws.find_region(boto_session, region)
    aws.check_endpoint()
    found_bucket = aws.find_bucket(boto_session, bucket, where)
    return _session(
        boto_session,
        backend=aws.Boto3Backend(boto_session, SystemClock()),
        role=aws.find_role(boto_session, role),
        bucket=found_bucket,
        region=where,
        announcement=f"AWS, {where}, s3://{found_bucket}",
    )


def _session(
    boto: boto3.Session,
    *,
    backend: Backend,
    role: str,
    bucket: str,
    region: str,
    announcement: str,
    emulated: bool = False,
) -> Session:
    """The ports of one boto3 session, wired together."""
    from .. import aws  # noqa: PLC0415 - `import sm_trn` loads no boto3

    progress = _progress()
    return Session(
        backend=backend,
        logs=aws.CloudWatchLogs(boto),
        storage=aws.S3Storage(boto, bucket, progress=progress),
        hosting=aws.Boto3Hosting(boto, bucket, progress=progress),
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


def _progress() -> Callable[[str, int, int], None] | None:
    from ..report.watch.transfers import transfer_line  # noqa: PLC0415 - only who connects moves files

    return transfer_line()


def _emulated(state: str | Path | None, region: str | None, why: str) -> Session:
    from .. import aws, emulator  # noqa: PLC0415 - `import sm_trn` loads no boto3

    folder = Path(state) if state is not None else None
    endpoint = emulator.up(folder, region=region) if region else emulator.up(folder)
    boto_session = aws.EndpointSession(
        url=endpoint.url, access_key=endpoint.access_key, secret_key=endpoint.secret_key, region=endpoint.region
    )
    return _session(
        boto_session,
        backend=aws.Boto3Backend(boto_session),
        role=endpoint.role_arn,
        bucket=endpoint.bucket,
        region=endpoint.region,
        emulated=True,
        announcement=f"EMULATED on this machine ({why}), {endpoint.url}: seconds are this machine's, and there is no cost",
    )


def estimator(
    job: JobSpec, *, role: str | None = None, bucket: str | None = None, session: Session | None = None
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
