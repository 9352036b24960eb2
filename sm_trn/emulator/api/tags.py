"""The rules of tags that hold for every kind of resource.

It must not know which resource has them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import validation
from ..options import EMULATED_TAG, SUBSTITUTED_TAG

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_TAGS = 50


def check_tags(body: Mapping[str, Any], kept: Iterable[str] = ()) -> None:
    """Raise for tags that no resource takes. ``kept`` are the keys it has already.

    The API reference of Tag: keys are unique per resource; the rest is of
    https://docs.aws.amazon.com/tag-editor/latest/userguide/best-practices-and-strats.html
    """
    keys = [tag["Key"] for tag in body.get("Tags") or ()]
    if twice := sorted({key for key in keys if keys.count(key) > 1}):
        raise validation(f"Tags: keys must be unique per resource, got {', '.join(map(repr, twice))} more than once")
    if any(key.lower().startswith("aws:") for key in keys):
        raise validation("aws: prefixed tag key names are not allowed for external use.")  # as the services say it
    number = len({*keys, *kept} - {EMULATED_TAG, SUBSTITUTED_TAG})
    if keys and number > _TAGS:
        raise validation(f"Tags: got {number} for one resource, wanted at most {_TAGS}")
