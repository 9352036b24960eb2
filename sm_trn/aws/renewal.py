"""A boto3 session whose login can be renewed under its clients: what signs a request is looked up again, not rebuilt.

boto3 keeps the credentials that it found first, and a watch outlives them. After ``aws sso login``, or with new keys in
the credentials file, ``renew`` finds the new ones, and every client that exists signs with them. It must not know who asks.
"""

from __future__ import annotations

from typing import Any

import boto3
import botocore.session
from botocore.exceptions import BotoCoreError


class RenewableSession(boto3.Session):  # type: ignore[misc]  # boto3 has no types
    """``boto3.Session`` of a profile and region, with boto3's own chain of places to look for credentials."""

    def __init__(self, *, profile: str | None = None, region: str | None = None) -> None:
        self._source = profile
        found = _look(profile)
        self._renewable = None if found is None else _Renewable(found)
        core = botocore.session.get_session()
        core.register_component("credential_provider", _Provider(self._renewable))
        super().__init__(botocore_session=core, profile_name=profile, region_name=region)

    def renew(self) -> bool:
        """Look for credentials again, and return whether there are other ones now."""
        try:
            found = _look(self._source)
            return self._renewable is not None and found is not None and self._renewable.turn_to(found)
        except BotoCoreError:
            return False


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
