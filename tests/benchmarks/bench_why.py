"""How fast a log is searched for its cause: python tests/benchmarks/bench_why.py [MEGABYTES]. Run on demand, never as a test.

`st.why` of a file of MEGABYTES (200 unless told; 1000 for the figure that is promised): a training log that repeats
itself, and lines of which no two are alike. CPU seconds, the least of three rounds, and the resident memory.
"""

from __future__ import annotations

import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import sm_trn as st

HEAD = "2026-01-01 00:00:00,000 sagemaker-training-toolkit INFO     Invoking user script\n"
END = "Traceback (most recent call last):\n  File \"/opt/ml/code/train.py\", line 31, in <module>\n    main()\nKeyError: 'text'\n"
NAMES = ("shard", "sample", "batch", "token", "example", "record", "image", "step")
AT_ONCE = 5_000  # lines that are made at once


def alike(draw: random.Random) -> str:
    step = draw.randrange(100_000)
    return f"{{'loss': {draw.random():.4f}, 'grad_norm': {draw.random():.3f}, 'learning_rate': 5e-05, 'epoch': {step / 1000}}}"


def unlike(draw: random.Random) -> str:
    return (
        f"2026-01-01 10:{draw.randrange(60):02d} {draw.choice(NAMES)} {draw.getrandbits(128):032x} of {draw.choice(NAMES)} "
        f"{draw.getrandbits(64):016x} read in {draw.random():.4f} s"
    )


def write(path: Path, megabytes: float, line: Callable[[random.Random], str]) -> None:
    draw, size = random.Random(19), 0
    with path.open("w") as file:
        file.write(HEAD)
        while size < megabytes * 1e6:
            size += file.write("".join(f"{line(draw)}\n" for _ in range(AT_ONCE)))
        file.write(END)


def main() -> None:
    megabytes = float(sys.argv[1]) if len(sys.argv) > 1 else 200
    with tempfile.TemporaryDirectory() as folder:
        for line in (alike, unlike):
            path = Path(folder, f"{line.__name__}.log")
            write(path, megabytes, line)
            rounds = []
            for _ in range(3):
                started = time.process_time()
                found = st.why(path)
                rounds.append(time.process_time() - started)
            assert "script.exception" == found.id, found
            held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(
                f"{line.__name__:8}{path.stat().st_size / 1e6 / min(rounds):8.0f} MB/s of CPU, {held:.0f} MiB resident at most"
            )
            path.unlink()


if __name__ == "__main__":
    main()
