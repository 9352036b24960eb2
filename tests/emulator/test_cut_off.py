"""Jobs that were running when the emulator was killed: the next one says that they failed, and leaves all others alone."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("moto", reason="the emulator needs sm_trn[local]")
from sm_trn.emulator.state.resources import Resources
from sm_trn.emulator.state.store import Store

pytestmark = pytest.mark.local


@pytest.mark.parametrize("kind", ["transform-job", "processing-job", "hyper-parameter-tuning-job"])
def test_what_ran_has_failed_and_what_had_ended_has_not_changed(tmp_path: Path, kind: str) -> None:
    resources = Resources(Store(tmp_path / "state.db"), "us-west-2")
    for status in ("InProgress", "Stopping", "Completed", "Stopped"):
        resources.add(kind, status, {}, tags={}, status=status)
    resources.end_cut_off(kind)
    again = Resources(Store(tmp_path / "state.db"), "us-west-2")
    ended = {"Completed": "Completed", "Stopped": "Stopped"}
    assert {"InProgress": "Failed", "Stopping": "Failed", **ended} == {
        each.name: each.status for each in again.all(kind)
    }
    assert {"InProgress", "Stopping"} == {each.name for each in again.all(kind) if each.reason}


def test_a_reason_is_no_longer_than_the_services_model_allows(tmp_path: Path) -> None:
    resources = Resources(Store(tmp_path / "state.db"), "us-west-2")
    resources.add("processing-job", "p", {}, tags={})
    resources.end("processing-job", "p", "Failed", "x" * 5000, message="m")
    (found,) = resources.all("processing-job")
    assert (1024, "m") == (len(found.reason or ""), found.facts["message"])
