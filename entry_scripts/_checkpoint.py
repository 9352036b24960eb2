"""Owns the raw loop's checkpoints on disk and the wish to stop; must not know what is in the state, nor which device."""

from __future__ import annotations

import inspect
import re
import shutil
import signal
from typing import TYPE_CHECKING, Any, Mapping

import torch

from _console import Console, Mistake
from _manifest import fault_of, sync, write_manifest

if TYPE_CHECKING:
    from pathlib import Path
    from types import FrameType

KEEP = 2  # the older one is what survives a torn upload of the newer
STATE = "state.pt"
_NAME = re.compile(r"step-(\d{8})")


class StopRequest:
    """SIGTERM, remembered. SageMaker sends it before a spot interruption and before a stop; torchrun passes it on.

    torchrun kills its workers 30 s later, SageMaker after 120 s: the loop acts at its next step boundary.
    """

    def __init__(self) -> None:
        self.seen = False

    def install(self) -> None:
        signal.signal(signal.SIGTERM, self._remember)

    def _remember(self, _number: int, _frame: FrameType | None) -> None:
        self.seen = True


class Checkpoints:
    """The checkpoints of one run in one folder, oldest to newest.

    `identity` is what makes two runs the same run. It travels in the manifest, and a checkpoint that another run wrote
    is refused rather than resumed or overwritten.
    """

    def __init__(self, folder: Path, identity: Mapping[str, Any], console: Console) -> None:
        self._folder = folder
        self._identity = dict(identity)
        self._console = console

    def save(self, step: int, state: Mapping[str, Any]) -> bool:
        """Durable when this returns True. One worker calls it. A disk that refuses is said and does not end the run."""
        self._folder.mkdir(parents=True, exist_ok=True)
        for abandoned in self._folder.glob(".partial-*"):  # by a process that was killed while it wrote
            shutil.rmtree(abandoned, ignore_errors=True)
        partial = self._folder / f".partial-{step:08d}"
        try:
            partial.mkdir()
            torch.save(dict(state), partial / STATE)
            write_manifest(partial, step, self._identity)
        except (OSError, RuntimeError) as error:  # torch's writer turns a full disk into a RuntimeError
            shutil.rmtree(partial, ignore_errors=True)
            reason = str(error).strip().splitlines()[0]
            self._console.say(f"checkpoint of step {step} is not saved ({reason}); going on, the one before is kept")
            return False
        final = self._folder / f"step-{step:08d}"
        shutil.rmtree(final, ignore_errors=True)  # a torn one of the same step: `newest` has refused it
        partial.rename(final)
        sync(self._folder)
        for old in self._paths()[:-KEEP]:
            shutil.rmtree(old, ignore_errors=True)
        return True

    def newest(self) -> int:
        """The newest complete checkpoint's step, 0 if there is none. Torn ones are named and passed over."""
        for path in reversed(self._paths()):
            fault = fault_of(path, self._identity)
            if not fault:
                return _step_of(path)
            self._console.say(f"checkpoint {path.name} is not usable ({fault}); trying the one before")
        return 0

    def load(self, step: int) -> dict[str, Any]:
        path = self._folder / f"step-{step:08d}"
        fault = fault_of(path, self._identity)
        if fault:
            raise Mistake(
                f"checkpoint_dir: got {path} unusable on this worker ({fault}), wanted what the others resume from; "
                "give every machine the same checkpoints, or an empty folder"
            )
        # Tensors, numbers and names only: a checkpoint from a bucket must not be able to run code.
        safe = {"weights_only": True} if "weights_only" in inspect.signature(torch.load).parameters else {}
        state: dict[str, Any] = torch.load(path / STATE, map_location="cpu", **safe)
        return state

    def _paths(self) -> list[Path]:
        return sorted(path for path in self._folder.glob("step-*") if _NAME.fullmatch(path.name))


def _step_of(path: Path) -> int:
    return int(path.name[len("step-") :])
