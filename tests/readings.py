"""What a reading of a launcher takes each of its names to be, for comparisons with Python itself."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from sm_trn.bridge import sdk
from sm_trn.bridge.launchers.language.state import Settings, State
from sm_trn.bridge.launchers.language.statements import Statements
from sm_trn.bridge.launchers.read import Reading
from sm_trn.bridge.launchers.source import cells
from sm_trn.bridge.launchers.values import Given


def readings(
    text: str, *, modules: Mapping[str, str] = MappingProxyType({}), folders: Sequence[Path] = ()
) -> list[Statements]:
    """A launcher as it is read with everything open, then under each decision on its first three open conditions."""
    own = Settings(
        file="launch.py", region="us-west-2", given=Given(), modules=modules, folders=tuple(folders), sdk=sdk.SHARED
    )
    reading = Reading(own, cells("launch.py", text), text)
    first = reading.state({})
    wanted = list(first.wanted)[:3]
    choices = itertools.product((True, False), repeat=len(wanted)) if wanted else ()
    return [first, *(reading.state(dict(zip(wanted, choice, strict=True))) for choice in choices)]


def told(states: Sequence[State], name: str) -> list[str | None]:
    """A name's value as JSON, None where it is not known: with everything open, or else under each decision."""
    first, *decided = states
    found = [_told(first, name)]
    return [_told(state, name) for state in decided] if found == [None] and decided else found


def _told(state: State, name: str) -> str | None:
    value = state.main.names.get(name, "no such name")
    if state.tainted or id(value) in state.lost or state.too_large(value) or state.missing(value):
        return None
    try:
        return json.dumps(value)
    except TypeError:
        return None
