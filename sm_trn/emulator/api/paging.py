"""Pages of a listing: filtered, sorted and cut, and the token that names the next page."""

from __future__ import annotations

import base64
import binascii
import json
import math
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from ..errors import validation

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .shapes import Body

_PAGE: Final = 10
_SORT_BY: Final = {"Name": "name", "CreationTime": "created", "Status": "status"}


class Named(Protocol):
    """This is what a page needs to know of a row."""

    @property
    def name(self) -> str: ...


class Listed(Named, Protocol):
    """This is what every listed thing has. Times are epoch seconds."""

    @property
    def created(self) -> float: ...
    @property
    def modified(self) -> float: ...
    @property
    def status(self) -> str: ...


T = TypeVar("T", bound=Listed)
N = TypeVar("N", bound=Named)


def select(found: Iterable[T], body: Body) -> tuple[list[T], dict[str, str]]:
    """Return the page that is asked for, the newest first unless asked otherwise. Raises AwsError for a token that is none."""
    name = body.get("NameContains", "").lower()
    created = _between(body.get("CreationTimeAfter"), body.get("CreationTimeBefore"))
    modified = _between(body.get("LastModifiedTimeAfter"), body.get("LastModifiedTimeBefore"))
    kept = [
        each
        for each in found
        if name in each.name.lower()
        and created[0] < each.created < created[1]
        and modified[0] < each.modified < modified[1]
    ]
    attribute = _SORT_BY[body.get("SortBy", "CreationTime")]
    backwards = body.get("SortOrder", "Descending") == "Descending"
    kept.sort(key=lambda each: (getattr(each, attribute), each.name), reverse=backwards)
    return page(kept, body.get("NextToken"), body.get("MaxResults"))


def page(found: list[N], token: str | None, size: int | None) -> tuple[list[N], dict[str, str]]:
    """Return a page, and the token of the next. It names the last one shown, so that new ones shift nothing. Raises AwsError."""
    start, size = 0, size or _PAGE
    if token:
        last, names = _decode(token), [each.name for each in found]
        start = names.index(last) + 1 if last in names else len(found)
    rows = found[start : start + size]
    if start + size >= len(found) or not rows:
        return rows, {}
    return rows, {"NextToken": base64.urlsafe_b64encode(json.dumps({"last": rows[-1].name}).encode()).decode()}


def _between(after: float | None, before: float | None) -> tuple[float, float]:
    return (-math.inf if after is None else float(after)), (math.inf if before is None else float(before))


def _decode(token: str) -> str:
    try:
        return str(json.loads(base64.urlsafe_b64decode(token))["last"])
    except (binascii.Error, ValueError, KeyError, TypeError) as error:
        raise validation("Invalid NextToken") from error
