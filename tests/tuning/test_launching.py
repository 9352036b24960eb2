"""A tuning job is created once, whatever becomes of the answers and of this process; its best is brought back.

SM_TRN_ROUNDS=25 runs the bad network with as many seeds, SM_TRN_INTERRUPTIONS=25 kills the client at as many calls.
"""

from __future__ import annotations

import dataclasses
import io
import os
from decimal import Decimal
from pathlib import Path

import pytest
from fakes.simulated_sagemaker import Story
from fakes.simulated_wire import World, sigint, world

import sm_trn as st
from sm_trn.core.formatting.missing import Missing
from sm_trn.core.session.budget import OverBudget
from sm_trn.core.session.launches import LaunchInterrupted, unique_name
from sm_trn.tuning.worst_case import worst_case

ROUNDS = range(int(os.environ.get("SM_TRN_ROUNDS", "2")))
INSTANTS = int(os.environ.get("SM_TRN_INTERRUPTIONS", "2"))


class Killed(BaseException):
    """The process ends here: nothing of it goes on."""


def test_a_sweep_runs_to_its_end_and_tells_its_best(here: World, sweep: st.Sweep) -> None:
    job = here.session.tune(sweep)
    assert {job.name: 1} == dict(here.service.tuning.created)
    shown = io.StringIO()
    final = job.wait(stream=shown)
    assert ("Completed", 12, 12) == (final.status, final.ended, len(job.trials()))
    best = job.best()
    assert best.objective == min(trial.objective or 9.0 for trial in job.trials())
    assert {"lr": 0.9, "optim": "sgd"} == dict(job.best_spec().hyperparameters)
    assert best.name == job.best_job().name
    assert (
        f"{job.name} Completed, 12 of 12 training jobs have ended, best loss 0.0833333 of {best.name}"
        in shown.getvalue()
    )


def test_the_best_of_a_job_that_another_process_started_is_what_it_was_asked(here: World, sweep: st.Sweep) -> None:
    name = here.session.tune(sweep).name
    attached = here.session.tuning_job(f"arn:aws:sagemaker:us-west-2:123456789012:hyper-parameter-tuning-job/{name}")
    attached.wait(progress=False)
    assert {"lr": 0.9, "optim": "sgd"} == dict(attached.best_spec().hyperparameters)


def test_the_cost_is_that_of_every_training_job(here: World, sweep: st.Sweep) -> None:
    job = here.session.tune(sweep)
    assert None is job.cost()
    job.wait(progress=False)
    each = [handle.cost() for handle in job.jobs()]
    assert sum((cost.usd for cost in each if cost is not None), Decimal(0)) == job.cost()
    assert 12 == len(each)


def test_before_there_is_a_best_that_is_said(here: World, sweep: st.Sweep) -> None:
    with pytest.raises(st.SmTrnError, match="no training job with a value of its objective yet"):
        here.session.tune(sweep).best()


def test_a_search_is_stopped_with_its_jobs_and_once(here: World, sweep: st.Sweep) -> None:
    job = here.session.tune(sweep)
    here.clock.sleep(200)
    job.snapshot()
    job.stop()
    job.stop()
    final = job.wait(progress=False)
    assert ("Stopped", 4) == (final.status, len(job.trials()))
    assert {"Stopped"} == {trial.status for trial in job.trials()}
    job.stop()
    assert 1 == here.wire.calls["StopHyperParameterTuningJob"]


def test_the_worst_case_is_what_all_jobs_may_cost(here: World, sweep: st.Sweep) -> None:
    once = here.session.ceiling(sweep.job)
    assert once is not None
    assert once * 12 == here.session.worst_case(sweep)
    with pytest.raises(OverBudget, match="12 training jobs, each at most"):
        here.session.tune(sweep, max_usd=float(once) * 11)
    assert {} == dict(here.service.tuning.created)
    assert 0 == here.wire.calls["PutObject"]
    here.session.tune(sweep, max_usd=float(once) * 12 + 1)


def test_the_dearest_cluster_counts(here: World, sweep: st.Sweep) -> None:
    clusters = (st.Compute("ml.g5.xlarge"), st.Compute("ml.p4d.24xlarge", count=2))
    several = sweep.replace(clusters=clusters)
    dear = here.session.ceiling(sweep.job.replace(compute=clusters[1]))
    assert dear is not None
    assert dear * 12 == worst_case(several, here.session.price_of)
    unknown = sweep.replace(clusters=(*clusters, st.Compute("ml.p9.48xlarge")))
    assert None is worst_case(unknown, here.session.price_of)
    with pytest.raises(OverBudget, match=f"{Missing.NO_PRICE}, no ceiling"):
        here.session.tune(unknown, max_usd=1e9, ignore=["LIMIT001", "TUNE004"])


def test_an_error_of_the_sweep_starts_nothing(here: World, sweep: st.Sweep) -> None:
    wrong = sweep.replace(objective=st.specs.Objective("los", st.specs.Goal.MINIMIZE))
    with pytest.raises(st.errors.InvalidJob, match="TUNE001"):
        here.session.tune(wrong)
    assert 0 == here.wire.calls.total()


def test_a_name_fits_the_service(sweep: st.Sweep) -> None:
    for name in ("a", "bert-large-uncased-squad", "elevenchar-s"):
        made = unique_name(sweep.replace(job=sweep.job.replace(name=name)).base, 1_800_000_000.0)
        assert len(made) <= 32
        assert "--" not in made


