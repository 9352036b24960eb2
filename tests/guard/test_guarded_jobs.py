"""Guards over emulated jobs: a worker that hangs is found and stopped, one that is killed is told from one that fails."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from fakes import worker_fault
from jobs import job_of

import sm_trn as st
from sm_trn.diagnosis.guard.live import Alarm
from sm_trn.report.watch.display import Display
from sm_trn.report.watch.progress import progress_of

pytestmark = pytest.mark.local

# A loop that every worker logs in, with the pauses of a real one: evaluation, saving; and, with torch, real weights.
STEPS = """
import json, os, random, signal, sys, time, worker_fault
worker_fault.begin()
signal.signal(signal.SIGTERM, lambda *_: (print("saved", flush=True), sys.exit(0)))
rank = int(os.environ.get("RANK", 0 if os.environ["SM_CURRENT_HOST"] == "algo-1" else 1))
weight, together = None, None
if os.environ.get("TOGETHER"):  # every step waits for all workers, as a collective does
    import torch, torch.distributed as together
    hosts = json.loads(os.environ["SM_HOSTS"])
    together.init_process_group("gloo", init_method=f"file://{os.environ['TOGETHER']}", rank=rank, world_size=len(hosts))
if os.environ.get("WITH_TORCH"):
    import torch
    weight = torch.nn.Parameter(torch.ones(1)); optimizer = torch.optim.SGD([weight], lr=0.001)
for step in range(1, int(os.environ.get("STEPS", 2000)) + 1):
    time.sleep(float(os.environ.get("STEP_S", 0.05)))
    loss = 1.0 / step
    if weight is not None:
        optimizer.zero_grad(); (weight ** 2).sum().backward(); optimizer.step(); loss = float((weight ** 2).sum())
    if together is not None:
        together.barrier()
    if os.environ.get("ALL_PRINT"):
        print(f"[rank {rank}] step {step} loss {loss:.5f}", flush=True)
    elif rank == 0:
        print({"loss": loss, "step": step}, flush=True)
    if rank == 0:
        if step % int(os.environ.get("EVERY", 100)) == 0:
            print("***** Running Evaluation *****", flush=True); time.sleep(float(os.environ.get("PAUSE", 0.5)))
            print({"eval_loss": 0.5}, flush=True); print("Saving model checkpoint to /opt/ml/checkpoints", flush=True); time.sleep(0.3)
