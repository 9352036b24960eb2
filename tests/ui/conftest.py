"""A page over a simulated account: served for real, on a clock that a test moves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fakes.simulated_wire import World, world
from served import Serve, Served, serving

from sm_trn.ui.comparing import Comparer
from sm_trn.ui.serving import bind, make_page
from sm_trn.ui.watcher import Wishes


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> World:
    """A simulated account without faults; a test puts them in."""
    return world(monkeypatch, tmp_path)


@pytest.fixture
def serve(here: World) -> Serve:
    """``serve(wishes)``: a page of the simulated account. Its poller moves only when a test calls ``page.watcher.step()``."""

    @contextmanager
    def served(wishes: Wishes | None = None) -> Iterator[Served]:
        listening = bind(0)
        page = make_page(
            here.session,
            wishes or Wishes(),
            Comparer(here.session).document,
            port=listening.getsockname()[1],
            pause=here.clock.sleep,
        )
        page.watcher.first()
        page.watcher.step()
        with serving(page, listening) as found:
            yield found

    return served
