"""What is shown has no circle of modules, and folders that can be read."""

from __future__ import annotations

import pytest
from architecture.measure import Imports, circles, edges, modules, widths

OURS = ("sm_trn.report", "sm_trn.cli", "sm_trn.core.formatting")
VALUES = ("sm_trn.core.specs", "sm_trn.core.pricing", "sm_trn.core.render")


def test_no_module_of_reports_and_commands_reaches_itself() -> None:
    assert [] == [circle for circle in circles(Imports.ALL) if any(name.startswith(OURS) for name in circle)]


def test_no_value_imports_what_shows_it() -> None:
    up = {(name, to) for name, found in edges(Imports.ALL).items() for to in found if name.startswith(VALUES)}
    assert set() == {(name, to) for name, to in up if to.startswith("sm_trn.report")}


@pytest.mark.parametrize("package", OURS)
def test_a_folder_holds_three_to_twenty_modules(package: str) -> None:
    folder = package.replace(".", "/")
    found = {name: count for name, count in widths().items() if name == folder or name.startswith(f"{folder}/")}
    assert {} == {name: count for name, count in found.items() if not 3 <= count <= 20}


@pytest.mark.parametrize("name", ["card", "format"])
def test_there_is_one_place_for_cards_and_one_for_formats(name: str) -> None:
    assert [] == [module for module in modules() if module.endswith(f".{name}") and ".watch." not in module]
