"""The main call path on a real account: the README's own job is launched, followed, attached to, stopped and cleaned up.

    SM_TRN_LIVE=1 SM_TRN_ROLE=arn:aws:iam::111122223333:role/training python -m pytest tests/aws/test_live.py -s

It needs AWS credentials, a role and a bucket, prints the most that it can cost before it starts, and deletes its objects and log
streams afterwards. Jobs that have ended cannot be deleted. The same test runs on the emulator, without an account.
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sm_trn as st
from sm_trn.errors import SmTrnError

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "sm_trn" / "docs" / "guides" / "own-script.md"
INSTANCE = "ml.m5.large"
MAX_RUN_S = 900  # two jobs of a quarter of an hour at most
LOG_GROUP = "/aws/sagemaker/TrainingJobs"
SECOND_PROCESS = """
import json, sys
import sm_trn as st
run = st.connect(sys.argv[1]).attach(sys.argv[2])
final = run.wait(progress=False)
print(json.dumps({"status": final.status_word, "billable_s": run.billable_s, "loss": len(run.metrics())}))
"""
SLEEPING = "import time\nprint('waiting to be stopped', flush=True)\ntime.sleep(800)\n"

pytestmark = pytest.mark.skipif(not (ROOT / "README.md").exists(), reason="the README is not beside the tests")


def credentials() -> bool:
    import boto3

    return boto3.Session().get_credentials() is not None


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the reader of the README has: src/train.py and data/reviews.csv."""
    script = re.search(r"<!-- file src/train.py -->\n```python\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)
    assert script is not None
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "train.py").write_text(script[1], "utf-8")
    (tmp_path / "waiting").mkdir()
    (tmp_path / "waiting" / "train.py").write_text(SLEEPING, "utf-8")
    (tmp_path / "data").mkdir()
    with (tmp_path / "data" / "reviews.csv").open("w", newline="") as file:
        rows = [(f"a {word} one", label) for word, label in (("good", 1), ("bad", 0)) for _ in range(20)]
        csv.writer(file).writerows([("content", "label"), *rows])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def readme_job() -> st.JobSpec:
    """The job of the README's first Python block, renamed for this run and on a small machine."""
    block = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert block is not None
    names: dict[str, Any] = {}
    exec(block[1].split("\nsession = ")[0], names)  # noqa: S102 - the README's own code, up to where it connects
    job: st.JobSpec = names["job"]
    return job.replace(name=f"sm-trn-live-{uuid.uuid4().hex[:8]}", compute=st.Compute(INSTANCE), max_run_s=MAX_RUN_S)


@contextlib.contextmanager
def cleaned_up(session: st.Session, prefix: str) -> Iterator[None]:
    """Stop the jobs of this run, and delete their objects and log streams, whatever happens in the block."""
    assert session.boto_session is not None
    bucket = session.boto_session.resource("s3").Bucket(session.bucket)
    before = {each.key for each in bucket.objects.all()}
    try:
        yield
    finally:
        runs = session.jobs(prefix)
        for run in runs:
            with contextlib.suppress(SmTrnError):  # it has ended
                run.stop(wait=True)
        made = [each.key for each in bucket.objects.all() if each.key not in before]
        keys = [key for key in made if prefix in key or key.startswith("sm_trn/")]
        for key in keys:
            bucket.Object(key).delete()
        logs = session.boto_session.client("logs")
        streams = logs.describe_log_streams(logGroupName=LOG_GROUP, logStreamNamePrefix=prefix)["logStreams"]
        if not session.emulated:  # the emulator keeps the logs of its jobs
            for stream in streams:
                logs.delete_log_stream(logGroupName=LOG_GROUP, logStreamName=stream["logStreamName"])
        print(f"Cleaned up: {len(runs)} jobs, {len(keys)} objects, {len(streams)} log streams.")


def the_main_call_path(backend: str, session: st.Session) -> None:
    job = readme_job()
    sleeper = job.replace(
        name=f"{job.name}-stop",
        script=st.Script("train.py", source_dir="waiting"),
        hyperparameters={},
        metrics=[],
        inputs={},
    )
    price = session.price(INSTANCE)
    assert price is not None
    most = 2 * price.usd_per_hour * MAX_RUN_S / 3600
    print(
        f"\nTwo jobs on {INSTANCE} cost at most ${most:.2f} at the list price of {price.as_of}, and some cents for logs."
    )
    with cleaned_up(session, job.name):
        run = session.submit(job, max_usd=1)
        stopped = session.submit(sleeper, max_usd=1)

        command = [sys.executable, "-c", SECOND_PROCESS, backend, run.name]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
            final = run.wait(progress=False)
            answer, _ = other.communicate(timeout=MAX_RUN_S + 300)
        assert final.status is st.JobStatus.COMPLETED, final.failure_reason
        assert run.billable_s is not None and run.billable_s > 0  # noqa: PT018 - one fact
        assert any("eval_accuracy=" in event.text for event in run.logs())
        metrics = run.metrics()
        assert {"loss", "eval_accuracy"} == set(metrics["name"])
        attached = json.loads(answer)
        assert attached == {"status": "Completed", "billable_s": run.billable_s, "loss": len(metrics)}

        for event in stopped.logs(follow=True):
            if "waiting to be stopped" in event.text:
                break
        assert stopped.stop(wait=True).status is st.JobStatus.STOPPED


@pytest.mark.aws
@pytest.mark.timeout(3600)
@pytest.mark.skipif(os.environ.get("SM_TRN_LIVE") != "1", reason="set SM_TRN_LIVE=1: it costs money")
def test_the_main_call_path_on_aws(folder: Path) -> None:
    if not credentials():
        pytest.skip("boto3 finds no AWS credentials")
    the_main_call_path("aws", st.connect("aws"))


@pytest.mark.local
def test_the_main_call_path_on_the_emulator(emulator: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SM_TRN_STATE", str(emulator.state))
    the_main_call_path("emulator", st.connect("emulator", state=emulator.state))
