"""Attaching on the command line: a job becomes a file, and the file the job again; resubmit and resume say what they do."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from command import sm_trn
from waiting import within

import sm_trn as st
from sm_trn.cli.files import files
from sm_trn.core.errors import InvalidJobFile, UnknownName
from sm_trn.core.jobfile import change_job

JOB = st.JobSpec(
    name="counter",
    script=st.Script("train.py", source_dir="src"),
    framework=st.PyTorch("2.8.0", python="py312"),
    compute=st.Compute("ml.c5.xlarge"),
    hyperparameters={"rate": 5e-5, "a.b": "text"},
    inputs={"train": "s3://b/t"},
    max_run_s=300,
)
COUNTER = """
import os, pathlib, signal, sys, time
folder = pathlib.Path(os.environ.get("SAGEMAKER_BASE_DIR", "/opt/ml"), "checkpoints")
done = max((int(path.stem) for path in folder.glob("*.step")), default=0)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
(folder / f"{done + 1}.step").write_text("checkpoint")
print(f"reached {done + 1}", flush=True)
if done == 0:
    time.sleep(120)
"""


@pytest.mark.parametrize(
    ("settings", "changes"),
    [
        (["compute.count=2"], {"compute": st.Compute("ml.c5.xlarge", count=2)}),
        (["name=other", "max_run_s=60"], {"name": "other", "max_run_s": 60}),
        (["hyperparameters.rate=1e-3", "hyperparameters.a.b=2"], {"hyperparameters": {"rate": 1e-3, "a.b": 2}}),
        (["tags.team=red", 'environment.N="1"'], {"tags": {"team": "red"}, "environment": {"N": "1"}}),
        (["spot.max_wait_s=600"], {"spot": st.Spot(max_wait_s=600)}),
        (
            ["inputs.train.mode=FastFile"],
            {"inputs": {"train": st.Channel("s3://b/t", mode=st.specs.InputMode.FAST_FILE)}},
        ),
        (['distribution={"kind": "mpi"}'], {"distribution": st.MPI()}),
        (["distribution.kind=torch_distributed"], {"distribution": st.TorchDistributed()}),
    ],
)
def test_a_setting_changes_its_field(settings: list[str], changes: dict[str, Any]) -> None:
    assert JOB.replace(**changes) == change_job(JOB, settings)


def test_a_field_is_put_back_to_its_default() -> None:
    assert JOB.replace(inputs={}, max_run_s=86_400) == change_job(JOB, unset=["inputs.train", "max_run_s"])


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("compute.cuont=2", 'unknown key "cuont"(.|\n)*did you mean "count"'),
        ("compute.count=two", "wrong value of compute.count(.|\n)*a whole number"),
        ("compute.count=0", "wrong value of compute.count(.|\n)*at least 1"),
        ("nothing", "not a setting in --set"),
        ("name.x=1", "no such field in --set"),
    ],
)
def test_a_wrong_setting_is_refused_as_in_a_job_file(setting: str, says: str) -> None:
    with pytest.raises(InvalidJobFile, match=says):
        change_job(JOB, [setting])


@pytest.mark.parametrize("suffix", ["toml", "json", "yaml"])
def test_a_saved_job_is_read_back_equal_wherever_the_file_lies(suffix: str, tmp_path: Path) -> None:
    kept = (
        st.specs.Kept("/ProfilerConfig", instead_of="{}"),
        st.specs.Kept("/RemoteDebugConfig", sent='{"EnableRemoteDebug": true}'),
    )
    (tmp_path / "deep").mkdir()
    source = os.path.relpath(tmp_path / "src")
    job = JOB.replace(kept=kept, script=st.Script("train.py", source_dir=source))
    for place in (tmp_path, tmp_path / "deep"):
        files.save(place / f"job.{suffix}", job)
        read = files.only(str(place / f"job.{suffix}"))
        assert read.script is not None
        assert (tmp_path / "src").resolve() == Path(str(read.script.source_dir)).resolve()
        assert job == read.replace(script=job.script)


def test_a_job_is_saved_in_a_format_that_exists(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match=r"wanted a job file that ends in \.toml"):
        files.save(tmp_path / "job.xml", JOB)


@pytest.fixture
def stopped(emulator: Any, tmp_path: Path) -> str:
    """A job with a checkpoint place that was stopped after its first step."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "train.py").write_text(COUNTER)
    session = st.connect("emulator", state=emulator.state)
    place = st.Checkpoint(s3_uri=f"s3://{session.bucket}/{tmp_path.name}")
    script = st.Script("train.py", source_dir=str(tmp_path / "src"))
    job = session.submit(JOB.replace(script=script, inputs={}, hyperparameters={}, checkpoint=place))
    assert within(lambda: any("reached" in event.text for event in job.logs()), 60), job.snapshot()
    job.stop(wait=True)
    return job.name


@pytest.mark.local
def test_a_job_becomes_a_file_is_compared_changed_and_resumed(emulator: Any, stopped: str, tmp_path: Path) -> None:
    where = ("--backend", "emulator", "--state", str(emulator.state))
    file = str(tmp_path / "saved.toml")
    saved = sm_trn("list", stopped, "--save", file, *where)
    assert (0, True) == (saved.returncode, f"saved {file}" in saved.stdout), saved.stderr
    same = sm_trn("diff", stopped, file, *where)
    assert (0, True) == (same.returncode, same.stdout.startswith("No difference")), same.stdout
    dry = sm_trn("resubmit", stopped, "--set", "max_run_s=77", "--dry-run", "--json", *where)
    assert [{"field": "StoppingCondition.MaxRuntimeInSeconds", "before": 300, "after": 77}] == json.loads(dry.stdout)[
        "changes"
    ]
    wrong = sm_trn("resubmit", stopped, "--set", "max_run=77", *where)
    assert (2, "", True) == (wrong.returncode, wrong.stdout, 'did you mean "max_run_s"?' in wrong.stderr)
    once_more = sm_trn("resubmit", stopped, "--set", "max_run_s=77", "--set", "name=shorter", *where)
    assert (0, "shorter-") == (once_more.returncode, once_more.stdout[:8]), once_more.stderr
    assert "- 300\n+ 77" in once_more.stderr
    name = once_more.stdout.strip()
    assert 2 > sm_trn("stop", name, "--wait", *where).returncode
    resumed = sm_trn("resubmit", "--resume", stopped, "--wait", "--json", *where)
    answer = json.loads(resumed.stdout)
    assert (0, "Completed", stopped, []) == (resumed.returncode, answer["status"], answer["of"], answer["changes"])
    assert answer["checkpoints"]["objects"] >= 1
    refused = sm_trn("resubmit", "--resume", answer["name"], *where)
    assert (1, True) == (refused.returncode, "error[SPOT012]" in refused.stderr)
