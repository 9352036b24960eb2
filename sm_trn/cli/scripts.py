"""sm-trn scripts"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from pathlib import Path

import click

from ..core import _entry
from ..core.errors import UnknownName
from ..core.specs.value import suggestion
from .shared import emit, json_option, say


@click.group("scripts")
def command() -> None:
    """List or copy the training scripts included in the package."""


@command.command("list")
@json_option
def show(*, as_json: bool) -> None:
    """List the names of the scripts. A job uses one with Script('…')."""
    names = _entry.shipped_scripts()
    if as_json:
        emit(list(names))
    else:
        say("\n".join(names))


@command.command("copy")
@click.argument("name")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@json_option
def copy(name: str, folder: Path, *, as_json: bool) -> None:
    """Copy script NAME, with the modules it needs, into FOLDER, to make it your own."""
    names = _entry.shipped_scripts()
    if name not in names:
        raise UnknownName(f"script: got {name!r}, wanted one of {', '.join(names)}{suggestion(name, names)}")
    copied(name, folder)
    if as_json:
        emit({"script": name, "source_dir": folder})
        return
    say(f"copied {name} to {folder}; a job uses it with Script({name!r}, source_dir={str(folder)!r})")


def copied(name: str, folder: Path) -> None:
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
