"""A part of a request that a spec has no words for, kept word for word. Knows no request and applies nothing."""

from __future__ import annotations

import json
from dataclasses import KW_ONLY, dataclass
from typing import Any

from .value import suggesting


@suggesting
@dataclass(frozen=True, slots=True)
class Kept:
    """At the place ``at`` the request says ``sent``, where the spec alone would say ``instead_of``; None is nothing at all.

    ``at`` is a JSON pointer (RFC 6901), but an item of a list that has names is found by its name, ``ChannelName=train``,
    and a number is where an item is put in. Both values are JSON texts: they cannot change, and every file format holds them.

    >>> st.specs.Kept("/EnableInterContainerTrafficEncryption", sent="true").steps
    ('EnableInterContainerTrafficEncryption',)
    """

    at: str
    _: KW_ONLY
    sent: str | None = None
    instead_of: str | None = None

    def __post_init__(self) -> None:
        if not self.at.startswith("/"):
            raise ValueError(f"kept.at: got {self.at!r}, wanted a pointer such as '/ProfilerConfig'")
        for name in ("sent", "instead_of"):
            text = getattr(self, name)
            if text is not None and not _is_json(text):
                raise ValueError(f"kept.{name}: got {text!r}, wanted JSON text")

    @property
    def steps(self) -> tuple[str, ...]:
        """The pointer's steps, unescaped."""
        return tuple(step.replace("~1", "/").replace("~0", "~") for step in self.at[1:].split("/"))

    def __str__(self) -> str:
        return f"{self.at} = {self.sent}" if self.sent is not None else f"{self.at} left out"


def pointer(steps: tuple[str, ...]) -> str:
    """Steps as a JSON pointer."""
    return "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in steps)


def json_text(value: Any) -> str:
    """One spelling for one value. Raises TypeError for what JSON cannot carry."""
    return json.dumps(value, sort_keys=True)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
