"""A search of many training jobs stays linear in watching, listing, comparing, adding up and its page.

SM_TRN_CHILDREN=1000 looks at so many, and at a quarter of them; 40 by default. Run with -s for the calls and seconds of each.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakes.simulated_sagemaker import Story
from fakes.simulated_wire import World, world

import sm_trn as st

CHILDREN = int(os.environ.get("SM_TRN_CHILDREN", "40"))
LINES = tuple((100.0 + number, f"loss={0.5 + number / 100}") for number in range(20))


def measured(here: World, sweep: st.Sweep) -> dict[str, tuple[int, float]]:
    """The calls and the seconds of this process of each thing that is done with a search."""
    here.service.story_of = lambda _name: Story(lines={"algo-1": LINES})
    found: dict[str, tuple[int, float]] = {}

    def step(name: str, work: Callable[[], Any]) -> Any:
        calls, began = here.wire.calls.total(), time.process_time()
        result = work()
        found[name] = (here.wire.calls.total() - calls, time.process_time() - began)
        return result

    search = here.session.tune(sweep)
    step("search", lambda: search.wait(progress=False))
    jobs = step("jobs", search.jobs)
    assert sweep.max_jobs == len(jobs)
    step("cost", search.cost)
    step("watch", lambda: here.session.wait(jobs, progress=False))
    comparison = step("compare", lambda: st.compare(jobs))
    step("page", comparison._repr_html_)
    return found


def test_a_search_of_many_jobs_stays_linear(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, sweep: st.Sweep) -> None:
    pytest.importorskip("pandas")
    found = []
    for number in (CHILDREN // 4, CHILDREN):
        folder = tmp_path / str(number)
        folder.mkdir()
        found.append(measured(world(monkeypatch, folder), sweep.replace(max_jobs=number, parallel=number)))
    few, many = found
    for name, (calls, seconds) in many.items():
        print(
            f"\n{name}: {few[name][0]} calls, {few[name][1]:.2f} s; of four times as many {calls} calls, {seconds:.2f} s",
            end="",
        )
        assert calls <= 4 * few[name][0] + 8, name
