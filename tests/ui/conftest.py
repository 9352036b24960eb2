"""A page over a simulated account: served for real, on a clock that a test moves."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest
from fakes.simulated_wire import World, world
from served import Serve, served_world


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> World:
    """A simulated account without faults; a test puts them in."""
    return world(monkeypatch, tmp_path)


@pytest.fixture
def serve(here: World) -> Serve:
    """``with serve() as page``: the page of ``here``."""

    return functools.partial(served_world, here)
