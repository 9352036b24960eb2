"""Make sm_trn/scripts/library_fields.json: the fields of the classes of transformers and trl that scripts are configured by, by release.

    pip download --no-deps -d WHEELS transformers==4.49.0 trl==0.16.1 …
    python .github/library_fields.py WHEELS

A release is read as text from its wheel; none of it is imported. The table holds each class once, and what every later release
changes in it.
"""

from __future__ import annotations

import ast
import dataclasses
import json
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sm_trn.scripts.fields import FieldKind, Fields, classes_of, enumerations

TABLE = Path(__file__).parents[1] / "sm_trn" / "scripts" / "library_fields.json"
MODULES = {
    "transformers": re.compile(
        r"transformers/(?:training_args(?:_seq2seq)?|trainer(?:_seq2seq|_utils)?|debug_utils|hf_argparser)\.py"
    ),
    "trl": re.compile(r"trl/(?:trainer/\w+_(?:config|trainer)|trainer/(?:base|model)_\w+|scripts/utils)\.py"),
}
WANTED = re.compile(r"(?:Seq2Seq)?TrainingArguments|\w+Config|_BaseConfig|\w*ScriptArguments|\w*Trainer")
HYPHENS = re.compile(r"""replace\(['"]_['"], ?['"]-['"]\)""")


def main(folder: Path) -> None:
    """Write the table from the wheels in ``folder``."""
    table: dict[str, Any] = {
        "about": "made by .github/library_fields.py from the wheels of PyPI; each entry is what a release changed"
    }
    for library in MODULES:
        wheels = sorted(folder.glob(f"{library}-*.whl"), key=version_of)
        table[library] = {"releases": [text_of(wheel) for wheel in wheels], "classes": {}}
        before: dict[str, Fields] = {}
        for wheel in wheels:
            now, hyphens = read(wheel, library)
            if hyphens and library == "transformers":
                table[library].setdefault("hyphens", text_of(wheel))
            for name in sorted(before.keys() | now.keys()):
                change = difference(before.get(name, Fields()), now.get(name, Fields()))
                if change:
                    table[library]["classes"].setdefault(name, []).append({"at": text_of(wheel), **change})
            before = now
    TABLE.write_text(
        json.dumps(table, indent=None, separators=(",", ":")).replace('{"at"', '\n{"at"') + "\n", encoding="utf-8"
    )


def text_of(wheel: Path) -> str:
    """The version in a wheel's name."""
    return wheel.name.split("-")[1]


def version_of(wheel: Path) -> tuple[int, ...]:
    """The version as numbers, to sort by."""
    return tuple(int(part) for part in text_of(wheel).split("."))


def read(wheel: Path, library: str) -> tuple[dict[str, Fields], bool]:
    """The wanted classes of a release, and whether its parser takes hyphens."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if MODULES[library].fullmatch(name)]
        texts = {name: archive.read(name).decode("utf-8") for name in names}
        others = [
            name
            for name in archive.namelist()
            if name.endswith(("trainer_utils.py", "training_args.py", "debug_utils.py"))
        ]
        nodes = [node for name in others for node in classes(archive.read(name).decode("utf-8"))]
    enums = enumerations(nodes)
    found: dict[str, Fields] = {}
    for text in texts.values():
        program = ast.parse(text)
        found |= {name: each for name, each in classes_of(program, enums).items() if WANTED.fullmatch(name)}
        made = {node.name: constructor(node) for node in classes(text) if WANTED.fullmatch(node.name)}
        found |= {name: called(function) for name, function in made.items() if function is not None}
    hyphens = any(HYPHENS.search(text) for name, text in texts.items() if name.endswith("hf_argparser.py"))
    return {name: each for name, each in found.items() if each.own}, hyphens


def classes(text: str) -> Iterator[ast.ClassDef]:
    """The classes of a module."""
    return (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef))


def constructor(node: ast.ClassDef) -> ast.FunctionDef | None:
    """A class's own ``__init__``."""
    return next((each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"), None)


def called(made: ast.FunctionDef) -> Fields:
    """What an ``__init__`` takes, with the older names that its decorators still take."""
    names = [each.arg for each in (*made.args.posonlyargs, *made.args.args, *made.args.kwonlyargs)][1:]
    old = re.findall(r"'(\w+)'", " ".join(ast.unparse(each) for each in made.decorator_list))
    return Fields((), {name: FieldKind() for name in (*names, *old)}, made.args.kwarg is not None)


def difference(before: Fields, now: Fields) -> dict[str, Any]:
    """What a release changed in a class."""
    changed = {name: short(kind) for name, kind in now.own.items() if before.own.get(name) != kind}
    gone = [name for name in before.own if name not in now.own]
    change: dict[str, Any] = {}
    if changed:
        change["set"] = changed
    if gone:
        change["gone"] = gone
    if before.bases != now.bases:
        change["bases"] = list(now.bases)
    if before.open != now.open:
        change["open"] = now.open
    return change


def short(kind: FieldKind) -> dict[str, Any]:
    """A kind without what is as it is by default."""
    return {name: value for name, value in dataclasses.asdict(kind).items() if value}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
