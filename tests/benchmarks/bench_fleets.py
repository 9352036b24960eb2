"""How the work on many jobs grows with their number: python tests/benchmarks/bench_fleets.py [JOBS...]. Run on demand, never as a test.

For each number of jobs (1000, 4000 and 10000 unless told) a simulated account is watched to the end of every job, compared, added up,
and written as pages; then a search of so many training jobs is waited for. One table: calls and CPU seconds of this process without
those of the simulation, each beside the fewest jobs' as a multiple of the number of jobs: 1.00 is linear. ``--profile STEP`` prints
where the most jobs spend one step.
"""

from __future__ import annotations

import argparse
import cProfile
import io
import pstats
import random
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))

from fakes.simulated_sagemaker import Story
from fakes.simulated_wire import World, attached, world
from jobs import job_of

import sm_trn as st

SEED = 37
SHOWN = 25  # functions of a profile


@dataclass(frozen=True)
class Step:
    """What a step took: calls, CPU seconds of everything but the simulated service, CPU seconds of that."""

    calls: int
    seconds: float
    service: float


class Terminal(io.StringIO):
    """A terminal, on which the table of a wait is drawn again and again."""

    def isatty(self) -> bool:
        return True


class Meter:
    """Measures steps over simulated accounts."""

    def __init__(self, profiled: str) -> None:
        self._profiled = profiled
        self._service = 0.0
        self.steps: dict[str, Step] = {}

    def account(self, patch: pytest.MonkeyPatch, folder: Path) -> World:
        """A simulated account, whose service is timed."""
        here = world(patch, folder)
        answer = here.service.answer

        def timed(operation: str, body: Mapping[str, Any]) -> dict[str, Any]:
            began = time.thread_time()
            try:
                return answer(operation, body)
            finally:
                self._service += time.thread_time() - began

        patch.setattr(here.service, "answer", timed)
        return here

    def measure(self, name: str, here: World, work: Callable[[], Any]) -> Any:
        """The result of a step."""
        profile = cProfile.Profile() if name == self._profiled else None
        calls, service, began = here.wire.calls.total(), self._service, time.process_time()
        result = work() if profile is None else profile.runcall(work)
        spent, served = time.process_time() - began, self._service - service
        self.steps[name] = Step(here.wire.calls.total() - calls, spent - served, served)
        if profile is not None:
            pstats.Stats(profile).sort_stats("tottime").print_stats(SHOWN)
        return result


def story(name: str) -> Story:
    """Minutes to two hours of training, a loss every so often; one job in ten fails."""
    chance = random.Random(f"{SEED}-{name}")
    training = chance.uniform(400, 7000)
    lines = tuple((160.0 + number * training / 21, f"{{'loss': {0.5 + number / 100}}}") for number in range(20))
    phases = (("Starting", 100.0), ("Downloading", 60.0), ("Training", training), ("Uploading", 15.0))
    outcome = "Failed" if chance.random() < 0.1 else "Completed"
    return Story(phases=phases, outcome=outcome, reason="AlgorithmError: exit code: 1", lines={"algo-1": lines})


def fleet(here: World, jobs: int) -> list[st.TrainingJob]:
    """Handles of jobs that have just begun."""
    start = here.clock.now()
    names = [f"fleet-{number:05d}" for number in range(jobs)]
    for name in names:
        here.service.add(name, created=start - random.Random(name).uniform(0, 150), story=story(name))
    return [attached(here.session, name) for name in names]


def search(here: World, jobs: int, folder: Path) -> st.Sweep:
    """A sweep of so many training jobs, a tenth of them at a time."""
    job = job_of(
        folder / "source",
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--lr', type=float)\n"
        "args = parser.parse_args()\nprint(f'loss={args.lr}')\n",
        compute=st.Compute("ml.p4d.24xlarge"),
        distribution=st.TorchDistributed(),
        max_run_s=3600,
    )
    here.service.story_of = lambda _name: Story()
    objective = st.specs.Objective(st.MetricRule("loss", r"loss=([0-9.]+)"), st.specs.Goal.MINIMIZE)
    space = {"lr": st.specs.Continuous(0.1, 0.9)}
    return st.Sweep(job, space, objective, max_jobs=jobs, parallel=max(1, jobs // 10))


def measured(jobs: int, profiled: str) -> dict[str, Step]:
    """What every step took with so many jobs."""
    meter = Meter(profiled)
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        here = meter.account(patch, folder)
        handles = fleet(here, jobs)
        meter.measure("watch, silent", here, lambda: here.session.wait(handles, progress=False))
        here = meter.account(patch, folder)
        handles = fleet(here, jobs)
        meter.measure("watch", here, lambda: here.session.wait(handles, stream=io.StringIO()))
        here = meter.account(patch, folder)
        handles = fleet(here, jobs)
        meter.measure("watch, drawn", here, lambda: here.session.wait(handles, stream=Terminal()))
        comparison = meter.measure("compare", here, lambda: st.compare(handles))
        meter.measure("compare, text", here, comparison.text)
        meter.measure("compare, page", here, lambda: comparison.save(folder / "comparison"))
        costs = meter.measure("cost", here, lambda: here.session.fleet(limit=jobs))
        meter.measure("cost, text", here, costs.text)
        meter.measure("cost, page", here, lambda: costs.save(folder / "costs"))
        here = meter.account(patch, folder)
        tuning = here.session.tune(search(here, jobs, folder))
        meter.measure("search", here, lambda: tuning.wait(progress=False))
        meter.measure("search, cost", here, tuning.cost)
    return meter.steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("jobs", nargs="*", type=int, default=[1000, 4000, 10_000])
    parser.add_argument("--profile", default="", metavar="STEP")
    asked = parser.parse_args()
    numbers = sorted(asked.jobs)
    print(
        f"{'step':14}{'jobs':>8}{'calls':>9}{'× linear':>9}{'CPU s':>9}{'× linear':>9}{'simulation s':>14}", flush=True
    )
    least: dict[str, Step] = {}
    for jobs in numbers:
        steps = measured(jobs, asked.profile if jobs == numbers[-1] else "")
        least = least or steps
        for name, step in steps.items():
            print(f"{name:14}{jobs:8,}{row(step, least[name], jobs / numbers[0])}", flush=True)


def row(step: Step, least: Step, times: float) -> str:
    """Calls and seconds, each as a multiple of ``times`` what the fewest jobs took; seconds below a hundredth count as one."""
    of_calls = step.calls / max(1, least.calls) / times
    of_seconds = max(0.01, step.seconds) / max(0.01, least.seconds) / times
    return f"{step.calls:9,}{of_calls:9.2f}{step.seconds:9.2f}{of_seconds:9.2f}{step.service:14.2f}"


if __name__ == "__main__":
    main()
