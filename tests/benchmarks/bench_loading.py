"""What loading in waves saves: python tests/benchmarks/bench_loading.py. On demand, never as a test; Linux only.

Four workers under torchrun load a model of 124 million weights and let it go, all at once and two at a time. Prints the
most memory that they held together beyond what they hold before they load, and how long all of it took.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOADERS = ROOT / "tests" / "entry_scripts" / "loaders.py"
WORKERS = 4


def children(process: int) -> list[int]:
    found = [int(pid) for pid in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    return found + [grandchild for child in found for grandchild in children(child)]


def held(process: int) -> float:
    """Bytes that the process's descendants have for themselves: pages of the file that all of them map count for none."""
    total = 0
    for child in children(process):
        lines = Path(f"/proc/{child}/status").read_text().splitlines()
        total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))
    return float(total)


def measure(model: Path, at_once: int) -> tuple[float, float]:
    """Most gigabytes at one time, and seconds."""
    with tempfile.TemporaryDirectory() as folder:
        environ = {**os.environ, "OMP_NUM_THREADS": "1", "SM_TRN_LOADING_AT_ONCE": str(at_once), "HF_HUB_OFFLINE": "1"}
        command = [
            sys.executable,
            "-m",
            "torch.distributed.run",
            f"--nproc_per_node={WORKERS}",
            str(LOADERS),
            folder,
            str(model),
        ]
        started, most = time.perf_counter(), 0.0
        process = subprocess.Popen(command, env=environ, stderr=subprocess.DEVNULL)
        while process.poll() is None:
            try:
                most = max(most, held(process.pid))
            except OSError:  # a worker has just ended
                continue
            time.sleep(0.02)
        if process.returncode:
            sys.exit(f"{command}: exit code {process.returncode}")
        return most / 1e9, time.perf_counter() - started


def main() -> None:
    from transformers import GPT2Config, GPT2LMHeadModel

    with tempfile.TemporaryDirectory() as folder:
        GPT2LMHeadModel(GPT2Config()).save_pretrained(folder)
        for at_once in (WORKERS, 2, 1):
            gigabytes, seconds = measure(Path(folder), at_once)
            print(f"{at_once} of {WORKERS} at once: {gigabytes:5.2f} GB together, {seconds:5.1f} s", flush=True)


if __name__ == "__main__":
    main()
