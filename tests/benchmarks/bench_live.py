"""Following a job beside SageMaker SDK v2: python tests/benchmarks/bench_live.py. Run on demand.

Both sides talk through boto3 to the same simulated services in this process, so the figures are calls. The network of an account is in
neither.
"""

from __future__ import annotations

import contextlib
import io
import logging
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).parent.parent))

import pytest
from fakes.recorder import Recorder
from fakes.simulated_sagemaker import Story
from fakes.simulated_wire import World, attached, world

from sm_trn.core.session.waits import Wait
from sm_trn.report.watch.progress import progress_of


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


if __name__ == "__main__":
    with pytest.MonkeyPatch.context() as monkeypatch, tempfile.TemporaryDirectory() as directory:
        logging.disable(logging.INFO)  # SDK v2 logs every step
        follow(monkeypatch, Path(directory))
