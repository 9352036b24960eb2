"""Copies of the training scripts that the package ships, each with the modules that it imports."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from ..core import _entry


def copy_script(name: str, folder: Path) -> None:
    """Copy a shipped script, with the modules that it needs, into ``folder``."""
    names = _entry.shipped_scripts()
    home = _entry.scripts_folder()
    others = {other for other in names if other != name and Path(other).stem not in (home / name).read_text("utf-8")}
    compiled = name.startswith("compiler/")
    if compiled:  # it stands alone but for this one
        others = set(names) - {name, "sm_spot.py"}
    folder.mkdir(parents=True, exist_ok=True)
    needed = _kit_of(home, [home / name, *(home / other for other in names if other not in others)])
    for path in sorted(home.iterdir()):
        if path.name in others or path.name in {"__pycache__", "ruff.toml"} or path.name.startswith("."):
            continue
        if (path.name == "compiler") != compiled and path.name in {"compiler", "kit"}:
            continue
        alone = len(needed) == 1 and not compiled  # of the kit nothing but its mark as a package
        if path.is_dir() and alone:
            continue
        if path.name == "kit":
            (folder / "kit").mkdir(exist_ok=True)
            for module in needed:
                shutil.copy2(module, folder / "kit" / module.name)
        elif path.is_dir():
            shutil.copytree(path, folder / path.name, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(path, folder / path.name)


def _kit_of(home: Path, scripts: Iterable[Path]) -> set[Path]:
    """The modules of the kit that the scripts import, and those that these import."""
    found, todo = {home / "kit" / "__init__.py"}, list(scripts)
    while todo:
        text = todo.pop().read_text("utf-8")
        names = {
            *re.findall(r"(?:from|import) kit\.(\w+)", text),
            *re.findall(r"\w+", " ".join(re.findall("from kit import (.*)", text))),
        }
        own = {path for name in names if (path := home / "kit" / f"{name}.py").is_file()} - found
        todo += own
        found |= own
    return found
