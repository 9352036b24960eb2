"""This module cuts a listing into pages and makes the token that names the next page.

It must not know what is listed but its name.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import TYPE_CHECKING, Any

from ..errors import validation

if TYPE_CHECKING:
    from collections.abc import Mapping


def page(found: list[Any], body: Mapping[str, Any], default: int) -> tuple[list[Any], str | None]:
    """Return a page and the token of the next. The token names the last job shown, so that new jobs shift nothing."""
    start = 0
    if body.get("NextToken"):
        last = _decode(body["NextToken"])
        names = [(item[0] if isinstance(item, tuple) else item).name for item in found]
        start = names.index(last) + 1 if last in names else len(found)
    size = int(body.get("MaxResults") or default)
    rows = found[start : start + size]
    if start + size >= len(found) or not rows:
        return rows, None
    item = rows[-1]
    return rows, _encode((item[0] if isinstance(item, tuple) else item).name)


def _encode(name: str) -> str:
    return base64.urlsafe_b64encode(json.dumps({"last": name}).encode()).decode()


def _decode(token: str) -> str:
    try:
        return str(json.loads(base64.urlsafe_b64decode(token))["last"])
    except (binascii.Error, ValueError, KeyError, TypeError) as error:
        raise validation("Invalid NextToken") from error
