"""Who loads when: the first worker of a machine alone, then the others, never more at once than asked."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from fork_server import TORCH, python_with
from kit.device import LOADING_AT_ONCE, loading_turn, waves_of
from sm_spot import UsageError, place

from launch import QUIET

HERE = Path(__file__).parent


@given(here=st.integers(1, 64), size=st.integers(1, 40))
def test_the_first_is_alone_and_no_wave_is_larger_than_asked(here: int, size: int) -> None:
    found = [waves_of(rank, here, size) for rank in range(here)]
    waves = [own for own, _ in found]
    assert 1 == waves.count(0)
    assert all(waves.count(wave) <= size for wave in set(waves))
    assert {max(waves)} == {last for _, last in found}
    assert len(set(waves)) == 1 + -(-(here - 1) // size)  # no wave more than needed


def test_how_many_load_at_once_is_the_users_word() -> None:
    for wrong in ("0", "many", "-1"):
        with pytest.raises(UsageError, match=LOADING_AT_ONCE), loading_turn({LOADING_AT_ONCE: wrong}):
            pass


def test_the_workers_of_a_machine_are_known_from_either_launcher() -> None:
    for name, wanted in (("LOCAL_WORLD_SIZE", 4), ("OMPI_COMM_WORLD_LOCAL_SIZE", 4), ("OTHER", 8)):
        assert wanted == place({"WORLD_SIZE": "8", name: "4"}).here


def peak(lines: list[str]) -> int:
    inside = most = 0
    for line in lines:
        inside += 1 if line.startswith("+") else -1
        most = max(most, inside)
    return most


def test_of_four_real_workers_two_load_at_once_and_the_first_before_all(tmp_path: Path) -> None:
    command = [
        python_with(*TORCH),
        "-m",
        "torch.distributed.run",
        "--nproc_per_node=4",
        str(HERE / "loaders.py"),
        str(tmp_path),
    ]
    environ = {**os.environ, LOADING_AT_ONCE: "2", **QUIET, "PYTHON_EXEC": command[0]}
    out = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environ)
    assert 0 == out.returncode, out.stderr[-2000:]
    lines = (tmp_path / "log").read_text().splitlines()
    assert ["+ 0", "- 0"] == lines[:2]
    assert 8 == len(lines)
    assert 2 == peak(lines)
