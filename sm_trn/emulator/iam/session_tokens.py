"""A session token says whose temporary credentials it belongs to, as whom they act, and until when.

Nothing is kept of them. The token is sealed with the secret of the key they were asked for with, so they hold after a
restart, and end with that key.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True, kw_only=True)
class Temporary:
    """``parent`` is the access key they come from; ``arn`` and ``user`` are what GetCallerIdentity says; epoch seconds."""

    parent: str
    access: str
    arn: str
    user: str
    expires: int


def issue(known: Temporary, parents_secret: str) -> tuple[str, str]:
    """Return the secret key and the session token."""
    text = base64.urlsafe_b64encode(json.dumps(asdict(known)).encode()).decode()
    return _secret(text, parents_secret), f"{text}.{_seal(text, parents_secret)}"


def read(token: str, secret_of: Callable[[str], str | None]) -> tuple[Temporary, str] | None:
    """Return what the token says, and the secret that goes with it; None for a token that was not made here, or whose parent is gone."""
    text, _, seal = token.partition(".")
    try:
        known = Temporary(**json.loads(base64.urlsafe_b64decode(text)))
        parents_secret = secret_of(known.parent)
    except (ValueError, TypeError, RecursionError):
        return None
    if parents_secret is None or not hmac.compare_digest(_seal(text, parents_secret).encode(), seal.encode()):
        return None
    return known, _secret(text, parents_secret)


def _seal(text: str, secret: str) -> str:
    return hmac.new(secret.encode(), b"token " + text.encode(), hashlib.sha256).hexdigest()


def _secret(text: str, secret: str) -> str:
    digest = hmac.new(secret.encode(), b"secret " + text.encode(), hashlib.sha256).digest()
    return base64.b64encode(digest).decode()
