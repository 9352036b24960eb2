"""kill -9 in the middle of everything, again and again: what was there is there, what was half done is not.

SM_TRN_KILLS is the number of kills at random times (200 for the law; a few otherwise), and half as many more at chosen
instants; SM_TRN_SEED chooses others.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from emulator.crashing import World

from sm_trn import emulator as embedded
from sm_trn.core.errors import EmulatorError
from sm_trn.emulator import Endpoint, Options, daemon
from sm_trn.emulator.container import orphans

pytest.importorskip("moto")

KILLS = int(os.environ.get("SM_TRN_KILLS", "2"))
SEED = int(os.environ.get("SM_TRN_SEED", "2211"))
# Where a random time hardly ever falls: between a file and its row, a row and its answer, within a transaction.
INSTANTS = (
    "content-written", "parts-joined", "part-row-written", "before-commit", "object-row-written", "object-row-dropped",
    "row-written",
)  # fmt: skip
Identity = tuple[int, bytes]  # a process and when it started: numbers come again


def started_at(pid: int) -> bytes | None:
    """When the process started; None when it is gone or only waits to be collected."""
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        return None if fields[0] == b"Z" else fields[19]
    return None


def below(root: int) -> set[Identity]:
    """Every process that descends from ``root``."""
    parents = {}
    for entry in [folder.name for folder in Path("/proc").iterdir()]:
        if entry.isdecimal():
            with contextlib.suppress(OSError):
                parents[int(entry)] = int(Path(f"/proc/{entry}/stat").read_bytes().rpartition(b")")[2].split()[1])
    found = {root}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return {(pid, at) for pid in found if (at := started_at(pid)) is not None}


def all_gone(processes: set[Identity], seconds: float = 20) -> bool:
    deadline = time.monotonic() + seconds
    while any(started_at(pid) == at for pid, at in processes):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def up(state: Path, isolation: str) -> Endpoint:
    options = Options(start_delay_s=0.02, stop_grace_s=0.3, max_jobs=3, isolation=isolation)
    return embedded.up(state, options=options)


def one_life(world: World, isolation: str, seconds: float, seed: int) -> None:
    """Start, check what the last life left, work, die."""
    endpoint = up(world.state, isolation)
    world.meet(endpoint)
    assert daemon._locked(world.state), "the lock was not taken over"
    world.check()
    workers = world.work(seed)
    time.sleep(seconds)
    family = below(endpoint.pid)
    with contextlib.suppress(ProcessLookupError):
        os.kill(endpoint.pid, signal.SIGKILL)
    assert all_gone({process for process in family if process[0] == endpoint.pid})
    for worker in workers:
        worker.join(60)
        assert not worker.is_alive()
    family |= {
        (pid, at)
        for pid in orphans.processes(*(world.state / name for name in ("jobs", "tmp", "hosted")))
        if (at := started_at(pid)) is not None
    }
    assert all_gone(family), "a process outlived the emulator that started it"
    with contextlib.closing(sqlite3.connect(world.state / "emulator.db")) as db:
        assert [("ok",)] == db.execute("PRAGMA integrity_check").fetchall()


def killed_while_it_starts(state: Path, isolation: str, seconds: float) -> None:
    def start() -> None:
        with contextlib.suppress(EmulatorError):
            up(state, isolation)

    starter = threading.Thread(target=start, daemon=True)
    starter.start()
    time.sleep(seconds)
    for entry in [folder.name for folder in Path("/proc").iterdir()]:
        with contextlib.suppress(OSError):
            words = Path("/proc", entry, "cmdline").read_bytes().split(b"\0") if entry.isdecimal() else []
            if b"sm_trn.emulator" in words and os.fsencode(state) in words:
                os.kill(int(entry), signal.SIGKILL)
    starter.join(90)
    assert not starter.is_alive()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    yield World(tmp_path / "state", SEED)
    embedded.down(tmp_path / "state")


def report(world: World, what: str, began: float) -> None:
    found = world.known
    failed = sum('"Failed"' in told for told in found.finished.values())
    print(
        f"\n{what}: {len(found.asked)} jobs asked for, {len(found.created)} kept ({failed} were killed), "
        f"{found.looked_at} objects read and compared, {found.interrupted} requests cut off, {time.monotonic() - began:.0f} s"
    )


@pytest.mark.timeout(3600)
def test_nothing_that_was_there_is_lost_when_it_is_killed_at_any_time(world: World) -> None:
    began, chance = time.monotonic(), random.Random(SEED)
    for number in range(KILLS):
        isolation = chance.choice(["auto", "folder"])
        if chance.random() < 0.1:
            killed_while_it_starts(world.state, isolation, chance.uniform(0, 1.0))
        else:
            one_life(world, isolation, chance.uniform(0.05, 1.6), SEED + number)
    world.meet(up(world.state, "auto"))
    world.check()
    report(world, f"{KILLS} kills at random times", began)


@pytest.mark.timeout(3600)
def test_nothing_is_lost_when_it_dies_between_a_file_and_its_row(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    began, chance = time.monotonic(), random.Random(SEED + 1)
    lives = KILLS // 2 or 1
    for number in range(lives):
        instant = INSTANTS[(number + SEED) % len(INSTANTS)]
        times = chance.randrange(1, 25) if instant in {"row-written", "before-commit"} else chance.randrange(1, 4)
        monkeypatch.setenv("SM_TRN_DIE_AT", f"{instant}:{times + 5 * (instant == 'row-written')}")
        with contextlib.suppress(EmulatorError):  # it may die while it starts
            one_life(world, chance.choice(["auto", "folder"]), 1.6, SEED + number)
    monkeypatch.delenv("SM_TRN_DIE_AT")
    world.meet(up(world.state, "auto"))
    world.check()
    report(world, f"{lives} deaths at chosen instants", began)
