"""Where AWS's v2 code, AWS's v3 code and what is written here for it send different requests: as the table says.

On demand, with SM_TRN_PAIRS: a folder with the repositories, as ``OWNER/NAME``. A pair takes a minute.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from others.suites import git_directory
from pairs.page import PAGE, page
from pairs.table import SIDES, V3, Pair, compared, table

PLACE = os.environ.get("SM_TRN_PAIRS", "")
ALL = table()[0]


@pytest.mark.skipif(not PLACE, reason="set SM_TRN_PAIRS to the folder with the repositories")
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("pair", ALL, ids=[pair.name for pair in ALL])
def test_the_requests_of_a_pair_differ_as_the_table_says(pair: Pair) -> None:
    if not V3.exists():
        pytest.skip("needs SageMaker SDK v3, in an environment of its own: .ci/sdk3 --build")
    for side in (pair.v2, pair.v3):
        if git_directory(Path(PLACE), side.repository) is None:
            pytest.skip(f"{side.repository} is not below {PLACE}")
    refused, differs = compared(pair, Path(PLACE))
    assert dict(pair.refused) == refused
    assert dict(pair.differs) == differs


def test_the_page_is_made_of_the_table() -> None:
    assert page() == PAGE.read_text("utf-8"), "python tests/pairs/page.py"


@pytest.mark.parametrize("pair", ALL, ids=[pair.name for pair in ALL])
def test_a_row_names_commits_and_differences_only(pair: Pair) -> None:
    assert all(re.fullmatch("[0-9a-f]{40}", side.commit) for side in (pair.v2, pair.v3))
    for values in pair.differs.values():
        assert len(values) == len(SIDES)
        assert len({value for value, side in zip(values, SIDES, strict=True) if side not in pair.refused}) > 1
