"""Owns checkpoints on disk and the wish to stop; must not know what is in the state, nor which device made it.

SageMaker copies the checkpoint folder to S3 file by file while it is being written, so neither a rename nor a file's
presence proves anything there: a checkpoint counts only if its manifest, written last, matches every byte.
https://docs.aws.amazon.com/sagemaker/latest/dg/model-checkpoints.html
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import re
import shutil
import signal
from typing import TYPE_CHECKING, Any, Mapping

import torch

from _console import Console, Mistake

if TYPE_CHECKING:
    from pathlib import Path
    from types import FrameType

KEEP = 2  # the older one is what survives a torn upload of the newer
MANIFEST = "manifest.json"
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

    def save(self, step: int, state: Mapping[str, Any]) -> None:
        """Durable when this returns. One worker calls it."""
        self._folder.mkdir(parents=True, exist_ok=True)
        for abandoned in self._folder.glob(".partial-*"):  # by a process that was killed while it wrote
            shutil.rmtree(abandoned, ignore_errors=True)
        partial = self._folder / f".partial-{step:08d}"
        partial.mkdir()
        torch.save(dict(state), partial / STATE)
        _sync(partial / STATE)
        manifest = {"step": step, "identity": self._identity, "files": {STATE: _fingerprint(partial / STATE)}}
        (partial / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")
        _sync(partial / MANIFEST)
        final = self._folder / f"step-{step:08d}"
        shutil.rmtree(final, ignore_errors=True)  # a torn one of the same step: `newest` has refused it
        partial.rename(final)
        _sync(self._folder)
        for old in self._paths()[:-KEEP]:
            shutil.rmtree(old, ignore_errors=True)

    def newest(self) -> int:
        """The newest complete checkpoint's step, 0 if there is none. Torn ones are named and passed over."""
        for path in reversed(self._paths()):
            fault = self._fault(path)
            if not fault:
                return _step_of(path)
            self._console.say(f"checkpoint {path.name} is not usable ({fault}); trying the one before")
        return 0

    def load(self, step: int) -> dict[str, Any]:
        path = self._folder / f"step-{step:08d}"
        fault = self._fault(path)
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

    def _fault(self, path: Path) -> str:
        """Why this checkpoint cannot be used, or an empty string. A complete one of another run is a Mistake."""
        try:
            manifest = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
            files, identity = manifest["files"], manifest["identity"]
            torn = [name for name, wanted in files.items() if _fingerprint(path / name) != wanted]
        except (OSError, ValueError, KeyError, TypeError) as error:
            return f"{type(error).__name__}: {error}"
        if torn:
            return f"{', '.join(torn)} does not match its manifest"
        self._refuse_another_run(path, identity)
        return ""

    def _refuse_another_run(self, path: Path, identity: Mapping[str, Any]) -> None:
        differing = sorted(name for name in self._identity if identity.get(name) != self._identity[name])
        if differing:
            seen = "; ".join(
                f"{name}: got {self._identity[name]!r}, it has {identity.get(name)!r}" for name in differing
            )
            raise Mistake(
                f"checkpoint_dir: {path} was written by another run ({seen}); "
                "use the same settings and data to continue it, or another --checkpoint_dir to start anew"
            )


def _step_of(path: Path) -> int:
    return int(path.name[len("step-") :])


def _fingerprint(path: Path) -> dict[str, Any]:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return {"sha256": digest.hexdigest(), "bytes": path.stat().st_size}


def _sync(path: Path) -> None:
    """Bytes (or a folder's entries) on the disk, not in the cache: the instance may vanish."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
