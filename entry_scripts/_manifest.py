"""Owns the proof that a checkpoint folder is complete, and whose it is; must not know what the files hold.

SageMaker copies the checkpoint folder to S3 file by file while it is being written, so neither a rename nor a file's
presence proves anything there: a checkpoint counts only if its manifest, written last, matches every byte.
https://docs.aws.amazon.com/sagemaker/latest/dg/model-checkpoints.html
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import TYPE_CHECKING, Any, Mapping

from _console import Mistake

if TYPE_CHECKING:
    from pathlib import Path

MANIFEST = "manifest.json"


def write_manifest(folder: Path, step: int, identity: Mapping[str, Any]) -> None:
    """Over every file in the folder, each on the disk before this returns."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != MANIFEST]
    for path in files:
        sync(path)
    prints = {path.relative_to(folder).as_posix(): fingerprint(path) for path in files}
    manifest = {"step": step, "identity": dict(identity), "files": prints}
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    sync(folder / MANIFEST)
    sync(folder)


def fault_of(folder: Path, identity: Mapping[str, Any]) -> str:
    """Why this checkpoint cannot be used, or an empty string. A complete one of another run is a Mistake."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        files, its = manifest["files"], manifest["identity"]
        torn = [name for name, wanted in files.items() if fingerprint(folder / name) != wanted]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return f"{type(error).__name__}: {error}"
    if torn:
        return f"{', '.join(torn)} does not match its manifest"
    refuse_another_run(folder, identity, its)
    return ""


def refuse_another_run(folder: Path, mine: Mapping[str, Any], its: Mapping[str, Any]) -> None:
    differing = sorted(name for name in mine if its.get(name) != mine[name])
    if differing:
        seen = "; ".join(f"{name}: got {mine[name]!r}, it has {its.get(name)!r}" for name in differing)
        raise Mistake(
            f"checkpoint_dir: {folder} was written by another run ({seen}); "
            "use the same settings and data to continue it, or another --checkpoint_dir to start anew"
        )


def fingerprint(path: Path) -> dict[str, Any]:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return {"sha256": digest.hexdigest(), "bytes": path.stat().st_size}


def sync(path: Path) -> None:
    """Bytes (or a folder's entries) on the disk, not in the cache: the instance may vanish."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
