"""A job is ours when its describe answer holds everything that the request said, and nothing of it otherwise."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as some

from sm_trn.core.aws.backend import NOT_ECHOED, same_content

LEAVES = some.one_of(some.integers(1, 9), some.text("ab", min_size=1, max_size=3))
VALUES = some.recursive(
    LEAVES,
    lambda inner: some.one_of(
        some.dictionaries(some.sampled_from("xyz"), inner, min_size=1, max_size=3),
        some.lists(inner, min_size=1, max_size=3),
    ),
    max_leaves=8,
)
REQUESTS = some.dictionaries(some.sampled_from(["HyperParameters", "RoleArn", "Environment"]), VALUES, min_size=1)


def widened(value: Any) -> Any:
    """As the service gives it back: with fields of its own."""
    if isinstance(value, dict):
        return {name: widened(item) for name, item in value.items()} | {"Default": "service"}
    return [widened(item) for item in value] if isinstance(value, list) else value


def altered(value: Any) -> Any:
    """The same with its first leaf changed."""
    if isinstance(value, dict):
        name = min(value)
        return {**value, name: altered(value[name])}
    return [altered(value[0]), *value[1:]] if isinstance(value, list) else (value, "other")


@given(REQUESTS)
def test_what_the_service_adds_is_no_matter(request_: dict[str, Any]) -> None:
    assert same_content(request_, widened(request_))


@given(REQUESTS)
def test_one_value_that_differs_is_another_job(request_: dict[str, Any]) -> None:
    assert not same_content(request_, widened(altered(copy.deepcopy(request_))))


@given(REQUESTS)
def test_a_list_that_is_longer_is_another_list(request_: dict[str, Any]) -> None:
    assert not same_content(
        {**request_, "InputDataConfig": [{"ChannelName": "a"}]},
        {**request_, "InputDataConfig": [{"ChannelName": "a"}] * 2},
    )


def test_what_describe_leaves_out_is_not_held_against_it() -> None:
    assert same_content(
        dict.fromkeys(NOT_ECHOED, ({"Key": "a", "Value": "b"},)) | {"EnableNetworkIsolation": False}, {}
    )
