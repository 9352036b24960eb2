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
from kit.device import LOADING_AT_ONCE, TorchRuntime
from sm_spot import UsageError, place

from launch import QUIET

HERE = Path(__file__).parent


class Waiting(TorchRuntime):
    """One of `here` workers on one machine, which counts how often it waits for the others."""

    def __init__(self, local_rank: int, here: int, size: int) -> None:
        environ = {
            "LOCAL_RANK": str(local_rank),
            "RANK": str(local_rank),
            "WORLD_SIZE": str(here),
            LOADING_AT_ONCE: str(size),
        }
        super().__init__("cpu", environ, connect=False)
        self.waits = 0

    def barrier(self) -> None:
        self.waits += 1


def waves_of(here: int, size: int) -> list[tuple[int, int]]:
    """For each local rank: how often it waits before its turn, and after."""
    found = []
    for local_rank in range(here):
        worker = Waiting(local_rank, here, size)
        with worker.loading_turn():
            before = worker.waits
        found.append((before, worker.waits - before))
    return found


@given(here=st.integers(1, 64), size=st.integers(1, 40))
def test_all_wait_as_often_the_first_is_alone_and_no_wave_is_larger_than_asked(here: int, size: int) -> None:
    found = waves_of(here, size)
    assert 1 == len({before + after for before, after in found})
    waves = [before for before, _ in found]
    assert 1 == waves.count(0)
    assert all(waves.count(wave) <= size for wave in set(waves))
    assert len(set(waves)) == 1 + -(-(here - 1) // size)  # no wave more than needed


def test_how_many_load_at_once_is_the_users_word_or_the_librarys_number() -> None:
    assert "8" == TorchRuntime("cpu", {})._at_once
    for wrong in ("0", "many", "-1"):
        with pytest.raises(UsageError, match=LOADING_AT_ONCE):
            TorchRuntime("cpu", {LOADING_AT_ONCE: wrong})


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
