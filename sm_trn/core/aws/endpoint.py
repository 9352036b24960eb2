"""A boto3 session whose every client talks to one endpoint, for anything that speaks AWS's API on this machine."""

from __future__ import annotations

from typing import Any

import boto3


class EndpointSession(boto3.Session):  # type: ignore[misc]  # boto3 has no types
    """Like ``boto3.Session``; also where a library names an AWS endpoint itself, as SDK v2 does for STS."""

    def __init__(self, *, url: str, access_key: str, secret_key: str, region: str) -> None:
        super().__init__(aws_access_key_id=access_key, aws_secret_access_key=secret_key, region_name=region)
        self.url = url

    def client(self, service_name: str, *args: Any, **kwargs: Any) -> Any:
        return super().client(service_name, *args, **{**kwargs, "endpoint_url": self.url})

    def resource(self, service_name: str, *args: Any, **kwargs: Any) -> Any:
        return super().resource(service_name, *args, **{**kwargs, "endpoint_url": self.url})
