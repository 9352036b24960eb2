"""A session whose cloud is simulated, and a sweep."""

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
def sweep(tmp_path: Path) -> st.Sweep:
    """Twelve training jobs of one p4d for an hour each, four at a time."""
    job = job_of(
        tmp_path / "source",
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--lr', type=float)\n"
        "parser.add_argument('--optim')\nargs = parser.parse_args()\nprint(f'loss={args.lr}')\n",
        compute=st.Compute("ml.p4d.24xlarge"),
        distribution=st.TorchDistributed(),
        max_run_s=3600,
    )
    objective = st.specs.Objective(st.MetricRule("loss", r"loss=([0-9.]+)"), st.specs.Goal.MINIMIZE)
    return st.Sweep(
        job,
        {"lr": st.specs.Continuous(0.1, 0.9), "optim": st.specs.Categorical(("adamw", "sgd"))},
        objective,
        max_jobs=12,
        parallel=4,
    )
