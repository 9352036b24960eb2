"""What the operations of every kind of resource share: the pages of a listing, and tags."""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeVar

from ..errors import validation
from ..options import EMULATED_TAG, SUBSTITUTED_TAG
from .shapes import Body

_PAGE: Final = 10
_SORT_BY: Final = {"Name": "name", "CreationTime": "created", "Status": "status"}
_TAGS: Final = 50
MARKS: Final = (EMULATED_TAG, SUBSTITUTED_TAG)  # the tags that mark a rehearsal stay
T = TypeVar("T", bound=Any)


def select(resources: Iterable[T], body: Body) -> tuple[list[T], dict[str, str]]:
    """Return a page of jobs or resources, the newest first unless asked otherwise, and the token of the next page.

    It names the last one shown, so that new ones shift nothing. Raises AwsError for a token that is none.
    """
    name = body.get("NameContains", "").lower()
    bounds = [
        (attribute, float(body.get(f"{member}After", -math.inf)), float(body.get(f"{member}Before", math.inf)))
        for attribute, member in (("created", "CreationTime"), ("modified", "LastModifiedTime"))
    ]
    kept = [
        each
        for each in resources
        if name in each.name.lower() and all(low < getattr(each, attribute) < high for attribute, low, high in bounds)
    ]
    attribute = _SORT_BY[body.get("SortBy", "CreationTime")]
    backwards = body.get("SortOrder", "Descending") == "Descending"
    kept.sort(key=lambda each: (getattr(each, attribute), each.name), reverse=backwards)
    start, size, token = 0, body.get("MaxResults") or _PAGE, body.get("NextToken")
    if token:
        try:
            last = str(json.loads(base64.urlsafe_b64decode(token))["last"])
        except (binascii.Error, ValueError, KeyError, TypeError) as error:
            raise validation("Invalid NextToken") from error
        names = [each.name for each in kept]
        start = names.index(last) + 1 if last in names else len(kept)
    shown = kept[start : start + size]
    if start + size >= len(kept) or not shown:
        return shown, {}
    return shown, {"NextToken": base64.urlsafe_b64encode(json.dumps({"last": shown[-1].name}).encode()).decode()}


def tags_of(sent: Iterable[Body]) -> dict[str, str]:
    """Return the tags of a new resource: those of its request, and the mark of the emulator."""
    return {tag["Key"]: tag["Value"] for tag in sent} | {EMULATED_TAG: "true"}


def tag_list(tags: Mapping[str, str]) -> list[Body]:
    """Return tags as an answer has them, in the order of their keys."""
    return [{"Key": key, "Value": value} for key, value in sorted(tags.items())]


def check_tags(sent: Iterable[Body], kept: Iterable[str] = ()) -> None:
    """Raise AwsError for tags that no resource takes. ``kept`` are the keys it has already.

    The API reference of Tag: keys are unique per resource; the rest is of
    https://docs.aws.amazon.com/tag-editor/latest/userguide/best-practices-and-strats.html
    """
    keys = [tag["Key"] for tag in sent]
    if twice := sorted({key for key in keys if keys.count(key) > 1}):
        raise validation(f"Tags: keys must be unique per resource, got {', '.join(map(repr, twice))} more than once")
    if any(key.lower().startswith("aws:") for key in keys):
        raise validation("aws: prefixed tag key names are not allowed for external use.")  # as the services say it
    number = len({*keys, *kept} - set(MARKS))
    if keys and number > _TAGS:
        raise validation(f"Tags: got {number} for one resource, wanted at most {_TAGS}")
