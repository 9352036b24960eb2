"""A page over a simulated account: served for real, on a clock that a test moves."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from fakes.simulated_wire import World, world
from served import Serve, Served, served_world

from sm_trn.report.ui.watcher import PageSettings


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> World:
    """A simulated account without faults; a test puts them in."""
    return world(monkeypatch, tmp_path)


@pytest.fixture
def serve(here: World) -> Serve:
    """``with serve(settings) as page``: the page of ``here``."""

    def served(settings: PageSettings | None = None) -> AbstractContextManager[Served]:
        found: AbstractContextManager[Served] = served_world(here, settings or PageSettings())
        return found

    return served
