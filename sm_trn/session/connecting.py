"""The only composition root: which cloud, whose credentials, and the ports wired to it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import NotConfigured, UnknownName
from ..pricing import PriceBook, parse_prices, snapshot_book
from ..specs import JobSpec, suggestion
from .handles import Session
from .pace import SystemClock


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
    where, progress = aws.find_region(boto_session, region), _progress()
    aws.knock()
    found_bucket = aws.find_bucket(boto_session, bucket, where)
    return Session(
        backend=aws.Boto3Backend(boto_session, SystemClock()),
        logs=aws.CloudWatchLogs(boto_session),
        storage=aws.S3Storage(boto_session, found_bucket, progress=progress),
        hosting=aws.Boto3Hosting(boto_session, found_bucket, progress=progress),
        role=aws.find_role(boto_session, role),
        bucket=found_bucket,
        region=where,
        emulated=False,
        announcement=f"AWS, {where}, s3://{found_bucket}",
        boto_session=boto_session,
        prices=known_prices(),
    )


def _progress() -> Callable[[str, int, int], None] | None:
    from ..report.transfers import transfer_line  # noqa: PLC0415 - only who connects moves files

    return transfer_line()


def _emulated(state: str | Path | None, region: str | None, why: str) -> Session:
    from .. import aws, emulator  # noqa: PLC0415 - `import sm_trn` loads no boto3

    folder, progress = Path(state) if state is not None else None, _progress()
    endpoint = emulator.up(folder, region=region) if region else emulator.up(folder)
    boto_session = aws.EndpointSession(
        url=endpoint.url, access_key=endpoint.access_key, secret_key=endpoint.secret_key, region=endpoint.region
    )
    return Session(
        backend=aws.Boto3Backend(boto_session),
        logs=aws.CloudWatchLogs(boto_session),
        storage=aws.S3Storage(boto_session, endpoint.bucket, progress=progress),
        hosting=aws.Boto3Hosting(boto_session, endpoint.bucket, progress=progress),
        role=endpoint.role_arn,
        bucket=endpoint.bucket,
        region=endpoint.region,
        emulated=True,
        announcement=f"EMULATED on this machine ({why}), {endpoint.url}: seconds are this machine's, and there is no cost",
        boto_session=boto_session,
        prices=known_prices(),
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
