"""The overhead of the emulator: python tests/benchmarks/bench_emulator.py. Run on demand.

A job beside bare torchrun, in turns: the least and the middle one are printed, for other work on the machine can only add. Bounds: a job
3 s more than bare torchrun; an idle server 150 MB.
"""

from __future__ import annotations

import contextlib
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from emulator.bench import bench_of

from sm_trn import emulator as embedded
from sm_trn.emulator import Endpoint, Options

TIMES = int(os.environ.get("SM_TRN_TIMES", "5"))
SCRIPT = """
import torch, torch.distributed as dist
dist.init_process_group("gloo")
layer = torch.nn.Linear(256, 256)
for step in range(30):
    layer(torch.randn(64, 256)).sum().backward()
    for p in layer.parameters():
        dist.all_reduce(p.grad)
print("done")
dist.destroy_process_group()
"""


@contextlib.contextmanager
def emulator(**options: Any) -> Iterator[Endpoint]:
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder)
        try:
            yield embedded.up(state, options=Options(**{"start_delay_s": 0.0, **options}))
        finally:
            embedded.down(state)


def told(values: list[float], unit: str) -> str:
    return f"least {min(values):.2f}, middle {statistics.median(values):.2f}, most {max(values):.2f} {unit} of {len(values)}"


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def job() -> None:
    """One script, two workers: bare torchrun, and as a job from create to its terminal state; in turns."""
    bare: list[float] = []
    jobs: list[float] = []
    with emulator() as endpoint, tempfile.TemporaryDirectory() as folder:
        bench = bench_of(endpoint)
        script = Path(folder) / "train.py"
        script.write_text(SCRIPT, encoding="utf-8")
        torchrun = [
            sys.executable,
            "-m",
            "torch.distributed.run",
            "--nnodes",
            "1",
            "--nproc_per_node",
            "2",
            str(script),
        ]
        alike = {
            "OMP_NUM_THREADS": "1",
            "GLOO_SOCKET_IFNAME": "lo",
            "PYTHONDONTWRITEBYTECODE": "1",
        }  # as a job has them
        quiet = {"env": {**os.environ, **alike}, "capture_output": True}
        for _ in range(TIMES):
            bare.append(seconds(lambda: subprocess.run(torchrun, check=True, **quiet)))  # type: ignore[call-overload]  # by name
            request = bench.request(
                SCRIPT,
                {"sagemaker_torch_distributed_enabled": True},
                ResourceConfig={"InstanceType": "ml.c5.4xlarge", "InstanceCount": 1, "VolumeSizeInGB": 10},
            )
            began = time.perf_counter()
            bench.sagemaker.create_training_job(**request)
            assert bench.finished(request["TrainingJobName"], 120)["TrainingJobStatus"] == "Completed"
            jobs.append(time.perf_counter() - began)
    print(f"bare torchrun: {told(bare, 's')}")
    print(f"as a job:      {told(jobs, 's')}")
    pairs = [job - alone for job, alone in zip(jobs, bare, strict=True)]
    print(f"more:          {told(pairs, 's')}; least to least {min(jobs) - min(bare):.2f} s; bound 3 s")


def memory() -> None:
    """An emulator that has run a job and does nothing: RSS, and PSS, which shares pages fairly."""
    with emulator() as endpoint:
        bench = bench_of(endpoint)
        time.sleep(5)
        print(f"idle, fresh:         {memory_of(endpoint.pid)}; bound 150 MB RSS")
        bench.finished(bench.submit("print('x')"))
        print(f"idle, after one job: {memory_of(endpoint.pid)}")


def memory_of(pid: int) -> str:
    facts = {}
    for file in ("status", "smaps_rollup"):
        for row in Path(f"/proc/{pid}/{file}").read_text(encoding="ascii").splitlines():
            name, _, value = row.partition(":")
            if value.strip().endswith("kB"):
                facts[name] = int(value.split()[0]) * 1024 / 1e6
    return f"RSS {facts['VmRSS']:.0f} MB, PSS {facts['Pss']:.0f} MB, peak {facts['VmHWM']:.0f} MB"


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # an end of ours: no emulator is left at work
    job()
    memory()
