"""Access keys: the owner's, one for each running job, and temporary ones. No secret leaves this module but to check a signature."""

from __future__ import annotations

import secrets
import string
import threading
from dataclasses import dataclass
from typing import Final

from ..options import EMULATED_ACCOUNT, ROLE_NAME

KEY_PREFIX: Final = "SMTRN"  # AWS's own begin with AKIA or ASIA: none can be mistaken for one of ours
_ARN: Final = f"arn:aws:sts::{EMULATED_ACCOUNT}:assumed-role/{ROLE_NAME}/sm_trn"
_USER: Final = "AROASMTRNEMULATED:sm_trn"


@dataclass(frozen=True, slots=True)
class Key:
    access: str
    secret: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Who holds a key: the caller's identity, and for temporary credentials their token, end (epoch seconds) and parent's access key."""

    key: Key
    arn: str = _ARN
    user: str = _USER
    token: str = ""
    expires: float = float("inf")
    parent: str = ""


def new_key() -> Key:
    """Return a random pair."""
    letters = string.ascii_uppercase + string.digits
    return Key(KEY_PREFIX + "".join(secrets.choice(letters) for _ in range(15)), secrets.token_urlsafe(30))


class Principals:
    """The keys that are valid now. Safe to share between threads."""

    def __init__(self, owner: Key) -> None:
        self.owner = owner
        self._lock = threading.Lock()
        self._known = {owner.access: Principal(key=owner)}

    def add(self, key: Key) -> None:
        self.issue(Principal(key=key))

    def issue(self, principal: Principal) -> None:
        with self._lock:
            self._known[principal.key.access] = principal

    def remove(self, key: Key) -> None:
        """End a key, and the temporary credentials that were asked for with it."""
        with self._lock:
            gone = {key.access} | {access for access, known in self._known.items() if known.parent == key.access}
            for access in gone:
                self._known.pop(access, None)

    def find(self, access_key: str) -> Principal | None:
        with self._lock:
            return self._known.get(access_key)
