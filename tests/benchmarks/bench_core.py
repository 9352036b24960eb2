"""How long checking and rendering take: python tests/benchmarks/bench_core.py [SPECS]. Run on demand, never as a test.

Prints microseconds of processor time per spec, best of five rounds over the same specs, beside an empty loop over them; and what was
imported.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import sm_trn as st
from sm_trn.core.specs import Destination, JobSpec

SCRIPT = """import argparse
parser = argparse.ArgumentParser()
parser.parse_known_args()
# checkpoint
"""


def specs(number: int, folder: str) -> list[JobSpec]:
    base = st.JobSpec(
        name="bench",
        script=st.Script("train.py", source_dir=folder),
        framework=st.PyTorch("1.11", python="py38"),
        compute=st.Compute("ml.p4d.24xlarge", count=2),
        distribution=st.SMDataParallel(),
        hyperparameters={"epochs": 3, "learning_rate": 5e-5, "model": "bert-base-cased"},
        inputs={"train": "s3://a-bucket/train"},
    )
    trn1 = base.replace(
        framework=st.NeuronX("2.9.0"),
        compute=st.Compute("ml.trn1.32xlarge"),
        distribution=st.TorchDistributed(),
        spot=st.Spot(max_wait_s=90_000, checkpoint_s3_uri="s3://a-bucket/c"),
    )
    return [(base, trn1)[index % 2].replace(name=f"bench-{index}") for index in range(number)]


def estimated(job: JobSpec) -> JobSpec:
    """The same with all that an estimate needs."""
    known = {"per_device_train_batch_size": 16, "max_seq_length": 128, "max_train_samples": 25_000, "bf16": True}
    return job.replace(distribution=st.TorchDistributed(), hyperparameters={**job.hyperparameters, **known})


def best(work: Callable[[JobSpec], object], over: list[JobSpec]) -> float:
    """Microseconds per spec, the least of five rounds."""
    rounds = []
    for _ in range(5):
        started = time.process_time()
        for job in over:
            work(job)
        rounds.append(time.process_time() - started)
    return min(rounds) / len(over) * 1e6


def main() -> None:
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "train.py").write_text(SCRIPT)
        over = specs(number, folder)
        at = Destination(bucket="a-bucket", job_name="a-job", source_uri="s3://a-bucket/s.tar.gz")
        print(f"{'check, estimated':<20} {best(st.check, [estimated(job) for job in over]):9.1f} µs per spec")
        for name, work in (
            ("empty", lambda job: job),
            ("check", st.check),
            ("render request", lambda job: st.render(job, "request", at=at)),
            ("render estimator-v2", lambda job: st.render(job, "estimator-v2", at=at)),
        ):
            print(f"{name:<20} {best(work, over):9.1f} µs per spec")
    heavy = [name for name in ("boto3", "botocore", "sagemaker", "pandas", "torch") if name in sys.modules]
    print(f"imported of boto3, botocore, sagemaker, pandas, torch: {heavy or 'none'}")


if __name__ == "__main__":
    main()
