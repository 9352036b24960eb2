"""Columns go under others where a table has no room: the first to go first, nothing lost, nothing twice."""

from __future__ import annotations

import dataclasses
import re

import pytest
from hypothesis import given
from hypothesis import strategies as some
from many_jobs import sweep
from shown_pages import PAGES, page_of

from sm_trn.core.formatting.html import fold_columns, folds_at
from sm_trn.core.formatting.table import Cell, Row, Table
from sm_trn.report import compare
from sm_trn.report.comparison.page import page
from sm_trn.report.comparison.table import column

NAMES = (
    "throughput_it_per_s", "wall_s", "trained_s", "billable_s", "not_training", "cost_usd", "spot_saved_usd", "usd_per_1000_it",
    "usd_per_epoch", "accuracy", "final_loss",
)  # fmt: skip


def table(names: list[str], text: str) -> Table:
    columns = tuple(dataclasses.replace(column(name), form=str) for name in names)
    return Table(columns=columns, rows=(Row(name="a", cells={name: Cell(text) for name in names}),))


@given(some.lists(some.sampled_from(NAMES), unique=True), some.text("0123456789", min_size=1, max_size=20))
def test_what_folds_goes_under_what_stays_and_the_wider_first(names: list[str], text: str) -> None:
    made = table(names, text)
    moved, last = fold_columns(made, made.columns)
    gone = [item.out.name for item in moved]
    assert len(gone) == len(set(gone))
    for place, item in enumerate(moved):
        assert item.out.name != item.under
        assert item.under not in gone[: place + 1]
        assert "{}" in item.words
    assert last <= folds_at([["x" * 60, each.heading, each.unit, text] for each in made.columns] or [[]])


def test_a_column_without_its_neighbour_stays() -> None:
    made = table(["final_loss", "trained_s"], "0.2")
    assert () == fold_columns(made, made.columns)[0]


def test_a_folded_column_says_what_it_is_in_its_neighbours_cell() -> None:
    text = page(compare(sweep(8), baseline="reviews-lr1e-5-seed1"), [], now=None).replace("\xa0", " ")
    for words in ("0.27 per epoch", "28.6 % not training", "of 2,037 trained", "loss 0.262", "spot saved 0.56"):
        assert re.search(rf'<span class="tail-\d+">{re.escape(words)}</span>', text), words
    tails = set(re.findall(r'<span class="tail-(\d+)"', text))
    assert tails == set(re.findall(r'<th scope="col" class="out-(\d+)"', text))
    style = text.partition("</style>")[0]
    for width in tails:
        assert f".out-{width} {{ display: none }}" in style
        assert f".tail-{width} {{ display: block }}" in style


def test_a_notebook_whose_style_is_not_ours_has_every_value_once() -> None:
    card = compare(sweep(8), baseline="reviews-lr1e-5-seed1")._repr_html_()
    assert "tail-" not in card
    assert "out-" not in card


@pytest.mark.parametrize("name", [name for name in PAGES if not name.startswith("widgets")])
def test_every_width_at_which_a_page_folds_has_its_style(name: str) -> None:
    style, _, body = page_of(name).partition("</style>")
    for kind in ("fold", "out", "tail"):
        asked = set(re.findall(rf"\b{kind}-(\d+)", body))
        assert asked <= set(re.findall(rf"\.{kind}-(\d+)", style)), kind
