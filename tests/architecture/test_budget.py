"""The cap on the project's size. Run as a program, it writes the size of the tree to ``budget.toml``."""

from __future__ import annotations

import ast
import gzip
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import sm_trn
from sm_trn.cli.__main__ import COMMANDS, load

tomllib = pytest.importorskip("tomllib", reason="Python 3.11 has it")
ROOT = Path(__file__).resolve().parents[2]
BUDGET = Path(__file__).with_name("budget.toml")
GLOBAL = {"backend", "region", "profile", "state", "as_json", "debug", "help"}
PUBLIC = {"sm_trn", "sm_trn.errors", "sm_trn.results", "sm_trn.specs"}
Budget = dict[str, dict[str, int]]
pytestmark = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="the size is that of a git checkout")


def python_files(folder: str) -> list[Path]:
    return sorted(path for path in (ROOT / folder).rglob("*.py") if "__pycache__" not in path.parts)


def line_count(paths: list[Path]) -> int:
    return sum(len(path.read_text("utf-8").splitlines()) for path in paths)


def tree_without_docstrings(path: Path) -> ast.Module:
    tree = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = node.body[int(ast.get_docstring(node) is not None) :] or [ast.Pass()]
    return tree


def statement_count(paths: list[Path]) -> int:
    nodes = [node for path in paths for node in ast.walk(tree_without_docstrings(path)) if isinstance(node, ast.stmt)]
    return sum(not isinstance(node, ast.Import | ast.ImportFrom) for node in nodes)


def modules_imported_by_tests() -> set[str]:
    modules = {".".join(path.relative_to(ROOT).with_suffix("").parts) for path in python_files("sm_trn")}
    modules = {name.removesuffix(".__init__") for name in modules}
    imports = set()
    for path in python_files("tests"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                imports |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names = {f"{node.module}.{alias.name}" for alias in node.names}
                imports |= (names & modules) or {node.module}
    return (imports & modules) - PUBLIC


def leaves(command: click.Command) -> Iterator[click.Command]:
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            yield from leaves(inner)
    else:
        yield command


def shell_size() -> dict[str, int]:
    """Count the commands that do something, and their options; each global option counts once."""
    commands = [leaf for name in COMMANDS for leaf in leaves(load(name))]
    options = [each.name for command in commands for each in command.params if isinstance(each, click.Option)]
    return {"commands": len(commands), "options": sum(name not in GLOBAL for name in options) + len(GLOBAL)}


def measure() -> Budget:
    package = python_files("sm_trn")
    folders = sorted({path.relative_to(ROOT / "sm_trn").parts[0] for path in package if path.parent.name != "sm_trn"})
    parts = {name: python_files(f"sm_trn/{name}") for name in folders}
    parts["top"] = sorted((ROOT / "sm_trn").glob("*.py"))
    trees = "\n".join(ast.dump(tree_without_docstrings(path)) for path in package)
    pages = [*(ROOT / "sm_trn" / "docs").rglob("*.md"), ROOT / "README.md", *(ROOT / ".github").glob("*.md")]
    return {
        "lines": {name: line_count(paths) for name, paths in parts.items()} | {"sm_trn": line_count(package)},
        "statements": {name: statement_count(paths) for name, paths in parts.items()}
        | {"sm_trn": statement_count(package), "entry_scripts": statement_count(python_files("entry_scripts"))},
        "package": {"modules": len(package), "gzip_kb": len(gzip.compress(trees.encode(), 9, mtime=0)) // 1024},
        "tests": {"lines": line_count(python_files("tests")), "modules_by_path": len(modules_imported_by_tests())},
        "docs": {"words": sum(len(page.read_text("utf-8").split()) for page in pages)},
        "shell": shell_size(),
        "python": {"names": len(sm_trn.__all__)},
    }


def above(numbers: Budget, cap: Budget) -> list[str]:
    """Return a line for each number above its cap. A number that the cap does not have is not compared."""
    rows = [(table, key, value) for table in numbers for key, value in numbers[table].items()]
    compared = [(f"{table}.{key}", value, cap.get(table, {}).get(key, value)) for table, key, value in rows]
    return [f"{name}: got {value}, the cap is {most}" for name, value, most in compared if value > most]


def test_the_tree_is_within_its_cap() -> None:
    numbers, cap = measure(), tomllib.loads(BUDGET.read_text("utf-8"))
    assert above(numbers, cap) == []
    assert {table: set(rows) for table, rows in numbers.items()} == {table: set(rows) for table, rows in cap.items()}


def test_no_cap_was_raised() -> None:
    name = f"HEAD^:{BUDGET.relative_to(ROOT).as_posix()}"
    parent = subprocess.run(["git", "show", name], cwd=ROOT, capture_output=True, text=True, check=False)
    if parent.returncode:
        pytest.skip("the parent commit has no budget")
    assert above(tomllib.loads(BUDGET.read_text("utf-8")), tomllib.loads(parent.stdout)) == []


if __name__ == "__main__":
    text = "# Upper bounds of the project's size. A number here only falls.\n"
    for title, numbers in measure().items():
        text += f"\n[{title}]\n" + "".join(f"{key} = {value}\n" for key, value in numbers.items())
    BUDGET.write_text(text, "utf-8")
