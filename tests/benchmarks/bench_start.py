"""How long the shell takes to start: python tests/benchmarks/bench_start.py. On demand, never as a test.

`sm-trn check` of a shipped job and `sm-trn --help` as whole processes beside `aws --version`, in turn, so that whatever else the
machine does slows all of them. Prints the fastest of each and its ratio to the AWS CLI.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

TIMES = 15
BIN = Path(sys.executable).parent
JOB = Path(__file__).resolve().parents[2] / "notebooks" / "jobs"
COMMANDS = {
    "aws --version": [str(BIN / "aws"), "--version"],
    "sm-trn --help": [str(BIN / "sm-trn"), "--help"],
    "sm-trn check": [str(BIN / "sm-trn"), "check", str(min(JOB.glob("*.toml")))],
    "import sm_trn": [sys.executable, "-c", "import sm_trn"],
    "python": [sys.executable, "-c", "pass"],
}


def seconds(words: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(words, capture_output=True, check=False)
    return time.perf_counter() - started


def main() -> None:
    fastest = dict.fromkeys(COMMANDS, float("inf"))
    for _ in range(TIMES):
        for name, words in COMMANDS.items():
            fastest[name] = min(fastest[name], seconds(words))
    for name, took in fastest.items():
        print(f"{name:<14} {1000 * took:6.0f} ms   {took / fastest['aws --version']:4.2f} of the AWS CLI's")


if __name__ == "__main__":
    main()
