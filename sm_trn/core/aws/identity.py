"""Who asks and where: credentials, region, execution role and bucket, each from argument, environment or the notebook."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from urllib.parse import urlsplit

import boto3
import botocore.session
from botocore.exceptions import BotoCoreError, ClientError, EndpointConnectionError

from ..errors import CloudError, NotConfigured
from .backend import make_client
from .errors import as_cloud_error, own_endpoint
from .renewal import configured

NOTEBOOK_METADATA = Path("/opt/ml/metadata/resource-metadata.json")  # on SageMaker notebook instances and in Studio


def has_credentials(session: boto3.Session) -> bool:
    """Return True if boto3's own chain finds credentials. Looks at the instance metadata service as boto3 does."""
    try:
        return session.get_credentials() is not None
    except BotoCoreError:
        return False


def find_region(session: boto3.Session, region: str | None) -> str:
    """Argument, environment and profile, notebook. Raises NotConfigured."""
    chosen = region or session.region_name or _notebook_region()
    if not chosen:
        raise NotConfigured(
            "region: got nothing, wanted an AWS region; give --region or region=, or export AWS_DEFAULT_REGION=us-west-2"
        )
    return chosen


def configured_region(profile: str | None) -> str | None:
    """The region of the profile, else of the notebook; None where neither says one. Raises NotConfigured for a profile
    that is not there. Sends nothing."""
    with configured(profile):
        found = botocore.session.Session(profile=profile).get_config_variable("region")
    return found or _notebook_region()


def check_endpoint() -> None:
    """Check at once that a local endpoint, if one is set, answers: boto3 would try ten times. Raises CloudError
    (from EndpointConnectionError) when it is down."""
    url = own_endpoint() or ""
    parts = urlsplit(url)
    if parts.hostname not in {"127.0.0.1", "localhost", "::1"}:
        return
    with as_cloud_error("Connect", url):
        try:
            socket.create_connection(
                (parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)), timeout=5.0
            ).close()
        except OSError as error:
            raise EndpointConnectionError(endpoint_url=url, error=error) from error


def find_role(session: boto3.Session, role: str | None) -> str:
    """Argument, ``SM_TRN_ROLE``, the notebook's own role. Raises NotConfigured."""
    arn = role or os.environ.get("SM_TRN_ROLE") or _notebook_role(session)
    if not arn:
        raise NotConfigured(
            "role: got nothing from the argument, SM_TRN_ROLE or notebook metadata, wanted an IAM role ARN that SageMaker may assume; "
            "connect(role='arn:aws:iam::<account>:role/<name>')"
        )
    return arn


def find_bucket(session: boto3.Session, bucket: str | None, region: str) -> str:
    """Argument, ``SM_TRN_BUCKET``, the account's default SageMaker bucket when it exists. Raises NotConfigured."""
    name = bucket or os.environ.get("SM_TRN_BUCKET")
    if name:
        return name
    with as_cloud_error("GetCallerIdentity", "your credentials"):
        account = make_client(session, "sts").get_caller_identity()["Account"]
    usual = f"sagemaker-{region}-{account}"
    try:
        with as_cloud_error("HeadBucket", usual):
            make_client(session, "s3").head_bucket(Bucket=usual)
    except CloudError as error:
        if not isinstance(error.__cause__, ClientError):
            raise
        raise NotConfigured(
            f"bucket: got nothing, and the usual {usual!r} is not there or not yours; connect(bucket='…') or export SM_TRN_BUCKET"
        ) from error
    return usual


def _notebook() -> dict[str, str]:
    try:
        body = json.loads(NOTEBOOK_METADATA.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return body if isinstance(body, dict) else {}


def _notebook_region() -> str | None:
    parts = _notebook().get("ResourceArn", "").split(":")
    return parts[3] if len(parts) > 3 else None


def _notebook_role(session: boto3.Session) -> str | None:
    """A notebook runs under its execution role: the role that the caller identity was assumed from."""
    metadata = _notebook()
    if not metadata:
        return None
    if "ExecutionRoleArn" in metadata:
        return metadata["ExecutionRoleArn"]
    with as_cloud_error("GetCallerIdentity", "the notebook"):
        arn = make_client(session, "sts").get_caller_identity()["Arn"]
    if ":assumed-role/" not in arn:
        return None
    name = arn.split("/")[1]
    with as_cloud_error("GetRole", name):
        return str(make_client(session, "iam").get_role(RoleName=name)["Role"]["Arn"])
