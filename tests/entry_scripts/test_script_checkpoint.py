"""Checkpoints that prove they are complete."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import sm_spot
from sm_spot import KEEP, Checkpoints, StopRequest, UsageError

IDENTITY = {"seed": 1}


@pytest.fixture
def checkpoints(tmp_path: Path) -> Checkpoints:
    return Checkpoints(tmp_path / "made" / "on demand", IDENTITY, KEEP)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "made" / "on demand"


def save(checkpoints: Checkpoints, *steps: int) -> None:
    for step in steps:
        checkpoints.path(step).mkdir(parents=True, exist_ok=True)
        torch.save({"weights": torch.full((3,), float(step))}, checkpoints.path(step) / "state.pt")
        checkpoints.seal_together(step)


def test_what_was_sealed_is_the_newest(checkpoints: Checkpoints) -> None:
    save(checkpoints, 7)
    assert 7 == checkpoints.newest()


def test_an_empty_folder_means_the_start(checkpoints: Checkpoints) -> None:
    assert 0 == checkpoints.newest()


def test_a_folder_is_claimed_so_that_a_first_checkpoint_that_is_torn_is_known_as_ones_own(
    checkpoints: Checkpoints, folder: Path
) -> None:
    checkpoints.claim()
    (folder / "checkpoint-5").mkdir()
    checkpoints.claim()
    assert 0 == checkpoints.newest()


def test_checkpoints_of_a_version_that_claimed_no_folder_are_ones_own(checkpoints: Checkpoints, folder: Path) -> None:
    save(checkpoints, 5)
    (folder / "checkpoint-9").mkdir()
    checkpoints.claim()
    assert 5 == checkpoints.newest()


def test_two_are_kept(checkpoints: Checkpoints, folder: Path) -> None:
    save(checkpoints, 1, 2, 3)
    assert ["checkpoint-2", "checkpoint-3"] == sorted(path.name for path in folder.iterdir())


def truncate(newest: Path) -> None:
    state = newest / "state.pt"
    state.write_bytes(state.read_bytes()[:-100])


def flip_a_bit(newest: Path) -> None:
    state = newest / "state.pt"
    content = bytearray(state.read_bytes())
    content[len(content) // 2] ^= 1
    state.write_bytes(bytes(content))


def lose_the_manifest(newest: Path) -> None:
    (newest / "manifest.json").unlink()


def cut_the_manifest(newest: Path) -> None:
    (newest / "manifest.json").write_text('{"step": 2, "files": {')


def lose_the_state(newest: Path) -> None:
    (newest / "state.pt").unlink()


@pytest.mark.parametrize("tear", [truncate, flip_a_bit, lose_the_manifest, cut_the_manifest, lose_the_state])
def test_a_torn_newest_is_passed_over_and_said(
    tear: Callable[[Path], None], checkpoints: Checkpoints, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save(checkpoints, 1, 2)
    tear(folder / "checkpoint-2")
    assert 1 == checkpoints.newest()
    assert "checkpoint-2 is not usable" in capsys.readouterr().out
    save(checkpoints, 2)
    assert 2 == checkpoints.newest()


def test_another_runs_checkpoint_is_neither_resumed_nor_overwritten(checkpoints: Checkpoints, folder: Path) -> None:
    save(checkpoints, 1)
    other = Checkpoints(folder, {"seed": 2})
    with pytest.raises(UsageError, match=r"written by another run \(seed: got 2, it has 1\); use the same settings"):
        other.newest()


def test_sigterm_only_raises_a_flag() -> None:
    stop = StopRequest()
    assert not stop.seen
    os.kill(os.getpid(), signal.SIGTERM)
    assert stop.seen


def test_trainers_workers_do_not_wait_while_a_checkpoint_is_proven(
    checkpoints: Checkpoints, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk, fingerprint = threading.Event(), sm_spot.fingerprint

    def slowly(path: Path) -> dict[str, Any]:
        assert disk.wait(60)
        return fingerprint(path)

    monkeypatch.setattr(sm_spot, "fingerprint", slowly)
    args = SimpleNamespace(output_dir=str(folder))
    callback = sm_spot.SpotCallback()
    callback.checkpoints = checkpoints
    written = folder / "checkpoint-3"
    written.mkdir(parents=True)
    (written / "model.safetensors").write_bytes(b"weights")
    callback.on_save(args, SimpleNamespace(global_step=3, best_model_checkpoint=None), None)
    assert ["model.safetensors"] == [path.name for path in written.iterdir()]
    disk.set()
    checkpoints.finish()
    assert (3, 3) == (checkpoints.newest(), checkpoints.saved_step)


def test_what_fails_in_the_background_is_raised_by_who_waits_for_it_and_once(checkpoints: Checkpoints) -> None:
    def fails() -> None:
        raise OSError(28, "No space left on device")

    checkpoints.begin(fails)
    with pytest.raises(OSError, match="No space left"):
        checkpoints.begin(lambda: None)
    checkpoints.finish()


def test_an_identity_is_compared_as_it_is_written_down(tmp_path: Path) -> None:
    one = Checkpoints(tmp_path, {"sizes": (1, 2)})
    save(one, 1)
    assert 1 == Checkpoints(tmp_path, {"sizes": (1, 2)}).newest()


def test_a_host_that_has_nothing_to_save_proves_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the main worker alone saves, and the other hosts do not see its folder."""
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "1")
    for host in ("0", "1"):
        monkeypatch.setenv("RANK", host)
        own = Checkpoints(tmp_path / host)
        if host == "0":
            own.path(5).mkdir(parents=True)
            (own.path(5) / "state.pt").write_bytes(b"weights")
        own.seal(5)
    assert Checkpoints(tmp_path / "0").fault(5).startswith("FileNotFoundError")
    shutil.copytree(tmp_path / "1", tmp_path / "0", dirs_exist_ok=True)
    assert not Checkpoints(tmp_path / "0").fault(5)


def test_what_a_collator_draws_is_of_the_seed_the_epoch_and_the_examples() -> None:
    def drawn(seed: int, epoch: int, examples: list[int]) -> list[float]:
        collate = sm_spot._Collate(lambda _: torch.rand(4).tolist(), seed)
        collate.epoch = epoch
        return list(collate(examples))

    assert drawn(1, 0, [1, 2]) == drawn(1, 0, [1, 2])
    assert 4 == len({str(drawn(*parts)) for parts in ((1, 0, [1]), (2, 0, [1]), (1, 1, [1]), (1, 0, [2]))})
