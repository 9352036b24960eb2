"""Counts the modules of the package whose code each trip of ``architecture.md`` enters: ``python tests/architecture/trips.py``.

A module counts when one of its functions runs, not when it is loaded.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = str(ROOT / "sm_trn") + "/"


@contextlib.contextmanager
def entered(within: str = "") -> Iterator[set[str]]:
    """The modules below ``within`` whose functions run in this block, in any thread that it starts."""
    modules: set[str] = set()
    seen: set[Any] = set()

    def look(frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if event != "call" or code in seen:
            return
        seen.add(code)
        file = code.co_filename
        if file.startswith(PACKAGE + within) and code.co_name != "<module>":
            modules.add(file.removeprefix(PACKAGE).removesuffix(".py"))

    sys.setprofile(look)
    threading.setprofile(look)
    try:
        yield modules
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def spec(folder: Path) -> Any:
    import sm_trn as st

    source = folder / "source"
    source.mkdir()
    (source / "train.py").write_text("print({'loss': 0.5})\n")
    return st.JobSpec(
        name="trip",
        script=st.Script("train.py", source_dir=str(source)),
        framework=st.PyTorch("2.1", python="py310"),
        compute=st.Compute("ml.p4d.24xlarge", count=2),
        distribution=st.TorchDistributed(),
        max_run_s=3600,
    )


def check_one(folder: Path) -> set[str]:
    """``check`` of one job, with the rules of the core."""
    from sm_trn.core.preflight import check

    job = spec(folder)
    with entered() as modules:
        check(job)
    return modules


def submit_one(folder: Path) -> set[str]:
    """A spec to its request, and to the service: ``Session.submit`` with the rules of the core."""
    import dataclasses

    import pytest
    from fakes.simulated_wire import world

    from sm_trn.core.session.handles import Session

    with pytest.MonkeyPatch.context() as patch:
        here = world(patch, folder)
        session = Session(**{each.name: getattr(here.session, each.name) for each in dataclasses.fields(Session)})
        job = spec(folder)
        with entered() as modules:
            session.submit(job)
    return modules


def save_comparison(folder: Path) -> set[str]:
    """Numbers to figures: ``Comparison.save`` of two published records."""
    import sm_trn as st

    comparison = st.compare(["published/bert-p4d", "published/bert-trn1"], baseline="bert-p4d")
    with entered() as modules:
        comparison.save(folder / "out")
    return modules


def emulated_job(folder: Path) -> set[str]:
    """A request to a running process, in the emulator: from CreateTrainingJob to its end."""
    import time

    import boto3

    from sm_trn.emulator.options import Options
    from sm_trn.emulator.server import Emulator

    parts = Emulator(folder, "us-west-2", Options(start_delay_s=0.0))
    end = parts.endpoint
    threading.Thread(target=parts.warm_up, daemon=True).start()
    client = boto3.client(
        "sagemaker",
        endpoint_url=end.url,
        region_name=end.region,
        aws_access_key_id=end.access_key,
        aws_secret_access_key=end.secret_key,
    )
    with entered("emulator") as modules:
        threading.Thread(target=parts.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        client.create_training_job(
            TrainingJobName="trip",
            RoleArn=end.role_arn,
            OutputDataConfig={"S3OutputPath": f"s3://{end.bucket}/out"},
            AlgorithmSpecification={
                "TrainingImage": "i",
                "TrainingInputMode": "File",
                "ContainerEntrypoint": ["/bin/true"],
            },
            ResourceConfig={"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 1},
            StoppingCondition={"MaxRuntimeInSeconds": 60},
        )
        while client.describe_training_job(TrainingJobName="trip")["TrainingJobStatus"] == "InProgress":
            time.sleep(0.1)
    parts.shutdown()
    return modules


TRIPS = {
    "check of one job": check_one,
    "submit": submit_one,
    "save() of a comparison": save_comparison,
    "an emulated job": emulated_job,
}

if __name__ == "__main__":
    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
    for title, trip in TRIPS.items():
        with tempfile.TemporaryDirectory() as scratch:
            found = trip(Path(scratch))
        print(f"{title}: {len(found)} modules")
        if "-v" in sys.argv:
            print("  " + "\n  ".join(sorted(found)))
