"""What the emulator costs: python tests/benchmarks/bench_emulator.py [job|wait|memory|objects|listing|pending]. Run on demand.

Each figure is beside what it is compared with, interleaved, several times; the least and the middle one are told, for
other work on the machine can only add. Bounds: a job 3 s more than bare torchrun; wait() within 1 s of the end; an idle
server 150 MB; 200 MB put and got at 100 MB/s and not held in memory; a page of 1,000 finished jobs in 50 ms;
10,000 pending jobs ($SM_TRN_PENDING) at 2 % of a core.
"""

from __future__ import annotations

import contextlib
import io
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

from boto3.s3.transfer import TransferConfig
from emulator.bench import Bench, bench_of

import sm_trn as st
from sm_trn import emulator as embedded
from sm_trn.emulator import Endpoint, Options
from sm_trn.emulator.state.store import Store
from sm_trn.emulator.training import engine
from sm_trn.emulator.training.jobs import Job, dump

MB = 10**6
SIZE = 200 * MB
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


def wait() -> None:
    """How long after a job's end each ``wait`` returns: ours, and SDK v2's ``fit(wait=True)``."""
    ours: list[float] = []
    theirs: list[float] = []
    with emulator() as endpoint, tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "train.py").write_text("import time; time.sleep(4)", encoding="utf-8")
        bench = bench_of(endpoint)
        session = st.connect("emulator", state=endpoint.state)
        spec = st.JobSpec(
            name="wait",
            script=st.Script("train.py", source_dir=folder),
            framework=st.PyTorch("2.6.0", python="py312"),
            compute=st.Compute("ml.c5.xlarge"),
            max_run_s=600,
        )
        for number in range(TIMES):
            job = session.submit(spec.replace(name=f"ours-{number}"))
            job.wait()
            ours.append(time.time() - ended(bench, job.name))
            if number < 2:  # each takes most of a minute
                estimator = st.estimator(spec.replace(name=f"theirs-{number}"), session=session)
                with contextlib.redirect_stdout(io.StringIO()):
                    estimator.fit(wait=True)
                theirs.append(time.time() - ended(bench, estimator.latest_training_job.name))
    print(f"wait() after the end:                 {told(ours, 's')}; bound 1 s")
    print(f"SDK v2's fit(wait=True) after the end: {told(theirs, 's')}")


def ended(bench: Bench, name: str) -> float:
    return float(bench.describe(name)["TrainingEndTime"].timestamp())


def memory() -> None:
    """An emulator that has run a job and does nothing: RSS, and PSS, which shares pages fairly."""
    with emulator() as endpoint:
        bench = bench_of(endpoint)
        time.sleep(5)
        print(f"idle, fresh:         {memory_of(endpoint.pid)}; bound 150 MB RSS")
        bench.finished(bench.submit("print('x')"))
        for service in ("iam", "sts", "cloudwatch"):
            bench.client(service)
        time.sleep(2)
        print(f"idle, after one job: {memory_of(endpoint.pid)}")


def memory_of(pid: int) -> str:
    facts = {}
    for file in ("status", "smaps_rollup"):
        for row in Path(f"/proc/{pid}/{file}").read_text(encoding="ascii").splitlines():
            name, _, value = row.partition(":")
            if value.strip().endswith("kB"):
                facts[name] = int(value.split()[0]) * 1024 / MB
    return f"RSS {facts['VmRSS']:.0f} MB, PSS {facts['Pss']:.0f} MB, peak {facts['VmHWM']:.0f} MB"


def objects() -> None:
    """200 MB as one object, and as boto3 sends files, in parts; and the server's memory before and after."""
    rates: dict[str, list[float]] = {"put_object": [], "get_object": [], "upload_file": [], "download_file": []}
    with emulator() as endpoint, tempfile.TemporaryDirectory() as folder:
        s3 = bench_of(endpoint).s3
        content = os.urandom(SIZE)
        (Path(folder) / "up").write_bytes(content)
        where = {"Bucket": endpoint.bucket, "Key": "large"}
        s3.put_object(**where, Body=b"")
        before = memory_of(endpoint.pid)
        parts = TransferConfig(max_concurrency=2)
        for _ in range(TIMES):
            for name, work in {
                "put_object": lambda: s3.put_object(**where, Body=content),
                "get_object": lambda: s3.get_object(**where)["Body"].read(),  # noqa: PLW0108 - the call is what is timed
                "upload_file": lambda: s3.upload_file(f"{folder}/up", *where.values(), Config=parts),
                "download_file": lambda: s3.download_file(*where.values(), f"{folder}/down", Config=parts),
            }.items():
                rates[name].append(SIZE / MB / seconds(work))
        assert content == (Path(folder) / "down").read_bytes()
        for name, found in rates.items():
            print(f"200 MB {name}: {told(found, 'MB/s')}; bound 100 MB/s")
        print(f"memory before: {before}; after: {memory_of(endpoint.pid)}")