"""
ON_DEMAND = pytest.mark.skipif(
    os.environ.get("SM_TRN_CLIENTS") != "all", reason="SM_TRN_CLIENTS=all runs every whole job"
)
ARMED: dict[str, str] = {}  # of the environment of the jobs that are made next
GUARD = st.Guard(stall_s=2, pause_s=8, no_first_step_s=30, silence_suffices=True, act="stop")


def spec(folder: Path, *, hosts: int = 1, torch: bool = False, steps: int = 2000, **environment: str) -> st.JobSpec:
    environment |= {"STEPS": str(steps), **({"WITH_TORCH": "1"} if torch else {}), **ARMED}
    compute = st.Compute("ml.c5.xlarge", count=hosts)
    job = job_of(folder, STEPS, name="guarded", compute=compute, environment=environment)
    (folder / "worker_fault.py").write_text(Path(worker_fault.__file__).read_text("utf-8"), "utf-8")
    return job


def waited(
    session: st.Session, job: st.TrainingJob, guard: st.Guard
) -> tuple[st.results.JobSnapshot, list[tuple[Alarm, float]]]:
    """How the job ended, and each alarm with the time it was raised."""
    from sm_trn.core.session.waits import Wait
    from sm_trn.diagnosis.guard.live import JobGuards

    found: list[tuple[Alarm, float]] = []

    def alarmed(_snapshot: st.results.JobSnapshot, alarm: Alarm) -> None:
        found.append((alarm, time.time()))
        if not alarm.sure:  # told and not acted on, as slowness is: here the job has shown enough
            job.stop()

    guards = JobGuards(cloud=session, guards={job.name: guard}, alarmed=alarmed)
    (final,) = Wait(
        session=session,
        jobs=(job,),
        notify=lambda _text: None,
        observers=(progress_of(session, (job,), Display(), guards), guards),
    ).run()
    return final, found


def test_a_worker_that_hangs_is_found_and_stopped(
    session: st.Session, sm_trn_faults_here: Callable[..., None], tmp_path: Path
) -> None:
    sm_trn_faults_here("hang", after_s=0.5)
    final, found = waited(session, session.submit(spec(tmp_path, STEP_S="0.02")), GUARD)
    assert ["stall_s"] == [alarm.limit for alarm, _ in found]
    assert "Stopped" == final.status_word


@pytest.mark.parametrize("kind", [pytest.param("heartbeat", marks=ON_DEMAND), pytest.param("redraw", marks=ON_DEMAND)])
def test_a_worker_that_hangs_and_goes_on_talking_is_found(
    session: st.Session, sm_trn_faults_here: Callable[..., None], tmp_path: Path, kind: str
) -> None:
    sm_trn_faults_here(kind, after_s=1.0)
    job = session.submit(spec(tmp_path, STEP_S="0.02"))
    final, found = waited(session, job, GUARD)
    assert ["stall_s"] == [alarm.limit for alarm, _ in found]
    assert "Stopped" == final.status_word
    assert re.search("heartbeat 3: alive|00:03<01:20", "\n".join(event.text for event in job.logs()))


@pytest.mark.parametrize("rank", [pytest.param(0, marks=ON_DEMAND), pytest.param(1, marks=ON_DEMAND)])
def test_a_silent_host_among_others_stalls_the_job(
    session: st.Session, sm_trn_faults_here: Callable[..., None], tmp_path: Path, rank: int
) -> None:
    sm_trn_faults_here("hang", after_s=2.0, rank=rank)
    _, found = waited(session, session.submit(spec(tmp_path, hosts=2, STEP_S="0.02", ALL_PRINT="1")), GUARD)
    assert ["stall_s"] == [alarm.limit for alarm, _ in found]


@ON_DEMAND
def test_bursts_of_lines_are_no_stall_and_no_slowness(
    session: st.Session, sm_trn_faults_here: Callable[..., None], tmp_path: Path
) -> None:
    sm_trn_faults_here("burst", after_s=0.3)
    guard = dataclasses.replace(GUARD, stall_s=3)
    final, found = waited(session, session.submit(spec(tmp_path, steps=300, STEP_S="0.03", EVERY="1000")), guard)
    assert ("Completed", []) == (final.status_word, found)


@ON_DEMAND
def test_a_host_that_others_wait_for_in_a_collective_stalls_the_whole_job(
    session: st.Session, sm_trn_faults_here: Callable[..., None], tmp_path: Path
) -> None:
    pytest.importorskip("torch")
    sm_trn_faults_here("hang", after_s=8.0, rank=1)
    job = spec(tmp_path, hosts=2, steps=20_000, STEP_S="0.02", EVERY="100000", TOGETHER=str(tmp_path / "meeting"))
    final, found = waited(session, session.submit(job), dataclasses.replace(GUARD, no_first_step_s=120))
    assert ["stall_s"] == [alarm.limit for alarm, _ in found]
    assert "no step for" in found[0][0].what
    assert "Stopped" == final.status_word


@ON_DEMAND
def test_a_worker_that_is_killed_is_told_from_one_that_fails(
    session: st.Session, sm_trn_faults_here: Callable[..., None], tmp_path: Path
) -> None:
    sm_trn_faults_here("oom-killed", after_s=1.0)
    job = session.submit(spec(tmp_path))
    with pytest.raises(st.errors.JobFailed, match=r"Cause: the host's memory is full") as failed:
        job.wait(progress=False)
    assert "mem.host_oom" == failed.value.diagnosis.id
    assert "mem.host_oom" == job.why().id


@ON_DEMAND
def test_a_healthy_job_with_pauses_raises_no_alarm(session: st.Session, tmp_path: Path) -> None:
    job = session.submit(
        spec(tmp_path, steps=45, STEP_S="0.02", EVERY="40", PAUSE="2.6")
    )  # a pause longer than stall_s
    final, found = waited(session, job, GUARD)
    assert ("Completed", []) == (final.status_word, found)


# Every shipped script as it starts for anybody: tiny models, the bundled texts, with evaluations and saves between the steps.
OFTEN: Mapping[str, str | int] = {
    "logging_steps": 2,
    "evaluation_strategy": "steps",
    "eval_steps": 10,
    "save_steps": 10,
}
SHIPPED: Mapping[str, Mapping[str, str | int]] = {
    "train_text_classification.py": {
        "model": "tiny-random",
        "train": "sample",
        "epochs": 2,
        "save_steps": 20,
        "logging_steps": 5,
    },
    "train_glue.py": {"model_name_or_path": "tiny-random", "max_steps": 40, **OFTEN},
    "train_language_model.py": {
        "model_type": "tiny-gpt2",
        "block_size": 32,
        "max_train_samples": 400,
        "max_steps": 40,
        **OFTEN,
    },
    "train_question_answering.py": {"model_name_or_path": "tiny-random", "max_steps": 40, **OFTEN},
    "finetune.py": {"model_name_or_path": "tiny-llama", "block_size": 64, "max_steps": 20, "logging_steps": 2},
}


@pytest.mark.skipif(
    "SM_TRN_GUARD_SCRIPTS" not in os.environ, reason="the shipped scripts run on demand: SM_TRN_GUARD_SCRIPTS=1"
)
@pytest.mark.timeout(900)
@pytest.mark.parametrize("script", SHIPPED)
def test_no_shipped_script_raises_an_alarm_at_the_default(session: st.Session, script: str) -> None:
    if script == "finetune.py":
        pytest.importorskip("trl")
    job = session.submit(
        st.JobSpec(
            name="shipped",
            script=st.Script(script),
            framework=st.PyTorch("2.8.0", python="py312"),
            compute=st.Compute("ml.c5.xlarge"),
            hyperparameters=dict(SHIPPED[script]),
            max_run_s=900,
        )
    )
    final, found = waited(session, job, st.Guard())
    assert ("Completed", []) == (final.status_word, found), job.why()


@pytest.fixture
def sm_trn_faults_here() -> Any:
    """What befalls a worker of the jobs that are made afterwards."""

    def arm(kind: str, *, after_s: float, rank: int = 0) -> None:
        ARMED["WORKER_FAULT"] = json.dumps({"kind": kind, "after_s": after_s, "rank": rank})

    yield arm
    ARMED.clear()
