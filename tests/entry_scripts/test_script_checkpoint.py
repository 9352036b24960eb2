"""Checkpoints that prove they are complete."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import sm_spot
from kit.loop import BackgroundCheckpoints as Checkpoints
from sm_spot import StopRequest, UsageError

IDENTITY = {"seed": 1}


@pytest.fixture
def checkpoints(tmp_path: Path) -> Checkpoints:
    return Checkpoints(tmp_path / "made" / "on demand", IDENTITY)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "made" / "on demand"


def save(checkpoints: Checkpoints, *steps: int) -> None:
    for step in steps:
        checkpoints.save(step, {"weights": torch.full((3,), float(step)), "meter": {"loss": 0.5}})
    checkpoints.finish()


def test_what_was_saved_is_loaded(checkpoints: Checkpoints) -> None:
    save(checkpoints, 7)
    assert 7 == checkpoints.newest()
    assert [7.0, 7.0, 7.0] == checkpoints.load(7)["weights"].tolist()


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


def test_what_a_killed_process_was_writing_is_no_checkpoint_and_goes_with_the_next_save(
    checkpoints: Checkpoints, folder: Path
) -> None:
    (folder / ".partial-9").mkdir(parents=True)
    assert 0 == checkpoints.newest()
    save(checkpoints, 1)
    assert ["checkpoint-1"] == [path.name for path in folder.iterdir()]


def test_another_runs_checkpoint_is_neither_resumed_nor_overwritten(checkpoints: Checkpoints, folder: Path) -> None:
    save(checkpoints, 1)
    other = Checkpoints(folder, {"seed": 2})
    with pytest.raises(UsageError, match=r"written by another run \(seed: got 2, it has 1\); use the same settings"):
        other.newest()


def test_loading_what_this_worker_lacks_is_a_mistake(checkpoints: Checkpoints) -> None:
    with pytest.raises(UsageError, match="unusable on this worker"):
        checkpoints.load(5)


def test_sigterm_only_raises_a_flag() -> None:
    stop = StopRequest()
    assert not stop.seen
    os.kill(os.getpid(), signal.SIGTERM)
    assert stop.seen


def test_nobody_waits_for_the_disk_until_the_next_checkpoint_or_the_end(
    checkpoints: Checkpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk, save_file = threading.Event(), torch.save

    def slowly(*args: object) -> None:
        assert disk.wait(60)
        save_file(*args)

    monkeypatch.setattr(torch, "save", slowly)
    checkpoints.save(1, {"weights": torch.zeros(3)})
    assert 0 == checkpoints.newest()
    disk.set()
    checkpoints.finish()
    assert (1, 1) == (checkpoints.newest(), checkpoints.saved_step)


def test_trainers_workers_do_not_wait_while_a_checkpoint_is_proven(
    checkpoints: Checkpoints, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer, device = pytest.importorskip("kit.trainer"), pytest.importorskip("kit.device")
    disk, fingerprint = threading.Event(), sm_spot.fingerprint

    def slowly(path: Path) -> dict[str, Any]:
        assert disk.wait(60)
        return fingerprint(path)

    monkeypatch.setattr(sm_spot, "fingerprint", slowly)
    args = SimpleNamespace(per_device_train_batch_size=1, gradient_accumulation_steps=1, world_size=1)
    callback = trainer.KitCallback(device.detect(connect=False), args)
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


def test_a_disk_that_refuses_is_said_and_the_checkpoint_before_is_kept(
    checkpoints: Checkpoints, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    save(checkpoints, 1)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(torch, "save", full)
    save(checkpoints, 2)
    assert "checkpoint of step 2 is not saved ([Errno 28] No space left on device); going on" in capsys.readouterr().out
    assert (1, 1) == (checkpoints.newest(), checkpoints.saved_step)


def test_an_identity_is_compared_as_it_is_written_down(tmp_path: Path) -> None:
    one = Checkpoints(tmp_path, {"sizes": (1, 2)})
    save(one, 1)
    assert 1 == Checkpoints(tmp_path, {"sizes": (1, 2)}).newest()
