"""sm_spot in scripts that are not ours: killed at random moments, alone, with two workers and on two hosts, and the same bytes.

SM_TRN_INTERRUPTIONS sets how often each run is interrupted.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("accelerate")
pytest.importorskip("datasets")

from fork_server import TORCH, python_with
from sm_spot import DONE, INTERRUPTED

from launch import QUIET, SCRIPTS

pytestmark = [pytest.mark.local, pytest.mark.timeout(1800)]
INTERRUPTIONS = int(os.environ.get("SM_TRN_INTERRUPTIONS", "2"))
DEADLINE_S = 300.0
STRANGERS = Path(__file__).parent / "strangers"
ON_DEMAND = pytest.mark.skipif("SM_TRN_INTERRUPTIONS" not in os.environ, reason="set SM_TRN_INTERRUPTIONS to run it")
FLAGS = (
    *("--output_dir", "checkpoints", "--save_steps", "5", "--save_total_limit", "3", "--logging_steps", "1"),
    *("--report_to", "none", "--use_cpu", "True", "--bf16", "False", "--num_train_epochs", "2"),
)
AS_THEY_ARE = ("trainer_loop", "image_loop", "sft_loop", "grpo_loop")
WITH_LINES_OF_SM_SPOT = ("accelerate_loop", "plain_loop", "callback_alone")


class Group:
    """The workers of one run: one process, or one torchrun for each host."""

    def __init__(
        self, folder: Path, script: str, *flags: str, workers: int = 1, hosts: int = 1, options: Sequence[str] = ()
    ) -> None:
        self.folder, self.log = folder, folder / f"{len(list(folder.glob('*.log')))}.log"
        self.processes: list[subprocess.Popen[bytes]] = []
        port = free_port()
        for host in range(hosts):
            home = folder / f"host{host}"
            home.mkdir(exist_ok=True)
            python, launcher = python_with(*TORCH), list[str]()
            if workers > 1 or hosts > 1:
                python = sys.executable  # the workers of torchrun are to be found as its children
                launcher = ["-m", "torch.distributed.run", f"--nproc_per_node={workers}", f"--nnodes={hosts}"]
                launcher += [f"--node_rank={host}", "--master_addr=127.0.0.1", f"--master_port={port}"]
                flags = (*flags, "--ddp_backend", "gloo")
            code = copied(folder)
            program = [str(code / f"{script}.py")]
            if script not in WITH_LINES_OF_SM_SPOT:
                program = [str(code / "sm_spot.py"), "run", *options, *program]
            with self.log.open("ab") as log:
                process = subprocess.Popen(
                    [python, *launcher, *program, *FLAGS, *flags],
                    cwd=home,
                    env={**os.environ, **QUIET, "GLOO_SOCKET_IFNAME": "lo"},
                    stdout=log,
                    stderr=log,
                )
            self.processes.append(process)

    @property
    def said(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    def wait_for(self, text: str, count: int = 1) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while self.said.count(text) < count and self.processes[0].poll() is None:
            assert time.monotonic() < deadline, self.said[-3000:]
            time.sleep(0.01)

    def end(self, number: signal.Signals | None = None) -> list[int]:
        """The exit codes. SIGKILL takes a machine and all on it; another signal goes to its first process, as SageMaker sends it."""
        for process in self.processes:
            if number is None or process.poll() is not None:  # it is to end by itself, or has
                continue
            pids = [process.pid]
            if number == signal.SIGKILL:
                pids = [*children_of(process.pid), process.pid]
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
        return [process.wait(DEADLINE_S) for process in self.processes]


def copied(folder: Path) -> Path:
    """The scripts, with sm_spot.py and what they read copied beside them."""
    code = folder / "code"
    if not code.exists():
        shutil.copytree(STRANGERS, code, ignore=shutil.ignore_patterns("__pycache__", "*.toml"))
        shutil.copy(SCRIPTS / "sm_spot.py", code)
        shutil.copy(SCRIPTS / "tiny_random" / "tokenizer.json", code)
    return code


def children_of(pid: int) -> list[int]:
    """torchrun gives each of its workers a session of its own: to end a machine is to end them one by one."""
    found = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return [*found, *(own for child in found for own in children_of(child))]


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def weights_of(folder: Path) -> bytes:
    return (folder / "host0" / "checkpoints" / "model" / "model.safetensors").read_bytes()


def exchange(folder: Path, hosts: int) -> None:
    """As S3 does between two starts of a job: every host gets the files of all hosts."""
    for one in range(hosts):
        for other in range(hosts):
            if one != other:
                shutil.copytree(
                    folder / f"host{one}" / "checkpoints", folder / f"host{other}" / "checkpoints", dirs_exist_ok=True
                )


def interrupted_often(folder: Path, script: str, workers: int, hosts: int) -> str:
    """Run to the end, with interruptions at random moments; what the last run said."""
    dice = random.Random(f"{script} {workers} {hosts}")
    for number in range(INTERRUPTIONS):
        group = Group(folder, script, workers=workers, hosts=hosts)
        group.wait_for("'loss'", dice.randrange(6, 40))
        time.sleep(dice.random() * 0.1)
        kind = (signal.SIGKILL, signal.SIGTERM)[number % 2]
        codes = group.end(kind)
        if kind == signal.SIGTERM and (workers, hosts) == (1, 1):
            assert codes in ([INTERRUPTED], [DONE]), group.said[-3000:]
        if hosts > 1:
            exchange(folder, hosts)
    last = Group(folder, script, workers=workers, hosts=hosts)
    assert {DONE} == {*last.end()}, last.said[-3000:]
    return last.said


@pytest.mark.parametrize("script", AS_THEY_ARE + WITH_LINES_OF_SM_SPOT[:2])
@pytest.mark.parametrize(
    ("workers", "hosts"),
    [
        pytest.param(1, 1, id="alone"),
        pytest.param(2, 1, id="two workers", marks=ON_DEMAND),
        pytest.param(1, 2, id="two hosts", marks=ON_DEMAND),
    ],
)
def test_killed_at_random_moments_it_ends_with_the_same_bytes(
    script: str, workers: int, hosts: int, tmp_path: Path
) -> None:
    for name in ("straight", "interrupted"):
        (tmp_path / name).mkdir()
    straight = Group(tmp_path / "straight", script, workers=workers, hosts=hosts)
    said = interrupted_often(tmp_path / "interrupted", script, workers, hosts)
    assert {DONE} == {*straight.end()}, straight.said[-3000:]
    assert "resuming after step" in said
    assert weights_of(tmp_path / "straight") == weights_of(tmp_path / "interrupted")


def test_an_epoch_that_begins_with_a_checkpoint_has_the_order_that_it_has_without(tmp_path: Path) -> None:
    """Trainer loads the generators of such a checkpoint after its callbacks have heard that the epoch begins."""
    for name in ("straight", "interrupted"):
        (tmp_path / name).mkdir()
    flags = "--train_sampling_strategy group_by_length --save_strategy epoch --eval_strategy epoch".split()
    straight = Group(tmp_path / "straight", "trainer_loop", *flags)
    interrupted = Group(tmp_path / "interrupted", "trainer_loop", *flags)
    interrupted.wait_for("'step': 80}")
    interrupted.end(signal.SIGKILL)
    last = Group(tmp_path / "interrupted", "trainer_loop", *flags)
    assert [[DONE], [DONE]] == [straight.end(), last.end()], last.said[-3000:]
    assert "resuming after step 60" in last.said
    assert weights_of(tmp_path / "straight") == weights_of(tmp_path / "interrupted")
