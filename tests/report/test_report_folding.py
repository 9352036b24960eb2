"""Columns go under others where a table has no room: what goes says what it is, and every width has its style."""

from __future__ import annotations

import re

import pytest
from many_jobs import sweep
from shown_pages import page_of

from sm_trn.report import compare


def test_a_folded_column_says_what_it_is_in_its_neighbours_cell() -> None:
    text = compare(sweep(8), baseline="reviews-lr1e-5-seed1").page().replace("\xa0", " ")
    for words in ("loss 0.262", "spot saved 0.56"):
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


@pytest.mark.parametrize("name", ["report", "report-8", "fleet"])
def test_every_width_at_which_a_page_folds_has_its_style(name: str) -> None:
    style, _, body = page_of(name).partition("</style>")
    for kind in ("fold", "out", "tail"):
        asked = set(re.findall(rf"\b{kind}-(\d+)", body))
        assert asked <= set(re.findall(rf"\.{kind}-(\d+)", style)), kind
