"""What the page asks of AWS: the same for one tab and for five, nothing for none, and no more memory after half an hour."""

from __future__ import annotations

import re
import threading
import tracemalloc
from contextlib import ExitStack
from pathlib import Path

import pytest
from fakes.simulated_sagemaker import Refusal, Service, Story
from fakes.simulated_wire import World, world
from served import watcher_of

import sm_trn as st
from sm_trn.report.ui.watcher import FIND_EVERY_S, Watcher
from sm_trn.report.watch.progress import LOG_EVERY_S

HOSTS = ("algo-1", "algo-2")
MINUTES = 10


def story(seconds: float = 4_000.0, every_s: float = 2.0) -> Story:
    lines = {
        host: tuple((141 + every_s * n, str({"loss": 5.0 / (1 + n), "step": n})) for n in range(int(seconds / every_s)))
        for host in HOSTS
    }
    return Story(
        phases=(("Starting", 90.0), ("Downloading", 50.0), ("Training", seconds), ("Uploading", 20.0)), lines=lines
    )


def run(here: World, watcher: Watcher, seconds: float) -> None:
    end = here.clock.now() + seconds
    while here.clock.now() < end:
        watcher.step()


def calls_of(here: World, tabs: int, jobs: int) -> dict[str, int]:
    """What ten minutes cost when so many tabs are open."""
    for number in range(jobs):
        here.service.add(f"job-{number}", created=here.clock.now() - 10.0 * number, story=story())
    watcher, board = watcher_of(here)
    watcher.first()
    with ExitStack() as open_tabs:
        for _ in range(tabs):
            open_tabs.enter_context(board.listening(lambda: None))
        run(here, watcher, 60.0 * MINUTES)
    return dict(here.wire.calls)


@pytest.fixture
def another(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> World:
    (tmp_path / "another").mkdir()
    return world(monkeypatch, tmp_path / "another")


def test_five_tabs_ask_no_more_than_one(here: World, another: World) -> None:
    one, five = sum(calls_of(here, 1, 5).values()), sum(calls_of(another, 5, 5).values())
    assert abs(one - five) <= one // 50  # pauses have their jitter


def test_ten_minutes_of_a_page_keep_to_their_budget(here: World) -> None:
    calls = calls_of(here, 1, 1)
    assert calls["ListTrainingJobs"] <= 60 * MINUTES / FIND_EVERY_S + 2  # the first look, and one before it
    assert calls["DescribeTrainingJob"] <= 60 * MINUTES / 9 + 2
    assert calls["GetLogEvents"] <= len(HOSTS) * (60 * MINUTES / LOG_EVERY_S + 2)
    assert {"ListTrainingJobs", "DescribeTrainingJob", "GetLogEvents", "DescribeLogStreams"} == set(calls)


def test_while_nobody_looks_nothing_is_asked(here: World) -> None:
    here.service.add("a-job", created=here.clock.now(), story=story())
    watcher, board = watcher_of(here)
    watcher.first()
    before = sum(here.wire.calls.values())
    thread = threading.Thread(target=watcher.run)
    thread.start()
    with board.listening(lambda: None):
        watcher.end()  # a tab came, and the page ended
    thread.join(20)
    assert not thread.is_alive()
    assert before == sum(here.wire.calls.values())


def test_a_new_job_is_found_and_followed_to_its_end(here: World) -> None:
    here.service.add("runs-on", created=here.clock.now() - 300, story=story(seconds=50_000, every_s=10_000))
    watcher, board = watcher_of(here)
    watcher.first()
    with board.listening(lambda: None):
        run(here, watcher, 100)
        assert ">late<" not in board.pieces["jobs"]
        here.service.add("late", created=here.clock.now(), story=Story())
        run(here, watcher, FIND_EVERY_S + 30)
        assert ">late<" in board.pieces["jobs"]
        run(here, watcher, 900)
        assert "✓ completed" in board.pieces["jobs"]


def test_the_seconds_of_a_job_that_runs_are_those_of_now(here: World) -> None:
    """The emulator answers with the seconds so far, which are those of the last describe."""
    job = here.service.add("runs", created=here.clock.now() - 300, story=story())
    job.request = {**job.request, "BillableTimeInSeconds": 5}
    watcher, board = watcher_of(here)
    watcher.first()
    with board.listening(lambda: None):
        run(here, watcher, 120)
        cost = re.search(r'data-label="Cost[^>]*>\D*([\d.]+)', board.pieces["jobs"])
    assert cost is not None
    assert float(cost[1]) > 2 * 300 * 20 / 3600  # two instances of more than $20 an hour


def test_half_an_hour_of_a_job_that_speaks_all_the_time_takes_no_more_memory_than_minutes(here: World) -> None:
    here.service.add("talks", created=here.clock.now() - 100, story=story(seconds=5_000, every_s=1.0))
    watcher, board = watcher_of(here)
    watcher.first()
    tracemalloc.start()
    try:
        with board.listening(lambda: None):
            run(here, watcher, 1200)
            minutes = tracemalloc.get_traced_memory()[0]
            run(here, watcher, 1800)
            later = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert later - minutes < 4e6  # two thousand numbers and three hundred lines, which are kept


def test_the_limit_keeps_the_newest_and_all_that_run(here: World) -> None:
    watcher, board = watcher_of(here, limit=5)
    here.service.add("old-but-runs", created=here.clock.now() - 50_000, story=story(seconds=90_000, every_s=90_000))
    watcher.first()
    with board.listening(lambda: None):
        watcher.step()
        for n in range(8):
            here.service.add(f"new-{n}", created=here.clock.now() - 700, story=Story(phases=(("Training", 60.0),)))
            run(here, watcher, FIND_EVERY_S + 1)
    assert {"old-but-runs", *(f"new-{n}" for n in range(3, 8))} == watcher.known.keys()


def test_a_network_that_is_down_is_said_and_ends_nothing(here: World) -> None:
    here.service.add("a-job", created=here.clock.now() - 200, story=story())
    watcher, board = watcher_of(here)
    watcher.first()
    with board.listening(lambda: None):
        run(here, watcher, 30)
        here.wire.down = True
        run(here, watcher, 300)
        assert "AWS does not answer" in board.pieces["seen"]
        here.wire.down = False
        run(here, watcher, 120)
        assert "does not answer" not in board.pieces["seen"]


def test_an_account_that_may_not_list_is_told_before_there_is_a_page(here: World) -> None:
    class Closed(Service):
        def answer(self, operation: str, body: object) -> dict[str, object]:  # noqa: ARG002 - as it is
            raise Refusal("AccessDeniedException", "not authorized to perform: sagemaker:ListTrainingJobs")

    here.service = here.wire.service = Closed(here.clock)
    watcher, _ = watcher_of(here)
    with pytest.raises(st.errors.CloudError, match="ListTrainingJobs"):
        watcher.first()


def test_five_hundred_jobs_are_shown_in_few_calls(here: World) -> None:
    for n in range(500):
        phases = (("Starting", 60.0), ("Downloading", 30.0), ("Training", 1000.0 + n))
        here.service.add(f"sweep-{n:03d}", created=here.clock.now() - 20.0 * n, story=Story(phases=phases))
    watcher, board = watcher_of(here)
    watcher.first()
    with board.listening(lambda: None):
        watcher.step()
        assert "500 jobs" in board.pieces["jobs"].replace("\xa0", " ")
        assert here.wire.calls["ListTrainingJobs"] <= 12
        assert here.wire.calls["DescribeTrainingJob"] <= 60
