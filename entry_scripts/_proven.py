"""Owns Trainer's checkpoint folders: which of them count, and which may go; must not know what Trainer writes in them."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING, Any, Mapping

from _manifest import fault_of, write_manifest

if TYPE_CHECKING:
    from pathlib import Path

    from _console import Console

_NAME = re.compile(r"checkpoint-(\d+)")


class ProvenCheckpoints:
    """Trainer's `checkpoint-N` folders in one place, of which only those with a matching manifest count."""

    def __init__(self, folder: Path, identity: Mapping[str, Any], console: Console, keep: int) -> None:
        self.folder, self._identity, self._console = folder, dict(identity), console
        self._keep = max(2, keep)  # the older one is what survives a torn upload of the newer

    def newest(self) -> Path | None:
        """The newest that is complete. A Mistake if another run wrote it."""
        for path in reversed(self._paths()):
            fault = fault_of(path, self._identity)
            if not fault:
                return path
            self._console.say(f"checkpoint {path.name} is not usable ({fault}); trying the one before")
        return None

    def put_aside_newer(self, than: Path | None) -> None:
        """What this run will write again, and must not mistake for its own. Kept under another name until next time."""
        for old in self.folder.glob("torn-checkpoint-*"):
            shutil.rmtree(old, ignore_errors=True)
        for path in self._paths():
            if than is None or step_of(path) > step_of(than):
                path.rename(path.with_name("torn-" + path.name))

    def forget(self) -> None:
        for path in self._paths():
            shutil.rmtree(path, ignore_errors=True)

    def seal(self, step: int) -> bool:
        """The folder of this step is written: prove it, then let the older ones go. False if it is not whole."""
        path = self.folder / f"checkpoint-{step}"
        try:
            if not (path / "trainer_state.json").is_file():
                raise FileNotFoundError(f"no trainer_state.json in {path.name}")
            write_manifest(path, step, self._identity)
        except OSError as error:
            shutil.rmtree(path, ignore_errors=True)
            self._console.say(f"checkpoint of step {step} is not saved ({error}); going on, the one before is kept")
            return False
        for old in self._paths()[: -self._keep]:
            shutil.rmtree(old, ignore_errors=True)
        return True

    def _paths(self) -> list[Path]:
        found = [path for path in self.folder.glob("checkpoint-*") if _NAME.fullmatch(path.name)]
        return sorted(found, key=step_of)


def step_of(path: Path) -> int:
    return int(path.name.rsplit("-", 1)[1])
