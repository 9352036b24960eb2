"""Placeholders of the account: the user's own value where there is one, and the region where a mapping is asked for it."""

from __future__ import annotations

import ast

from ..state import State
from ..values import (
    Symbol,
    Text,
)


def given_symbol(state: State, value: object) -> object:
    """A placeholder's value where the user has given it, else the placeholder as a text."""
    if isinstance(value, Symbol):
        return state.settings.get(value.value, Text((value,)))
    return value


def in_region(state: State, node: ast.AST, owner: dict[object, object], key: object) -> object:
    """A key that is the region, as the region of this reading where the mapping has that one."""
    if not isinstance(key, Text) or key.symbols != {Symbol.REGION} or key.causes:
        return key
    placed = "".join(part if isinstance(part, str) else state.region for part in key.parts)
    if placed not in owner:
        return key
    state.assumed[state.place(node), f"the region is {state.region}"] = None
    return placed