def listing() -> None:
    """1,000 finished jobs: a page of 100, by ListTrainingJobs and by a page of sm_trn's own records."""
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder)
        store = Store(state / "emulator.db")
        for number in range(1000):
            saved = finished(f"job-{number:04}", 1_700_000_000.0 + number)
            store.save("training-job", saved.name, dump(saved))
        store.close()
        try:
            bench = bench_of(embedded.up(state))
            for size in (10, 100):
                for filters in ({}, {"StatusEquals": "Completed", "SortBy": "Name", "NameContains": "job"}):
                    took: list[float] = []
                    token: dict[str, str] = {}
                    for _ in range(60):
                        call = lambda more=token, filters=filters, size=size: bench.sagemaker.list_training_jobs(  # noqa: E731 - timed
                            MaxResults=size, **filters, **more
                        )
                        began = time.perf_counter()
                        page = call()  # type: ignore[no-untyped-call]  # a table of functions
                        took.append((time.perf_counter() - began) * 1000)
                        token = {"NextToken": page["NextToken"]} if "NextToken" in page else {}
                    took.sort()
                    print(
                        f"a page of {size} of 1,000 jobs {sorted(filters)}: p50 {took[30]:.1f}, p95 {took[57]:.1f} ms; bound 50 ms"
                    )
        finally:
            embedded.down(state)


def finished(name: str, at: float) -> Job:
    state = engine.begin(at)
    for event in (
        engine.Event.PREPARE,
        engine.Event.DOWNLOAD,
        engine.Event.TRAIN,
        engine.Event.UPLOAD,
        engine.Event.FINISH,
    ):
        at += 1
        state = engine.advance(state, event, at)
    request: Any = {"TrainingJobName": name, "ResourceConfig": {"InstanceType": "ml.m5.large", "InstanceCount": 1}}
    return Job(
        name=name,
        arn=f"arn:aws:sagemaker:us-west-2:000000000000:training-job/{name}",
        request=request,
        state=state,
        tags={},
    )


def pending() -> None:
    """One job has the machine and many wait for it: the server's processor time over a minute, its threads and memory."""
    number = int(os.environ.get("SM_TRN_PENDING", "10000"))
    with emulator(max_jobs=1) as endpoint:
        bench = bench_of(endpoint)
        bench.said(bench.submit("import time; print('has it', flush=True); time.sleep(3600)"), "has it")
        print(f"nobody waits:        {share_of(endpoint.pid)}, {memory_of(endpoint.pid)}")
        request = bench.request("print('never')")
        began = time.perf_counter()
        for each in range(number):
            bench.sagemaker.create_training_job(**{**request, "TrainingJobName": f"pending-{each}"})
        took = time.perf_counter() - began
        assert "Pending" == bench.describe(f"pending-{number - 1}")["SecondaryStatus"]
        print(
            f"{number:,} wait: {share_of(endpoint.pid)}, {memory_of(endpoint.pid)}; asked for in {took:.0f} s; bound 2 %"
        )
        print(f"down() took {seconds(lambda: embedded.down(endpoint.state)):.1f} s")


def share_of(pid: int) -> str:
    """What a process takes of one core in a minute, and its threads."""

    def used() -> float:
        facts = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(facts[11]) + int(facts[12])) / os.sysconf("SC_CLK_TCK")

    before = used()
    time.sleep(60)
    return f"{(used() - before) / 0.6:.1f} % of a core, {len(os.listdir(f'/proc/{pid}/task'))} threads"  # noqa: PTH208 - a number


BENCHMARKS = {
    "job": job,
    "wait": wait,
    "memory": memory,
    "objects": objects,
    "listing": listing,
    "pending": pending,
}


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # an end of ours: no emulator is left at work
    for name in sys.argv[1:] or BENCHMARKS:
        BENCHMARKS[name]()


if __name__ == "__main__":
    main()
