"""The emulator's rooms: none is crowded, and no two of them, and no two modules, need one another."""

from __future__ import annotations

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

    def failpoint(start: str) -> set[str]:
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            for other in graph.get(waiting.pop(), set()) - seen:
                seen.add(other)
                waiting.append(other)
        return seen

    return sorted(name for name in graph if name in failpoint(name))


def test_no_two_modules_need_one_another() -> None:
    assert [] == [circle for circle in measure.circles() if any(name.startswith(f"{PACKAGE}.") for name in circle)]


def test_no_two_rooms_need_one_another() -> None:
    packages = {PACKAGE, *(name.rpartition(".")[0] for name in inside())}
    assert {} == {package: found for package in packages if (found := circles(siblings(package)))}


def test_no_room_is_crowded() -> None:
    crowded = {folder: count for folder, count in measure.widths().items() if "/emulator" in folder and count > WIDEST}
    assert {} == crowded
