"""What the page asks of AWS: the same for one tab and for five, nothing for none, and no more memory after an hour."""

from __future__ import annotations

import threading
import tracemalloc
from contextlib import ExitStack
from typing import Any

import pytest
from fakes.simulated_sagemaker import Refusal, Service, Story
from fakes.simulated_wire import World, world
from served import watcher_of

import sm_trn as st
from sm_trn.report.ui.board import Board
from sm_trn.report.ui.series import POINTS
from sm_trn.report.ui.watcher import FIND_EVERY_S, OPENED, READ_EVERY_S, PageSettings, Watcher

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


def calls_of(here: World, tabs: tuple[str, ...], jobs: int) -> dict[str, int]:
    """What ten minutes cost when ``tabs`` are open, each on a job or (``""``) on the list."""
    for number in range(jobs):
        here.service.add(f"job-{number}", created=here.clock.now() - 10.0 * number, story=story())
    watcher, board = watcher_of(here)
    watcher.first()
    with ExitStack() as open_tabs:
        for name in tabs:
            open_tabs.enter_context(board.listening(lambda: None, name))
        run(here, watcher, 60.0 * MINUTES)
    return dict(here.wire.calls)


@pytest.fixture
def another(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> World:
    (tmp_path / "another").mkdir()
    return world(monkeypatch, tmp_path / "another")


@pytest.mark.parametrize("jobs", [1, 5])
def test_five_tabs_ask_no_more_than_one(here: World, another: World, jobs: int) -> None:
    one = calls_of(here, ("job-0",), jobs)
    five = calls_of(another, ("job-0",) * 4 + ("",), jobs)
    assert one == five


@pytest.mark.parametrize("refused", [False, True])
def test_the_tags_of_a_few_jobs_are_read_once(here: World, monkeypatch: pytest.MonkeyPatch, refused: bool) -> None:
    for number in range(3):
        job = here.service.add(f"job-{number}", created=here.clock.now() - 10.0 * number, story=story())
        job.tags = [{"Key": "sm_trn:sweep", "Value": "bert"}]
    answer = here.service.answer
    asked: list[str] = []  # a refusal keeps others from being sent; those on their way may arrive at any time

    def refusing(operation: str, body: Any) -> dict[str, Any]:
        if operation == "ListTags":
            asked.append(body["ResourceArn"])
        if operation == "ListTags" and refused:
            raise Refusal("AccessDeniedException", "not authorized to perform: sagemaker:ListTags")
        return answer(operation, body)

    monkeypatch.setattr(here.service, "answer", refusing)
    watcher, board = watcher_of(here)
    with board.listening(lambda: None):
        run(here, watcher, 4 * FIND_EVERY_S)
    row = board.row("job-1")
    assert row is not None
    assert ("" if refused else "bert") == row["sweep"]
    with board.listening(lambda: None):
        run(here, watcher, 4 * FIND_EVERY_S)
    assert len(set(asked)) == len(asked)  # the first of them is asked in any case, and would be again
    assert refused or len(asked) == 3


def test_five_jobs_looked_at_cost_one_first_reading_each_and_no_more(here: World, another: World) -> None:
    one = calls_of(here, ("job-0",), 5)
    five = calls_of(another, tuple(f"job-{n}" for n in range(5)), 5)
    first_readings = 4 * (1 + 2 * len(HOSTS))  # the list of streams, and a page and its end of each
    assert sum(five.values()) <= sum(one.values()) + first_readings


def test_ten_minutes_of_a_page_keep_to_their_budget(here: World) -> None:
    calls = calls_of(here, ("job-0",), 1)
    print(f"\nten minutes, one job of two hosts, its log open: {sum(calls.values())} calls {calls}")
    assert calls["ListTrainingJobs"] <= 60 * MINUTES / FIND_EVERY_S + 2  # the first look, and one before it
    assert calls["DescribeTrainingJob"] <= 60 * MINUTES / 10 + 2
    assert calls["GetLogEvents"] <= len(HOSTS) * (60 * MINUTES / READ_EVERY_S + 2)
    assert 1 == calls["ListTags"]  # once for each job
    assert {"ListTrainingJobs", "DescribeTrainingJob", "ListTags", "GetLogEvents", "DescribeLogStreams"} == set(calls)


def test_while_nobody_looks_nothing_is_asked(here: World) -> None:
    here.service.add("a-job", created=here.clock.now(), story=story())
    watcher, board = watcher_of(here)
    watcher.first()
    before = sum(here.wire.calls.values())
    thread = threading.Thread(target=watcher.run)
    thread.start()
    board.changed()  # a tab came and went
    watcher.end()
    thread.join(20)
    assert not thread.is_alive()
    assert before == sum(here.wire.calls.values())


def opened(watcher: Watcher, board: Board, name: str, seconds: float, here: World) -> dict[str, Any]:
    with board.listening(lambda: None, name):
        run(here, watcher, seconds)
        update = board.since(0, name)
    assert update is not None
    assert update.detail is not None
    return dict(update.detail)


def test_a_new_job_is_found_and_an_end_is_seen(here: World) -> None:
    watcher, board = watcher_of(here)
    watcher.first()
    with board.listening(lambda: None):
        run(here, watcher, 70)
        update = board.since(0)
        assert update is not None
        assert () == update.rows
        here.service.add("late", created=here.clock.now(), story=Story())
        run(here, watcher, FIND_EVERY_S + 30)
        row = board.row("late")
        assert row is not None
        assert not row["ended"]
        run(here, watcher, 800)
        row = board.row("late")
        assert row is not None
        assert (True, "completed", "510 s") == (row["ended"], row["word"], row["billed"])


def test_a_job_that_is_new_beside_one_that_runs_is_followed_to_its_end(here: World) -> None:
    here.service.add("runs-on", created=here.clock.now() - 300, story=story(seconds=50_000, every_s=10_000))
    watcher, board = watcher_of(here)
    watcher.first()
    with board.listening(lambda: None):
        run(here, watcher, 100)
        here.service.add("late", created=here.clock.now(), story=Story())
        run(here, watcher, 900)
        row = board.row("late")
        assert row is not None
        assert (True, "completed") == (row["ended"], row["word"])


def test_the_seconds_of_a_job_that_runs_are_those_of_now(here: World) -> None:
    """The emulator answers with the seconds so far, which are those of the last describe."""
    job = here.service.add("runs", created=here.clock.now() - 300, story=story())
    job.request = {**job.request, "BillableTimeInSeconds": 5}
    watcher, board = watcher_of(here)
    watcher.first()
    with board.listening(lambda: None, "runs"):
        run(here, watcher, 120)
        row, update = board.row("runs"), board.since(0, "runs")
        assert row is not None
        assert update is not None
        assert update.detail is not None
        assert int(str(row["billed"]).partition(" ")[0]) >= 300
        assert "billed so far 5 s" not in str(update.detail["billed"])


def test_half_an_hour_of_a_job_that_speaks_all_the_time_takes_no_more_memory_than_minutes(here: World) -> None:
    here.service.add("talks", created=here.clock.now() - 100, story=story(seconds=5_000, every_s=1.0))
    watcher, board = watcher_of(here)
    watcher.first()
    tracemalloc.start()
    try:
        with board.listening(lambda: None, "talks"):
            run(here, watcher, 300)
            minutes = tracemalloc.get_traced_memory()[0]
            run(here, watcher, 1500)
            half_hour = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    lines = watcher.lines("talks")
    assert lines is not None
    print(f"\nafter 5 minutes {minutes / 1e6:.1f} MB, after 30 minutes {half_hour / 1e6:.1f} MB, {lines.end} lines")
    assert lines.end > 3_000
    detail = opened(watcher, board, "talks", 1, here)
    assert all(len(one["values"]) <= 2 * POINTS + 1 for one in detail["series"])
    assert half_hour - minutes < 4e6  # the lines themselves, which are kept up to a limit: test_lines.py


def test_jobs_that_were_looked_at_are_forgotten(here: World) -> None:
    for n in range(12):
        here.service.add(f"job-{n}", created=here.clock.now() - 10_000, story=story(seconds=400))
    watcher, board = watcher_of(here)
    watcher.first()
    for n in range(12):
        assert opened(watcher, board, f"job-{n}", 1, here)["log"]["end"] > 0
    assert OPENED == sum(watcher.lines(f"job-{n}") is not None for n in range(12))


def test_the_limit_keeps_the_newest_and_all_that_run(here: World) -> None:
    watcher, board = watcher_of(here, PageSettings(limit=5))
    here.service.add("old-but-runs", created=here.clock.now() - 50_000, story=story(seconds=90_000, every_s=90_000))
    watcher.first()
    with board.listening(lambda: None):
        watcher.step()
        for n in range(8):
            here.service.add(f"new-{n}", created=here.clock.now() - 700, story=Story(phases=(("Training", 60.0),)))
            run(here, watcher, FIND_EVERY_S + 1)
        update = board.since(0)
        assert update is not None
        names = {str(row["name"]) for row in update.rows}
    assert 5 == len(names)
    assert "old-but-runs" in names


def test_a_network_that_is_down_is_said_and_ends_nothing(here: World) -> None:
    here.service.add("a-job", created=here.clock.now() - 200, story=story())
    watcher, board = watcher_of(here)
    watcher.first()
    with board.listening(lambda: None):
        run(here, watcher, 30)
        here.wire.down = True
        run(here, watcher, 300)
        update = board.since(0)
        assert update is not None
        assert "does not answer" in str(update.head["trouble"])
        seen = update.head["seen"]
        here.wire.down = False
        run(here, watcher, 120)
        update = board.since(0)
        assert update is not None
        assert "" == update.head["trouble"]
        assert float(str(update.head["seen"])) > float(str(seen))


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
        update = board.since(0)
        assert update is not None
        assert 500 == len(update.rows)
        assert all(row["machine"] == "ml.p4d.24xlarge × 2" for row in update.rows)
        assert here.wire.calls["ListTrainingJobs"] <= 12
        assert here.wire.calls["DescribeTrainingJob"] <= 60
