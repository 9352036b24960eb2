"""The session's promises, kept by a real emulator over HTTP: submit, attach, watch, logs, metrics, stop, cost."""

from __future__ import annotations

import re
from pathlib import Path

import jobs as specs
import pytest
from hypothesis import given
from hypothesis import strategies as some
from jobs import job_of

import sm_trn as st
from sm_trn.core.session.pace import next_delay
from sm_trn.core.specs import JobStatus, Origin, dump_record, parse_snapshot
from sm_trn.wiring import Session

pytestmark = pytest.mark.local

TINY = """
import argparse, os, signal, sys, time
parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=3)
parser.add_argument("--pause", type=float, default=0.0)
parser.add_argument("--fail", type=str, default="")
args = parser.parse_args()
signal.signal(signal.SIGTERM, lambda *_: (print("asked to stop", flush=True), sys.exit(0)))
for step in range(1, args.steps + 1):
    print({"loss": 1.0 / step, "epoch": float(step), "step": step, "steps_per_second": 10.0}, flush=True)
    time.sleep(args.pause)
print({"eval_accuracy": 0.9, "epoch": float(args.steps)}, flush=True)
if args.fail:
    raise RuntimeError(args.fail)
open(os.path.join(os.environ["SM_MODEL_DIR"], "weights"), "w").write("w")
"""


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> st.JobSpec:
    metrics = st.TRAINER_METRICS + st.specs.EVALUATION_METRICS
    return job_of(tmp_path_factory.mktemp("source"), TINY, name="tiny", metrics=metrics)


@pytest.fixture(scope="module")
def done(session: Session, tiny: st.JobSpec) -> st.TrainingJob:
    job = session.submit(tiny)
    job.wait(progress=False)
    return job


def test_a_submitted_job_runs_and_ends(done: st.TrainingJob) -> None:
    snapshot = done.snapshot()
    assert (JobStatus.COMPLETED, True) == (snapshot.status, snapshot.emulated)
    assert done.billable_s is not None
    assert done.billable_s >= 1


def test_its_log_comes_back_in_order(done: st.TrainingJob) -> None:
    printed = [event.text for event in done.logs() if event.text.startswith("{'loss'")]
    assert [1, 2, 3] == [int(re.search(r"'step': (\d+)", line)[1]) for line in printed]  # type: ignore[index]  # it matches


def test_its_metrics_are_a_tidy_frame(done: st.TrainingJob) -> None:
    frame = done.metrics()
    losses = frame[frame["name"] == "loss"]
    assert [1.0, 0.5, 1 / 3] == list(losses["value"])
    assert [1, 2, 3] == list(losses["step"])
    assert {"step", "epoch", "host", "name", "value", "time"} <= set(frame.columns)


def test_an_emulated_job_has_no_cost(done: st.TrainingJob, session: Session, tiny: st.JobSpec) -> None:
    assert done.cost() is None
    assert session.ceiling(tiny) is None
    assert Origin.EMULATED is done.record().origin


def test_any_client_can_attach_by_name_or_arn(session: Session, done: st.TrainingJob) -> None:
    assert done.name == session.attach(done.snapshot().arn).name
    assert JobStatus.COMPLETED is session.attach(done.name).snapshot().status


def test_a_failed_job_raises_with_its_own_reason(session: Session, tiny: st.JobSpec) -> None:
    job = session.submit(tiny.replace(hyperparameters={"fail": "out-of-coffee"}))
    with pytest.raises(st.errors.JobFailed, match="out-of-coffee"):
        job.wait(progress=False)
    line = 1 + TINY.splitlines().index("    raise RuntimeError(args.fail)")
    assert (
        f"failed: the script raised an exception (likely, script.exception), algo-1, train.py:{line}",
    ) == job.record().notes


def test_stopping_lets_the_script_finish_and_is_not_a_failure(session: Session, tiny: st.JobSpec) -> None:
    job = session.submit(tiny.replace(hyperparameters={"steps": 1000, "pause": 0.1}))
    for snapshot in job.watch():
        if snapshot.secondary == "Training" and any("loss" in event.text for event in job.logs()):
            break
    assert JobStatus.STOPPED is job.stop(wait=True).status
    assert "asked to stop" in [event.text for event in job.logs()]
    assert JobStatus.STOPPED is job.stop().status  # again: left alone


def test_a_wrong_spec_starts_nothing_and_lists_every_error(session: Session, tiny: st.JobSpec) -> None:
    before = {job.name for job in session.jobs(limit=500)}
    assert tiny.script is not None
    wrong = tiny.replace(script=st.Script("nope.py", source_dir=tiny.script.source_dir), inputs={"train": "./missing"})
    with pytest.raises(st.errors.InvalidJob) as caught:
        session.submit_all([tiny, wrong])
    assert {"SCRIPT001", "DATA001"} == {problem.id for problem in caught.value.problems}
    assert before == {job.name for job in session.jobs(limit=500)}


def test_dependencies_are_imported_by_the_script_and_a_change_in_one_is_another_source(
    session: Session, tiny: st.JobSpec, tmp_path: Path
) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "train.py").write_text(
        "from shared import word\nprint('told ' + word.WORD)\n"
    )  # in one write: the toolkit cuts lines where a read ends
    (tmp_path / "libs" / "shared").mkdir(parents=True)
    library = tmp_path / "libs" / "shared" / "word.py"
    library.write_text("WORD = 'here'\n")
    script = st.Script("train.py", source_dir=str(tmp_path / "src"), dependencies=(str(tmp_path / "libs" / "shared"),))
    job = session.submit(tiny.replace(script=script, metrics=()))
    job.wait(progress=False)
    assert any("told here" in event.message for event in job.logs())
    assert script == session.attach(job.name).spec.script
    library.write_text("WORD = 'changed'\n")
    packed = session.attach(job.name).spec.script
    assert packed is not None
    assert ("s3://", ()) == ((packed.source_dir or "")[:5], packed.dependencies)


def test_comparing_live_jobs_and_saved_records_is_the_same(
    session: Session, done: st.TrainingJob, tmp_path: Path
) -> None:
    saved = tmp_path / "tiny.json"
    saved.write_text(dump_record(done.record()))
    live, from_file = st.compare([done]), st.compare([saved])
    assert live.frame.drop(columns="job").equals(from_file.frame.drop(columns="job"))


def test_the_emulator_is_announced_with_its_reason(session: Session) -> None:
    assert session.announcement.startswith("EMULATED on this machine (chosen)")


def test_an_unknown_backend_is_refused_with_a_suggestion() -> None:
    with pytest.raises(st.errors.UnknownName, match=r"did you mean 'emulator'\?"):
        st.connect("emulater")


@given(some.integers(0, 10_000), some.sampled_from(["000000000000", "123456789012"]))
def test_the_pace_is_never_hasty_and_never_slow(attempt: int, account: str) -> None:
    arn = f"arn:aws:sagemaker:us-west-2:{account}:training-job/j"
    snapshot = parse_snapshot({"TrainingJobName": "j", "TrainingJobArn": arn, "TrainingJobStatus": "InProgress"})
    assert 0.5 <= next_delay(snapshot, attempt) <= 30


def test_estimators_need_a_role(tmp_path: Path) -> None:
    with pytest.raises(st.errors.NotConfigured, match="role: got nothing"):
        st.estimator(specs.smddp(str(tmp_path)))
