"""A fault made to happen for real in one worker of an emulated job: it hangs – silent, or with a heart that beats – slows down,
computes NaN, runs out of memory, gives up as NCCL does, or says in bursts what it has to say.

It lies beside a job's script, which calls ``begin``; only the worker that WORKER_FAULT names does anything.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

_SLOW = """import os, sys, time
worker, stop, go, rest = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
while os.getppid() == worker:
    os.kill(worker, stop); time.sleep(rest); os.kill(worker, go); time.sleep(0.1)
"""
# What goes on talking while its worker hangs, as a thread of a monitor or of a progress bar does.
_BEAT = """import os, sys, time
worker, text, at = int(sys.argv[1]), sys.argv[2], 0
while os.getppid() == worker:
    at += 1
    os.write(1, (text.format(at=at, clock=at % 60) + "\\n").encode()); time.sleep(0.3)
"""
_HEARTBEAT = "heartbeat {at}: alive"
_BAR = " 20%|██        | 20/100 [00:{clock:02d}<01:20,  1.10it/s]"
_BURST_S = 2.0
_NCCL = (  # as torch 2.x words it: ProcessGroupNCCL.cpp, WorkNCCL::checkTimeout and the watchdog's last words
    "[rank{rank}]:[E ProcessGroupNCCL.cpp:616] [Rank {rank}] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum={seq}, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)={ms}) ran for {ms} milliseconds before timing out.\n"
)


def _rank() -> int:
    for name in ("RANK", "OMPI_COMM_WORLD_RANK"):
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    host = os.environ.get("SM_CURRENT_HOST", "algo-1").rpartition("-")[2]  # without a launcher, a worker on each host
    return int(host) - 1 if host.isdigit() else 0


def _when_due(after_s: float, act: Any) -> None:
    def run() -> None:
        time.sleep(after_s)
        with contextlib.suppress(Exception):
            act()

    threading.Thread(target=run, name="fault", daemon=True).start()


def _slow(share: float) -> None:
    """Stop the process most of the time: from a helper, for a stopped process starts itself never again."""
    told = (os.getpid(), int(signal.SIGSTOP), int(signal.SIGCONT), 0.1 * share)
    subprocess.Popen([sys.executable, "-I", "-S", "-c", _SLOW, *map(str, told)])


def _hang_talking(text: str) -> None:
    """Stop the process while a helper goes on talking for it."""
    subprocess.Popen([sys.executable, "-I", "-S", "-c", _BEAT, str(os.getpid()), text])
    os.kill(os.getpid(), signal.SIGSTOP)


def _burst() -> None:
    """Hold back what is said, and say it all at once every few seconds, as a buffer that is rarely flushed does."""
    original, (end, begin) = os.dup(1), os.pipe()
    os.dup2(begin, 1)
    os.set_blocking(end, False)

    def flush() -> None:
        with contextlib.suppress(BlockingIOError):
            os.write(original, os.read(end, 1 << 20))

    def pass_on() -> None:
        while True:
            time.sleep(_BURST_S)
            flush()

    atexit.register(flush)
    threading.Thread(target=pass_on, name="burst", daemon=True).start()


def _nan() -> None:
    """Let every optimizer's next step leave NaN in its parameters: the loss is NaN from then on."""
    for _ in range(600):
        optimizer = sys.modules.get("torch.optim.optimizer")
        if optimizer is not None and hasattr(optimizer, "register_optimizer_step_post_hook"):
            optimizer.register_optimizer_step_post_hook(_spoil)
            return
        time.sleep(0.1)


def _spoil(optimizer: Any, *_rest: Any) -> None:
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            parameter.data.fill_(float("nan"))


def _nccl(timeout_s: float) -> None:
    os.write(2, _NCCL.format(rank=_rank(), seq=17, ms=int(timeout_s * 1000)).encode())
    os.abort()


def _silent() -> None:
    """Point both streams at nothing: the work goes on, and says nothing."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)


def begin() -> None:
    """Arm the fault, if this process is the worker that it is for."""
    told = os.environ.get("WORKER_FAULT")
    if not told:
        return
    fault = json.loads(told)
    if fault["rank"] is not None and fault["rank"] != _rank():
        return
    acts = {
        "hang": lambda: os.kill(os.getpid(), signal.SIGSTOP),
        "heartbeat": lambda: _hang_talking(_HEARTBEAT),
        "redraw": lambda: _hang_talking(_BAR),
        "burst": _burst,
        "slow-rank": lambda: _slow(20.0),
        "nan": _nan,
        "silent": _silent,
        "oom-killed": lambda: os.kill(os.getpid(), signal.SIGKILL),
        "nccl-timeout": lambda: _nccl(1800.0),
    }
    _when_due(float(fault["after_s"]), acts[fault["kind"]])
