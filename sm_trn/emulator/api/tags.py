"""Tags: adding, listing and deleting them, and the rules that are the same for every kind of resource."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ..errors import validation
from ..options import EMULATED_TAG, SUBSTITUTED_TAG

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from .shapes import Body

_TAGS: Final = 50
_MARKS: Final = (EMULATED_TAG, SUBSTITUTED_TAG)  # what marks a rehearsal must not be lost


@dataclass(frozen=True, slots=True)
class Tagged:
    """This is what a resource has of tags, and how they are changed."""

    tags: Mapping[str, str]
    save: Callable[[dict[str, str]], object]


def add_tags(resource: Tagged, body: Body) -> Body:
    """AddTags: the answer lists all tags of the resource. Raises AwsError for tags that it does not take."""
    check_tags(body["Tags"], resource.tags)
    tags = {**resource.tags, **tags_of(body["Tags"])}
    resource.save(tags)
    return list_tags(Tagged(tags, resource.save), body)


def list_tags(resource: Tagged, _body: Body) -> Body:
    """ListTags, in the order of their keys."""
    return {"Tags": tag_list(resource.tags)}


def delete_tags(resource: Tagged, body: Body) -> Body:
    """DeleteTags: what marks a rehearsal stays."""
    gone = set(body["TagKeys"]) - set(_MARKS)
    resource.save({key: value for key, value in resource.tags.items() if key not in gone})
    return {}


def tags_of(sent: Iterable[Body]) -> dict[str, str]:
    """Return the tags that a resource gets where these were sent for it: it is marked as emulated."""
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
    number = len({*keys, *kept} - set(_MARKS))
    if keys and number > _TAGS:
        raise validation(f"Tags: got {number} for one resource, wanted at most {_TAGS}")
