"""How long a launcher of LINES lines (5,000 unless told) is read: python tests/benchmarks/bench_launchers.py [LINES]. On demand.

Prints the least of three readings in seconds of this process, for texts that grow in different ways.
"""

from __future__ import annotations

import sys
import time

from sm_trn.bridge.launchers import read_text

LAUNCH = """from sagemaker.pytorch import PyTorch
PyTorch("t.py", role="arn:aws:iam::111122223333:role/r", framework_version="2.1", py_version="py310", instance_type="ml.g5.xlarge",
        instance_count=1, hyperparameters={{"x": {name}}}).fit("s3://b/x")
"""


def texts(lines: int) -> dict[str, str]:
    """Launchers of ``lines`` lines, by what they are made of."""
    chain = "\n".join(f"name_{n} = f'{{name_{n - 1 if n else 0}}}-{n}'[-20:]" for n in range(lines))
    return {
        "texts": "name_0 = 'a'\n" + chain,
        "functions": "\n".join(
            f"def made_{n}(x=1):\n    return x + {n}\nname_{n} = made_{n}({n})" for n in range(lines // 3)
        ),
        "conditions": "\n".join(f"if open('{n}').read():\n    name_{n} = {n}" for n in range(lines // 2)),
        "mappings": "d = {}\n" + "\n".join(f"d['k{n}'] = {{'n': {n}, 'l': [{n}] * 3}}" for n in range(lines)),
    }


def main() -> None:
    """Print a line a text."""
    lines = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000
    for word, text in texts(lines).items():
        whole, rounds = f"{text}\n{LAUNCH.format(name='1')}", []
        for _ in range(3):
            began = time.process_time()
            found = read_text(whole, "launch.py")
            rounds.append(time.process_time() - began)
        print(f"{word:<11} {lines:,} lines  {min(rounds):.2f} s  {len(found.launches)} launch, {len(found.jobs)} job")


if __name__ == "__main__":
    main()
