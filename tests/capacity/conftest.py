"""A session whose cloud is simulated, and a job for its queue."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.simulated_wire import World, world
from jobs import job_of

import sm_trn as st


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> World:
    """One without faults; a test puts them in."""
    return world(monkeypatch, tmp_path)


@pytest.fixture
def spec(tmp_path: Path) -> st.JobSpec:
    """A job of one p4d for an hour, with a source of its own."""
    return job_of(
        tmp_path / "source",
        "print('hello')\n",
        compute=st.Compute("ml.p4d.24xlarge"),
        distribution=st.TorchDistributed(),
        max_run_s=3600,
    )
