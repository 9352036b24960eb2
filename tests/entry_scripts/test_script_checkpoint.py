"""Checkpoints that prove they are complete."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from _checkpoint import Checkpoints, StopRequest
from _console import Console, Mistake

IDENTITY = {"seed": 1}


@pytest.fixture
def checkpoints(tmp_path: Path) -> Checkpoints:
    return Checkpoints(tmp_path / "made" / "on demand", IDENTITY, Console(is_main=True))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "made" / "on demand"


def save(checkpoints: Checkpoints, *steps: int) -> None:
    for step in steps:
        checkpoints.save(step, {"weights": torch.full((3,), float(step)), "meter": {"loss": 0.5}})


def test_what_was_saved_is_loaded(checkpoints: Checkpoints) -> None:
    save(checkpoints, 7)
    assert 7 == checkpoints.newest()
    assert [7.0, 7.0, 7.0] == checkpoints.load(7)["weights"].tolist()


def test_an_empty_folder_means_the_start(checkpoints: Checkpoints) -> None:
    assert 0 == checkpoints.newest()


def test_two_are_kept(checkpoints: Checkpoints, folder: Path) -> None:
    save(checkpoints, 1, 2, 3)
    assert ["step-00000002", "step-00000003"] == sorted(path.name for path in folder.iterdir())


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
    tear(folder / "step-00000002")
    assert 1 == checkpoints.newest()
    assert "checkpoint step-00000002 is not usable" in capsys.readouterr().out
    save(checkpoints, 2)
    assert 2 == checkpoints.newest()


def test_what_a_killed_process_was_writing_is_no_checkpoint_and_goes_with_the_next_save(
    checkpoints: Checkpoints, folder: Path
) -> None:
    (folder / ".partial-00000009").mkdir(parents=True)
    assert 0 == checkpoints.newest()
    save(checkpoints, 1)
    assert ["step-00000001"] == [path.name for path in folder.iterdir()]


def test_another_runs_checkpoint_is_neither_resumed_nor_overwritten(checkpoints: Checkpoints, folder: Path) -> None:
    save(checkpoints, 1)
    other = Checkpoints(folder, {"seed": 2}, Console(is_main=True))
    with pytest.raises(Mistake, match=r"written by another run \(seed: got 2, it has 1\); use the same settings"):
        other.newest()


def test_loading_what_this_worker_lacks_is_a_mistake(checkpoints: Checkpoints) -> None:
    with pytest.raises(Mistake, match="unusable on this worker"):
        checkpoints.load(5)


def test_sigterm_only_raises_a_flag() -> None:
    stop = StopRequest()
    stop.install()
    assert not stop.seen
    os.kill(os.getpid(), signal.SIGTERM)
    assert stop.seen
