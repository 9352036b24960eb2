"""The emulator's rooms: none is crowded, and no two of them, and no two modules, need one another."""

from __future__ import annotations

import ast
from collections import defaultdict

from architecture import measure

PACKAGE = "sm_trn.emulator"
WIDEST = 20


def inside() -> dict[str, frozenset[str]]:
    """What each module of the emulator imports of the emulator, in whatever way."""
    return {
        name: frozenset(other for other in found if other.startswith(f"{PACKAGE}."))
        for name, found in measure.edges(measure.Imports.ALL).items()
        if name.startswith(f"{PACKAGE}.")
    }


def siblings(package: str) -> dict[str, set[str]]:
    """Which direct children of a package import which others."""
    found: dict[str, set[str]] = defaultdict(set)
    depth = package.count(".") + 2
    for name, imported in inside().items():
        for other in imported:
            ends = [".".join(each.split(".")[:depth]) for each in (name, other) if each.startswith(f"{package}.")]
            if len(ends) == 2 and ends[0] != ends[1]:
                found[ends[0]].add(ends[1])
    return found


def circles(graph: dict[str, set[str]]) -> list[str]:
    """Whoever reaches itself."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            for other in graph.get(waiting.pop(), set()) - seen:
                seen.add(other)
                waiting.append(other)
        return seen

    return sorted(name for name in graph if name in reached(name))


def test_no_two_modules_need_one_another() -> None:
    assert [] == [circle for circle in measure.circles() if any(name.startswith(f"{PACKAGE}.") for name in circle)]


def test_no_two_rooms_need_one_another() -> None:
    packages = {PACKAGE, *(name.rpartition(".")[0] for name in inside())}
    assert {} == {package: found for package in packages if (found := circles(siblings(package)))}


def test_no_room_is_crowded() -> None:
    crowded = {folder: count for folder, count in measure.widths().items() if "/emulator" in folder and count > WIDEST}
    assert {} == crowded


def test_requests_and_answers_have_types() -> None:
    """What is a dictionary of anything is what AWS's own protocols leave open."""
    found = {name: count for name, count in measure.open_dictionaries().items() if name.startswith(PACKAGE)}
    assert sum(found.values()) <= 36, found


def test_a_function_can_be_read_at_once() -> None:
    functions = {
        f"{name}.{node.name}": node
        for name, path in measure.modules().items()
        if name.startswith(PACKAGE)
        for node in ast.walk(measure.tree(path))
        if isinstance(node, ast.FunctionDef)
    }
    assert [] == [name for name, node in functions.items() if (node.end_lineno or 0) - node.lineno >= 40]
    taken = {name: [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs] for name, node in functions.items()}
    assert [] == [name for name, arguments in taken.items() if len(arguments) > 7]
