"""A trip of ``architecture.md`` enters few modules: what a reader has to open to follow it."""

from __future__ import annotations

from pathlib import Path

import pytest

from .trips import TRIPS

MOST = {"check of one job": 30, "submit": 40, "save() of a comparison": 32}  # an emulated job's threads vary: 42


@pytest.mark.parametrize("title", MOST)
def test_a_trip_enters_few_modules(title: str, tmp_path: Path) -> None:
    assert len(TRIPS[title](tmp_path)) <= MOST[title]
