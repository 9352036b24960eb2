"""A comparison of many jobs in a terminal: the best rows are shown, the others counted, and a file has them all."""

from __future__ import annotations

import pytest
from many_jobs import swept

import sm_trn as st
from sm_trn.report.comparison.text import SHOWN


@pytest.mark.parametrize("number", [SHOWN, SHOWN + 1, 260])
def test_the_best_of_many_jobs_are_shown_and_the_others_counted(number: int) -> None:
    compared = st.compare([swept(place) for place in range(number)])
    lines = compared.text(width=100).split("\n")
    shown = [line for line in lines if " reviews-lr" in line[:20]]
    assert SHOWN == len(shown)
    assert compared.best().job in shown[0]
    more = [line for line in lines if line.startswith("  … ")]
    words = {0: [], 1: ["1 job"], 160: ["160 jobs"]}[number - SHOWN]
    assert [f"  … {jobs} more; compare.csv of a saved comparison has all of them" for jobs in words] == more
    assert len(lines) < SHOWN + 25
