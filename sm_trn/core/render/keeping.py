"""Kept parts of a request: found by comparing two requests, and put back into one. Knows requests as plain dicts, no spec.

Laws, for any two JSON objects: ``restored(one, kept_parts(one, two)) == (two, ())``; and a part whose place in the request
does not say ``instead_of`` any more is not put back but returned, because what it was about has been changed.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..specs.json import Json
from ..specs.kept import Kept, json_text, pointer

# Lists whose items have a name: what is said of one item stays with it when others come and go.
NAMED: Mapping[str, str] = {
    "MetricDefinitions": "Name",
    "InputDataConfig": "ChannelName",
    "Tags": "Key",
    "InstanceGroups": "InstanceGroupName",
}
Steps = tuple[str, ...]


def kept_parts(rendered: Mapping[str, Json], sent: Mapping[str, Json]) -> tuple[Kept, ...]:
    """Return the differences of ``sent`` from ``rendered``, in the smallest parts. Raises TypeError for what JSON cannot carry."""
    return tuple(_object(rendered, sent, ()))


def restored(rendered: Mapping[str, Json], kept: Iterable[Kept]) -> tuple[dict[str, Json], tuple[Kept, ...]]:
    """``rendered`` with the kept parts put back, and those that have lost their place."""
    request = copy.deepcopy(dict(rendered))
    stale = tuple(part for part in kept if not _put_back(request, part))
    return request, stale


def _object(rendered: Mapping[str, Json], sent: Mapping[str, Json], above: Steps) -> Iterator[Kept]:
    for key in dict.fromkeys((*rendered, *sent)):
        here = (*above, key)
        if key not in sent:
            yield Kept(pointer(here), instead_of=json_text(rendered[key]))
        elif isinstance(before := rendered.get(key), Mapping) and isinstance(after := sent[key], Mapping):
            yield from _object(before, after, here)
        elif key not in rendered or json_text(rendered[key]) != json_text(sent[key]):
            yield from _value(rendered, sent, here)


def _value(rendered: Mapping[str, Json], sent: Mapping[str, Json], here: Steps) -> Iterator[Kept]:
    key = here[-1]
    parts = tuple(_items(rendered.get(key, []), sent[key], here)) if key in NAMED and sent[key] else ()
    request: dict[str, Json] = {key: rendered[key]} if key in rendered else {}
    within = [Kept(pointer(part.steps[len(here) - 1 :]), sent=part.sent, instead_of=part.instead_of) for part in parts]
    found, stale = restored(request, within)
    if parts and not stale and json_text(found.get(key)) == json_text(sent[key]):
        yield from parts
    else:  # one part for all of it
        before = json_text(rendered[key]) if key in rendered else None
        yield Kept(pointer(here), sent=json_text(sent[key]), instead_of=before)


def _items(rendered: Any, sent: Any, here: Steps) -> Iterator[Kept]:
    """Parts of two lists by the names of their items; none when the items have no names."""
    name = NAMED[here[-1]]
    one, two = _by_name(rendered, name), _by_name(sent, name)
    if one is None or two is None:
        return
    for word, item in one.items():
        if word not in two:
            yield Kept(pointer((*here, f"{name}={word}")), instead_of=json_text(item))
        else:
            yield from _object(item, two[word], (*here, f"{name}={word}"))
    for index, (word, item) in enumerate(two.items()):
        if word not in one:
            yield Kept(pointer((*here, str(index))), sent=json_text(item))


def _by_name(items: Any, name: str) -> dict[str, Mapping[str, Json]] | None:
    if not isinstance(items, list) or not all(isinstance(item, Mapping) for item in items):
        return None
    named = {item.get(name): item for item in items}
    return named if len(named) == len(items) and all(isinstance(word, str) for word in named) else None


def _put_back(request: dict[str, Json], part: Kept) -> bool:
    *above, last = part.steps
    place: Any = request
    for step in above:
        place = _inside(place, step, missing_list=part.instead_of is None and step == above[-1] and last.isdigit())
        if place is None:
            return False
    if isinstance(place, list):
        return _put_into_list(place, last, part, named=NAMED.get(above[-1], "") if above else "")
    return isinstance(place, dict) and _put_into_object(place, last, part)


def _inside(place: Any, step: str, *, missing_list: bool) -> Any:
    if isinstance(place, list):
        return _named_item(place, step)
    if isinstance(place, dict) and missing_list and step in NAMED:
        return place.setdefault(step, [])
    return place.get(step) if isinstance(place, dict) else None


def _named_item(items: list[Any], step: str) -> Any:
    name, _, word = step.partition("=")
    return next((item for item in items if isinstance(item, dict) and item.get(name) == word), None)


def _put_into_object(place: dict[str, Json], key: str, part: Kept) -> bool:
    if (json_text(place[key]) if key in place else None) != _normal(part.instead_of):
        return False
    if part.sent is None:
        place.pop(key, None)
    else:
        place[key] = json.loads(part.sent)
    return True


def _put_into_list(items: list[Any], step: str, part: Kept, *, named: str) -> bool:
    if part.sent is None:
        item = _named_item(items, step)
        if item is None or json_text(item) != _normal(part.instead_of):
            return False
        items.remove(item)
        return True
    item = json.loads(part.sent)
    taken = isinstance(item, dict) and _named_item(items, f"{named}={item.get(named)}") is not None
    if taken or not step.isdigit():
        return False
    items.insert(int(step), item)
    return True


def _normal(text: str | None) -> str | None:
    """Texts that people wrote into a file are spelled in their own way."""
    return None if text is None else json_text(json.loads(text))
