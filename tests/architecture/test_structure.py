"""The structure's numbers, held: what was reached cannot be lost again. Where more is wanted, the aim stands beside the bound."""

from __future__ import annotations

import measure
import pytest
from measure import Imports

import sm_trn as st


def test_no_module_needs_another_that_needs_it() -> None:
    assert [] == measure.circles(Imports.ALL)


@pytest.mark.parametrize(
    ("kind", "most"),
    [(Imports.AT_LOAD, 12), (Imports.ALL, 16)],
)
def test_a_chain_of_imports_is_short(kind: Imports, most: int) -> None:
    chain = measure.longest_chain(kind)
    assert len(chain) <= most, " > ".join(chain)


@pytest.mark.parametrize(
    ("start", "modules", "lines"),
    [
        ("sm_trn.core.session.handles", 110, 15_200),  # aim: 15,000, as before a job had a queue
        ("sm_trn.core.preflight", 60, 8_000),
        ("sm_trn.emulator.server", 88, 10_500),  # with the catalogue: an image that AWS does not have is refused
    ],
)
def test_who_reads_one_thing_need_not_read_all(start: str, modules: int, lines: int) -> None:
    found = measure.behind(start)
    assert found[0] <= modules
    assert found[1] <= lines


def test_the_first_level_can_be_held_in_the_head() -> None:
    assert len(st.__all__) <= 60


def test_a_folder_can_be_read() -> None:
    assert {} == {folder: count for folder, count in measure.widths().items() if count > 20}


def test_dictionaries_of_anything_do_not_spread() -> None:
    found = measure.open_dictionaries()
    assert found.total() <= 120
    for room, most in (("report", 6), ("session", 8)):  # columns of a frame, requests as they are sent
        assert sum(count for name, count in found.items() if name.startswith(f"sm_trn.{room}.")) <= most


def test_closed_sets_are_matched_to_the_end() -> None:
    assert measure.calls_of("assert_never") >= 5
