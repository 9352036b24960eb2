"""Access keys: those that are valid at present, and new ones. No secret leaves ``Principals`` but to check a signature."""

from __future__ import annotations

import secrets
import string
import threading
from dataclasses import dataclass
from typing import Final

KEY_PREFIX: Final = "SMTRN"  # of AWS's own, AKIA and ASIA: none can be mistaken for one of ours


@dataclass(frozen=True, slots=True)
class Key:
    access: str
    secret: str


def new_key() -> Key:
    """Return a random pair that can never be mistaken for one of AWS's (those begin with AKIA or ASIA)."""
    letters = string.ascii_uppercase + string.digits
    return Key(KEY_PREFIX + "".join(secrets.choice(letters) for _ in range(15)), secrets.token_urlsafe(30))


class Principals:
    """The keys that are valid now: the owner's, and one for each running job."""

    def __init__(self, owner: Key) -> None:
        self.owner = owner
        self._lock = threading.Lock()
        self._keys = {owner.access: owner.secret}

    def add(self, key: Key) -> None:
        with self._lock:
            self._keys[key.access] = key.secret

    def remove(self, key: Key) -> None:
        with self._lock:
            self._keys.pop(key.access, None)

    def secret_of(self, access_key: str) -> str | None:
        with self._lock:
            return self._keys.get(access_key)
