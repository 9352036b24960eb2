"""A boto3 session whose login can be renewed under its clients: what signs a request is looked up again, not rebuilt.

boto3 keeps the credentials that it found first, and a watch outlives them. After ``aws sso login``, or with new keys in
the credentials file, ``renew`` finds the new ones, and every client that exists signs with them. It must not know who asks.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

import boto3
import botocore.session
from botocore.exceptions import BotoCoreError, ProfileNotFound

from ..errors import NotConfigured
from ..specs.destination import region_named
from ..specs.value import suggestion


class EndpointSession(boto3.Session):  # type: ignore[misc]  # boto3 has no types
    """Like ``boto3.Session``; also where a library names an AWS endpoint itself, as SDK v2 does for STS."""

    def __init__(self, *, url: str, access_key: str, secret_key: str, region: str) -> None:
        super().__init__(aws_access_key_id=access_key, aws_secret_access_key=secret_key, region_name=region)
        self.url = url

    def client(self, service_name: str, *args: Any, **kwargs: Any) -> Any:
        return super().client(service_name, *args, **{**kwargs, "endpoint_url": self.url})

    def resource(self, service_name: str, *args: Any, **kwargs: Any) -> Any:
        return super().resource(service_name, *args, **{**kwargs, "endpoint_url": self.url})


class RenewableSession(boto3.Session):  # type: ignore[misc]  # boto3 has no types
    """``boto3.Session`` of a profile and region, with boto3's own chain of places to look for credentials.

    Raises NotConfigured for a profile that is not there, and where AWS's configuration files cannot be read.
    """

    def __init__(self, *, profile: str | None = None, region: str | None = None) -> None:
        self._source = profile
        with configured(profile):
            keys = _look(profile)
            self._renewable = None if keys is None else _Renewable(keys)
            core = botocore.session.get_session()
            core.register_component("credential_provider", _Provider(self._renewable))
            named = region_named(os.environ)  # boto3 itself reads the last of the variables only
            where = region or (named[1] if named else None)
            super().__init__(botocore_session=core, profile_name=profile, region_name=where)

    def renew(self) -> bool:
        """Look for credentials again, and return whether there are other ones now."""
        try:
            keys = _look(self._source)
            return self._renewable is not None and keys is not None and self._renewable.turn_to(keys)
        except BotoCoreError:
            return False


@contextlib.contextmanager
def configured(profile: str | None) -> Iterator[None]:
    """Say what is wrong with a profile, or with AWS's configuration files. Raises NotConfigured."""
    try:
        yield
    except ProfileNotFound:
        name = profile or os.environ.get("AWS_PROFILE") or os.environ.get("AWS_DEFAULT_PROFILE", "")
        there = botocore.session.Session(profile="default").available_profiles
        have = f"wanted one of AWS's configuration files: {', '.join(there)}{suggestion(name, there)}"
        none = "but AWS's configuration files have no profile; aws configure makes one"
        raise NotConfigured(f"profile: got {name!r}, {have if there else none}") from None
    except BotoCoreError as error:
        raise NotConfigured(f"credentials: {error}; sm-trn doctor shows what mends it") from error


def _look(profile: str | None) -> Any:
    """Return the credentials that boto3 would find now, or None."""
    return botocore.session.Session(profile=profile).get_credentials()


class _Renewable:
    """Credentials that can be replaced under a client: botocore asks ``get_frozen_credentials`` for each request it signs."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def get_frozen_credentials(self) -> Any:
        return self._inner.get_frozen_credentials()

    def get_deferred_property(self, property_name: str) -> Any:
        return lambda: getattr(self._inner, property_name, None)

    def turn_to(self, other: Any) -> bool:
        """Sign with ``other`` from now on, and return whether its key is a new one."""
        new = other.get_frozen_credentials()
        try:
            changed = bool(new != self.get_frozen_credentials())
        except BotoCoreError:  # the old ones cannot even be read any more
            changed = True
        self._inner = other
        return changed


class _Provider:
    """botocore's credential provider that knows one answer."""

    def __init__(self, credentials: _Renewable | None) -> None:
        self._credentials = credentials

    def load_credentials(self) -> Any:
        return self._credentials