def test_the_policy_of_a_sweep_allows_what_is_asked(here: World, sweep: st.Sweep) -> None:
    search = here.session.tune(sweep)
    search.trials()
    search.stop()
    search.wait(progress=False)
    allowed = str(st.policies(sweep).launch)
    asked = {name for name in here.wire.calls if "HyperParameterTuningJob" in name}
    assert 4 == len(asked)
    assert [] == [name for name in asked if f"'sagemaker:{name}'" not in allowed]
    assert f"hyper-parameter-tuning-job/{sweep.base}-*" in allowed
    assert "HyperParameterTuningJob" not in str(st.policies(sweep.job).launch)


def test_a_creation_whose_answers_were_all_lost_is_recognised(here: World, sweep: st.Sweep) -> None:
    here.wire.lose_answers_of = {"CreateHyperParameterTuningJob"}
    here.service.tuning.lag_s = 20.0
    job = here.session.tune(sweep)
    assert {job.name: 1} == dict(here.service.tuning.created)


def test_nobody_knows_whether_it_was_made(here: World, sweep: st.Sweep) -> None:
    here.wire.lose_answers_of = {"CreateHyperParameterTuningJob", "DescribeHyperParameterTuningJob"}
    with pytest.raises(st.errors.LaunchUnknown, match="Before you launch it again: sm-trn tune"):
        here.session.tune(sweep)


def test_the_same_call_of_the_same_name_is_the_same_job(here: World, sweep: st.Sweep) -> None:
    first = here.session.tune(sweep, name="bert-sweep-1")
    again = here.session.tune(sweep, name="bert-sweep-1")
    assert first.name == again.name
    assert {"bert-sweep-1": 1} == dict(here.service.tuning.created)
    with pytest.raises(st.errors.CloudError, match="must be unique"):
        here.session.tune(sweep.replace(max_jobs=11), name="bert-sweep-1")


def test_a_name_that_is_none_is_said(here: World) -> None:
    for name in ("no-such-job", "no such name"):
        with pytest.raises(st.errors.UnknownName, match="wanted the name or the ARN of one in us-west-2"):
            here.session.tuning_job(name)


def test_a_refused_creation_is_that_error(here: World, sweep: st.Sweep) -> None:
    """Every attempt broke off before it took effect: nothing runs, and nobody is told that it may."""
    here.wire.reset = 1.0
    with pytest.raises(st.errors.CloudError):
        here.session.tune(sweep)


def test_ctrl_c_tells_what_may_run(here: World, sweep: st.Sweep) -> None:
    def meddle(operation: str, done: bool) -> None:
        if done and operation == "CreateHyperParameterTuningJob":
            sigint()

    here.wire.meddle = meddle
    with pytest.raises(LaunchInterrupted) as caught:
        here.session.tune(sweep)
    (name,) = here.service.tuning.created
    assert [name] == [job.name for job in (*caught.value.launched, *caught.value.unknown)]
    assert f"sm-trn tune --stop {name}" in str(caught.value)


@pytest.mark.parametrize("seed", ROUNDS)
def test_a_bad_network_makes_no_second_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, sweep: st.Sweep, seed: int
) -> None:
    here = world(monkeypatch, tmp_path, seed=seed, throttled=0.2, broken=0.2, reset=0.2)
    job = None
    for _ in range(3):
        try:
            job = here.session.tune(sweep, name="bert-sweep-1")
            break
        except st.errors.CloudError:
            continue
    assert {1} >= set(here.service.tuning.created.values())
    if job is not None:
        assert "Completed" == job.wait(progress=False).status


def test_a_kill_at_any_moment_makes_no_second_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, sweep: st.Sweep
) -> None:
    calls = 3  # the source looked for and uploaded, the tuning job created
    for number in range(0, calls, max(1, calls // INSTANTS)):
        for after in (False, True):
            folder = tmp_path / f"{number}-{after}"
            folder.mkdir()
            here = world(monkeypatch, folder)

            def die(here: World = here) -> None:
                here.wire.down = True
                raise Killed

            here.wire.interrupt(number + 1, die, after=after)
            with pytest.raises(BaseException):  # noqa: B017, PT011 - nobody hears the last words of a killed process
                here.session.tune(sweep, name="bert-sweep-1")
            here.wire.down, here.wire.meddle = False, None
            here.session.tune(sweep, name="bert-sweep-1")
            assert {"bert-sweep-1": 1} == dict(here.service.tuning.created)


def test_a_failed_search_raises_with_its_reason(here: World, sweep: st.Sweep) -> None:
    here.service.story_of = lambda _name: Story(outcome="Failed", reason="AlgorithmError")
    job = here.session.tune(sweep)
    assert 12 == job.wait(progress=False).counts["NonRetryableError"]


@pytest.mark.parametrize("emulated", [False, True], ids=["on AWS", "emulated"])
def test_dollars_that_are_none_are_refused_and_nothing_starts(here: World, sweep: st.Sweep, *, emulated: bool) -> None:
    session = dataclasses.replace(here.session, emulated=emulated)
    with pytest.raises(st.errors.NotConfigured, match="USD: got -1"):
        session.tune(sweep, max_usd=-1)
    assert {} == here.service.created


def test_a_wait_goes_on_after_a_login_was_renewed(here: World, sweep: st.Sweep) -> None:
    job = here.session.tune(sweep)
    begun = here.clock.now()
    here.clock.at(begun + 60, lambda: here.wire.expired.add("FIRST"))
    here.clock.at(begun + 300, lambda: here.log_in("SECOND"))
    assert "Completed" == job.wait(progress=False).status
    assert here.wire.faults["expired"]
