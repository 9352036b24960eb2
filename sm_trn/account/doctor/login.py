"""Who asks, and whether AWS answers: credentials and their end. No secret is printed, and no key's name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError

from ...core.aws.backend import make_client
from ...core.aws.errors import as_cloud_error
from ...core.aws.identity import find_region
from ...core.aws.renewal import RenewableSession
from ...core.errors import CloudError, NotConfigured
from .finding import Finding, State

SOON_S = 900.0  # a login that ends in so few seconds may not outlive a launch
WITHOUT = "aws configure sso, or aws configure; without an account: sm-trn quickstart"


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """A session that AWS knows: the ARN that asks, and the region that it asks in."""

    session: boto3.Session
    arn: str
    region: str

    def client(self, service: str) -> Any:
        """A client of ``service`` in the login's region."""
        return _client(self.session, service, self.region)


def session_of(profile: str | None, region: str | None) -> boto3.Session | Finding:
    """boto3's session, or what is wrong with the profile."""
    try:
        return RenewableSession(profile=profile, region=region)
    except NotConfigured as error:
        return Finding("credentials", State.ERROR, str(error), "aws configure list-profiles")


def look(session: boto3.Session, region: str | None, now: datetime) -> Iterator[Finding | Login]:
    """The findings about the login, and last the login itself where AWS knows it."""
    try:
        found = session.get_credentials()
    except BotoCoreError as error:
        yield Finding("credentials", State.ERROR, str(error), _again(session))
        return
    if found is None:
        yield Finding("credentials", State.ERROR, "none found", WITHOUT)
        return
    try:
        where = find_region(session, region)
    except NotConfigured:
        yield Finding("region", State.ERROR, "none set", "export AWS_DEFAULT_REGION=us-west-2")
        where = "us-east-1"  # to ask who we are: any region tells it
        region = None
    else:
        region = where
    try:
        with as_cloud_error("GetCallerIdentity", "your credentials"):
            answer = _client(session, "sts", where).get_caller_identity()
    except CloudError as error:
        lost = error.code in {"EndpointConnectionError", "ConnectTimeoutError", "ProxyConnectionError", "SSLError"}
        about, fix = (
            ("network", "check the network, the proxy and the region's name")
            if lost
            else ("credentials", _again(session))
        )
        yield Finding(about, State.ERROR, str(error), fix)
        return
    yield _lifetime(session, found, now)
    if region is not None:
        yield Login(session=session, arn=answer["Arn"], region=region)


def _client(session: boto3.Session, service: str, region: str) -> Any:
    return (
        make_client(session, service) if session.region_name == region else session.client(service, region_name=region)
    )


def _again(session: boto3.Session) -> str:
    named = f" --profile {session.profile_name}" if session.profile_name != "default" else ""
    return f"aws sso login{named}, or new keys: aws configure{named}"


def _lifetime(session: boto3.Session, found: Any, now: datetime) -> Finding:
    source = "the environment" if getattr(found, "method", "") == "env" else f"profile {session.profile_name}"
    end = getattr(found, "_expiry_time", None)
    if end is None:
        return Finding("credentials", State.READY, f"{source}, no end known")
    left = (end - now).total_seconds()
    says = f"{source}, expire in {_hours(left)}"
    if left < SOON_S:
        return Finding("credentials", State.WARNING, says, _again(session))
    return Finding("credentials", State.READY, says)


def _hours(seconds: float) -> str:
    minutes = max(0, int(seconds // 60))
    return f"{minutes // 60}h{minutes % 60:02}m" if minutes >= 60 else f"{minutes}m"
