"""Suites and launchers of public repositories against the emulator, unchanged: what passes, what does not, and why.

On demand, with SM_TRN_OTHERS: a folder with their repositories, as ``OWNER/NAME``. Each takes minutes, and pip.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from others.suites import Suite, git_directory, run, suites

PLACE = os.environ.get("SM_TRN_OTHERS", "")
ALL = list(suites())


@pytest.mark.skipif(not PLACE, reason="set SM_TRN_OTHERS to the folder with the repositories")
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("suite", ALL, ids=[suite.name for suite in ALL])
def test_a_suite_of_somebody_else_passes_but_for_what_is_named(suite: Suite, tmp_path: Path) -> None:
    git = git_directory(Path(PLACE), suite.repository)
    if git is None:
        pytest.skip(f"{suite.repository} is not below {PLACE}")
    outcome = run(suite, git, tmp_path)
    reasons = {name: each for each in suite.different for name in each.tests}
    unknown = {name: text[-1500:] for name, text in outcome.failed.items() if name not in reasons}
    assert {} == unknown
    assert sorted(reasons) == sorted(outcome.failed)
    assert [] == [name for name, text in outcome.failed.items() if not re.search(reasons[name].reads, text)]
    assert suite.passed == len(outcome.passed)
    assert set(suite.refused) == set(outcome.refused)


@pytest.mark.parametrize("suite", ALL, ids=[suite.name for suite in ALL])
def test_a_row_says_what_is_run_and_names_each_test_once(suite: Suite) -> None:
    assert bool(suite.pytest) != bool(suite.commands)
    assert re.fullmatch("[0-9a-f]{40}", suite.commit)
    names = [name for each in suite.different for name in each.tests]
    assert len(set(names)) == len(names)
    assert {each.side for each in suite.different} <= {"ours", "theirs", "service"}
    assert all(each.why and each.reads for each in suite.different)
