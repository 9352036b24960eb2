"""The accelerator battery: three jobs on the emulator, what its row teaches an estimate, and what it does not."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest
import wired
from command import sm_trn
from forecast.rows import Measurement, read

import sm_trn as st
from sm_trn.account.conformance.accelerator import EXAMPLES, STEPS, Measured, spec_of
from sm_trn.account.conformance.answers import dump_answers, load_answers
from sm_trn.account.conformance.run import measure_account
from sm_trn.account.policies.conformance import PREFIX, conformance_policy
from sm_trn.core.errors import UnknownName
from sm_trn.core.strategies import plan
from sm_trn.emulator import Endpoint
from sm_trn.forecast.jobs.calibration import calibration_key
from sm_trn.forecast.jobs.estimate import learn
from sm_trn.forecast.rates import shipped
from sm_trn.forecast.step import step_parts
from sm_trn.forecast.work import work_of

ACCELERATORS = (
    "ml.trn1.2xlarge",
    "ml.trn1.32xlarge",
    "ml.g5.xlarge",
    "ml.g5.12xlarge",
    "ml.p4d.24xlarge",
    "ml.g4dn.xlarge",
)
# A job that goes on from its checkpoint after a stop, and whose model is a function of its steps alone.
SCRIPT = f"""
import os, pathlib, signal, sys, time
state, model = pathlib.Path("/opt/ml/checkpoints/step"), pathlib.Path(os.environ["SM_MODEL_DIR"])
stopped = []
signal.signal(signal.SIGTERM, lambda *_: stopped.append(1))
first = int(state.read_text()) if state.exists() else 0
for step in range(first + 1, {STEPS} + 1):
    time.sleep(0.02 if first or "whole" in os.environ["TRAINING_JOB_NAME"] else 0.15)
    print({{"loss": 1 / step, "step": step, "steps_per_second": 40.0, "samples_per_second": 80.0, "compiles": 2}}, flush=True)
    state.write_text(str(step))
    if stopped:
        sys.exit(75)
