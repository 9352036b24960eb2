"""Jobs that wait for a place on the machine: in order, until a deadline or a stop, and for nothing."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from emulator.bench import Bench, running

MANY = 150


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """An emulator with one place, which a job has for as long as the module's tests last."""
    with running(tmp_path_factory.mktemp("narrow"), max_jobs=1, stop_grace_s=5.0) as bench:
        bench.said(bench.submit("import time; print('has it', flush=True); time.sleep(600)"), "has it")
        yield bench


def test_jobs_that_wait_cost_no_thread_and_no_processor_time(narrow: Bench) -> None:
    pid = narrow.endpoint.pid
    request = narrow.request("print('never')")
    before = len(list(Path(f"/proc/{pid}/task").iterdir()))
    for number in range(MANY):
        narrow.sagemaker.create_training_job(**{**request, "TrainingJobName": f"waits-{number}"})
    assert {"Pending"} == {narrow.describe(f"waits-{number}")["SecondaryStatus"] for number in range(MANY)}
    switches = switched(pid)
    assert len(list(Path(f"/proc/{pid}/task").iterdir())) <= before + 5
    threading.Event().wait(1.0)
    assert switched(pid) - switches < 10 * MANY, "somebody is woken again and again"


def switched(pid: int) -> int:
    """How often the threads of a process have gone to sleep so far: each wake-up ends with one."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):  # a thread may end meanwhile
            rows = (task / "status").read_text(encoding="ascii").splitlines()
            total += sum(int(row.split()[1]) for row in rows if row.startswith("voluntary_ctxt_switches"))
    return total


def test_a_job_that_waits_is_stopped_at_once_and_the_next_one_takes_its_turn(narrow: Bench) -> None:
    first, second = narrow.submit("print('first')"), narrow.submit("print('second')")
    narrow.sagemaker.stop_training_job(TrainingJobName=first)
    assert ("Stopped", "Stopped") == tuple(
        narrow.describe(first)[key] for key in ("TrainingJobStatus", "SecondaryStatus")
    )
    assert "TrainingStartTime" not in narrow.describe(first)
    assert "Pending" == narrow.describe(second)["SecondaryStatus"]


def test_an_emulator_with_many_that_wait_ends_in_time_and_says_of_each_what_became_of_it(tmp_path: Path) -> None:
    with running(tmp_path, max_jobs=1, stop_grace_s=1.0) as bench:
        request = bench.request("import time; time.sleep(600)")
        names = [f"{os.getpid()}-{number}" for number in range(MANY)]
        for name in names:
            bench.sagemaker.create_training_job(**{**request, "TrainingJobName": name})
    with running(tmp_path) as again:
        assert {"Stopped"} == {again.describe(name)["TrainingJobStatus"] for name in names}
