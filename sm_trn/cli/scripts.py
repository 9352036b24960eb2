"""sm-trn scripts"""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from .. import _entry
from ..errors import UnknownName
from ..specs.value import suggestion
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
    home = _entry.scripts_folder()
    others = {other for other in names if other != name and Path(other).stem not in (home / name).read_text("utf-8")}
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(home.iterdir()):
        if path.name in others or path.name in {"__pycache__", "ruff.toml"}:
            continue
        if path.is_dir():
            shutil.copytree(path, folder / path.name, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(path, folder / path.name)
    if as_json:
        emit({"script": name, "source_dir": folder})
        return
    say(f"copied {name} to {folder}; a job uses it with Script({name!r}, source_dir={str(folder)!r})")