(model / "weights.txt").write_text(str(step))
"""


def measured(instance: str, steps_per_s: float = 3.0) -> Measured:
    spec = spec_of(instance)
    workers = plan(spec).workers_per_host
    batch = int(str(spec.hyperparameters["per_device_batch_size"])) * workers
    return Measured(
        instance=instance, workers=workers, steps_per_s=steps_per_s, samples_per_s=steps_per_s * batch, compiles=2, compile_s=90.0,
        memory_gb=3.0, exact=True, stopped_at=21, estimated_step_s=(0.1, 0.2, 0.3), estimated_memory_gib=3.1, emulated=False,
    )  # fmt: skip


@pytest.mark.local
@pytest.mark.skipif(os.environ.get("SM_TRN_CLIENTS") != "all", reason="SM_TRN_CLIENTS=all runs every whole job")
def test_three_jobs_on_the_emulator(emulator: Endpoint, tmp_path: Path) -> None:
    """Of seconds each: the toolkit starts a script as a job does, and the third goes on where the second was stopped."""
    (tmp_path / "train.py").write_text(SCRIPT, "utf-8")
    spec = spec_of("ml.trn1.2xlarge").replace(
        script=st.Script("train.py", source_dir=str(tmp_path)), distribution=None, framework=st.PyTorch("1.13.1", python="py39"),
        compute=st.Compute("ml.m5.xlarge"), hyperparameters={},
    )  # fmt: skip
    session = wired.session_of(emulator)
    target = wired.target_of(emulator, session)
    used = wired.Used(target)
    session.events.register("provide-client-params", used.note)
    found, answers, removed = measure_account(target, spec, clock=wired.MovedClock(), state=tmp_path / "state")
    assert (40.0, 80.0, 2) == (found.steps_per_s, found.samples_per_s, found.compiles)
    assert found.exact is True
    assert found.stopped_at is not None
    assert 20 <= found.stopped_at < STEPS
    assert found.emulated
    assert () == answers.rows  # this machine's speed teaches nothing
    assert 3 == len(removed.names)
    assert [] == used.beyond(conformance_policy("conformance", used.place()))
    assert [] == target.client("sagemaker").list_training_jobs(NameContains=PREFIX)["TrainingJobSummaries"]


@pytest.mark.parametrize("instance", ACCELERATORS)
def test_the_job_of_an_accelerator_can_be_launched(instance: str) -> None:
    found = st.check(spec_of(instance))
    assert [] == [problem for problem in found if problem.severity is st.Severity.ERROR]
    assert STEPS <= st.estimate(spec_of(instance), examples=EXAMPLES).steps < 1.2 * STEPS


@pytest.mark.parametrize("instance", ACCELERATORS)
def test_a_measurement_teaches_what_the_job_would(instance: str) -> None:
    spec, found = spec_of(instance), measured(instance)
    ours, theirs = learn(spec, 3.0, examples=EXAMPLES).ratios, found.calibration(spec).ratios
    assert ours.keys() == theirs.keys()
    (one,), (other,) = (*ours.values(),), (*theirs.values(),)
    assert one == pytest.approx(other, rel=1e-3)


@pytest.mark.parametrize("instance", ACCELERATORS)
def test_the_row_of_a_measurement_is_the_configuration_of_its_job(instance: str) -> None:
    spec, found = spec_of(instance), measured(instance)
    row = found.row(spec)
    assert row is not None
    published = read(row)
    assert isinstance(published, Measurement)
    c = published.configuration
    assert calibration_key(c) in found.calibration(spec).ratios
    estimated = step_parts(work_of(c), shipped().constants.rates(c)).total
    (ours,) = (*found.calibration(spec).ratios.values(),)
    assert ours == pytest.approx((published.seconds(published.published) / estimated,), rel=1e-3)


def test_an_estimate_moves_to_what_was_measured() -> None:
    spec = spec_of("ml.trn1.2xlarge")
    taught = measured("ml.trn1.2xlarge", steps_per_s=3.0).calibration(spec)
    before, after = (st.estimate(spec, examples=EXAMPLES, calibration=c).step_s for c in (None, taught))
    assert before is not None
    assert after is not None
    assert abs(after.p50 - 1 / 3) < 0.001 < abs(before.p50 - 1 / 3)


def test_an_emulated_speed_teaches_nothing() -> None:
    spec = spec_of("ml.trn1.2xlarge")
    assert 0 == dataclasses.replace(measured("ml.trn1.2xlarge"), emulated=True).calibration(spec).jobs


def test_a_record_keeps_its_rows() -> None:
    spec = spec_of("ml.g5.xlarge")
    row = measured("ml.g5.xlarge").row(spec)
    assert row is not None
    answers = load_answers(
        '{"format": 1, "source": "aws", "date": "2026-11-23", "region": "r", "versions": {}, "probes": [], "rows": []}'
    )
    kept = dataclasses.replace(answers, rows=(row,))
    assert kept == load_answers(dump_answers(kept))


def test_the_figures_stand_beside_the_estimate() -> None:
    said = str(measured("ml.trn1.2xlarge"))
    assert "estimated 0.2 s (0.1 to 0.3)" in said
    assert "compilations 2 in 90 s" in said
    assert "the same bytes, stopped after step 21" in said
    assert "OTHER bytes" in str(dataclasses.replace(measured("ml.g5.xlarge"), exact=False))


@pytest.mark.parametrize("instance", ["ml.m5.xlarge", "ml.none.large"])
def test_another_instance_is_refused(instance: str) -> None:
    with pytest.raises(UnknownName, match="wanted an accelerator instance"):
        spec_of(instance)


def test_the_plan_names_the_worst_case() -> None:
    done = sm_trn("conformance", "--accelerator", "ml.g5.xlarge", "--plan", "--region", "us-west-2")
    assert "3 jobs of at least 50 steps on one ml.g5.xlarge. Worst case $2.47. Nothing was sent." in done.stdout


def test_a_measurement_needs_a_limit_as_well() -> None:
    done = sm_trn("conformance", "--accelerator", "ml.g5.xlarge", "--max-usd", "1", "--yes", "--region", "us-west-2")
    assert 2 == done.returncode
    assert "wanted at least the worst case, $2.47" in done.stderr
