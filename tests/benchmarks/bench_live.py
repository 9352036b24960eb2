"""Launching and watching beside SageMaker SDK v2: python tests/benchmarks/bench_live.py [launch|follow|fleet|listing]. Run on demand.

Both sides talk through boto3 to the same simulated services in this process, so the figures are calls, and seconds of this
machine's own work. What an account adds – its network, and one CreateTrainingJob a second – is in neither.
"""

from __future__ import annotations

import contextlib
import io
import logging
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).parent.parent))

import pytest
from fakes.recorder import Recorder
from fakes.simulated_sagemaker import Story
from fakes.simulated_wire import World, attached, world

import sm_trn as st
from sm_trn.core.session.waits import Wait, poller_for
from sm_trn.report.watch.progress import progress_of

FILES, BYTES, LAUNCHES = 201, 5_500_000, 50
NO_TELEMETRY = "SchemaVersion: '1.0'\nSageMaker:\n  PythonSDK:\n    Modules:\n      TelemetryOptOut: true\n"


def source(folder: Path) -> Path:
    """201 files, 5.5 MB, of which about half is left after compression."""
    chance = random.Random(5)
    folder.mkdir()
    (folder / "train.py").write_text("print('checkpoint')\n")
    for n in range(FILES - 1):
        words = [f"{chance.getrandbits(48):012x}" for _ in range(BYTES // (FILES - 1) // 13)]
        (folder / f"module_{n}.txt").write_text("\n".join(words))
    return folder


def launch(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """50 launches that share a source of 5.5 MB."""
    spec = st.JobSpec(
        name="bench",
        script=st.Script("train.py", source_dir=str(source(folder / "source"))),
        framework=st.PyTorch("2.8.0", python="py312"),
        compute=st.Compute("ml.p4d.24xlarge"),
        distribution=st.TorchDistributed(),
    )
    here = world(patch, folder, latency_s=0.0)
    ours = seconds(lambda: here.session.submit_all([spec.replace(name=f"bench-{n}") for n in range(LAUNCHES)]))
    our_puts = here.wire.calls["PutObject"]
    (folder / "sdk.yaml").write_text(NO_TELEMETRY)
    patch.setenv("SAGEMAKER_USER_CONFIG_OVERRIDE", str(folder / "sdk.yaml"))
    there = world(patch, folder, latency_s=0.0)
    estimator = st.estimator(spec, session=there.session)

    def fit() -> None:
        for _ in range(LAUNCHES):
            estimator.fit(wait=False)

    theirs = seconds(fit)
    assert (LAUNCHES, LAUNCHES) == (len(here.service.jobs), len(there.service.jobs))
    print(
        f"{LAUNCHES} launches of a 5.5 MB source: {ours:.2f} s and {our_puts} upload; SDK v2 fit(wait=False) "
        f"{theirs:.2f} s and {there.wire.calls['PutObject']} uploads: {theirs / ours:.1f} times"
    )


def follow(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """One 10-minute job on two hosts, with its log, to the end."""
    lines = {
        host: tuple((141 + 2.0 * n, str({"loss": 1.0, "step": n})) for n in range(220)) for host in ("algo-1", "algo-2")
    }

    def begin() -> tuple[World, float]:
        here = world(patch, folder, latency_s=0.1)
        return here, here.service.add("ten-minutes", created=here.clock.now(), story=Story(lines=lines)).end

    here, end = begin()
    shown = Recorder()
    jobs = (attached(here.session, "ten-minutes"),)
    Wait(session=here.session, jobs=jobs, observers=(progress_of(here.session, jobs, shown),)).run()
    ours, our_delay = sum(here.wire.calls.values()), here.clock.now() - end

    import sagemaker.session

    there, end = begin()
    patch.setattr(sagemaker.session, "time", SimpleNamespace(sleep=there.clock.sleep, time=there.clock.now))
    sdk = sagemaker.session.Session(boto_session=there.session.boto_session, default_bucket="a-bucket")
    there.wire.calls.clear()
    with contextlib.redirect_stdout(io.StringIO()):
        sdk.logs_for_job("ten-minutes", wait=True)
    theirs, their_delay = sum(there.wire.calls.values()), there.clock.now() - end
    print(
        f"following a 10-minute job of 2 hosts: {ours} calls, its end and last lines after {our_delay:.1f} s "
        f"{dict(here.wire.calls)}; SDK v2 logs_for_job {theirs} calls, {their_delay:.1f} s: {ours / theirs:.2f} of them"
    )


def fleet(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """1,000 jobs of 10 minutes to 2 hours."""
    here = world(patch, folder)
    chance = random.Random(7)
    names = [f"sweep-{n:04d}" for n in range(1000)]
    for name in names:
        phases = (
            ("Starting", 100.0),
            ("Downloading", 60.0),
            ("Training", chance.uniform(400, 7000)),
            ("Uploading", 15.0),
        )
        here.service.add(name, created=here.clock.now() - chance.uniform(0, 150), story=Story(phases=phases))
    jobs = tuple(attached(here.session, name) for name in names)
    took = seconds(lambda: [None for _ in poller_for(here.session, jobs, print).sweeps(names)])
    total, pages = sum(here.wire.calls.values()), here.wire.calls["ListTrainingJobs"]
    least = pages + len(names)
    print(
        f"watching 1,000 jobs: {total} calls, {total / least:.3f} of {pages} pages + 1,000 ends; {took:.1f} s of work"
    )


def listing(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """500 jobs, listed and summed with their tags."""
    here = world(patch, folder)
    for n in range(500):
        here.service.add(f"sweep-{n:04d}", created=here.clock.now() - 10.0 * n)
    for name, work in (
        ("listing", lambda: here.session.snapshots(limit=500)),
        ("summing", lambda: here.session.fleet(tags=True)),
    ):
        here.wire.calls.clear()
        took = seconds(work)
        print(f"{name} 500 jobs: {sum(here.wire.calls.values())} calls {dict(here.wire.calls)}; {took:.1f} s of work")


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


BENCHMARKS = {"launch": launch, "follow": follow, "fleet": fleet, "listing": listing}


def main() -> None:
    for name in sys.argv[1:] or BENCHMARKS:
        with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
            logging.disable(logging.INFO)  # SDK v2 logs every step
            BENCHMARKS[name](patch, Path(folder))


if __name__ == "__main__":
    main()
