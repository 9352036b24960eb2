"""The foot of the page counts what was really sent, and forgets it after ten minutes."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.simulated_wire import world

from sm_trn.report.ui.calls import WINDOW_S, Calls


def test_every_request_is_counted_with_its_retries(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    now = [0.0]
    calls = Calls(lambda: now[0])
    with calls.counted():
        here = world(monkeypatch, tmp_path, throttled=0.3, seed=4)
    (tmp_path / "other").mkdir()
    other = world(monkeypatch, tmp_path / "other")
    for n in range(30):
        here.service.add(f"job-{n}", created=here.clock.now() - 100 * n)
    here.session.snapshots(limit=30)
    other.session.snapshots(limit=30)
    assert here.wire.faults["throttled"] > 0
    assert sum(here.wire.calls.values()) == calls.recent()
    now[0] = WINDOW_S + 1
    assert 0 == calls.recent()
