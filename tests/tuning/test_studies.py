"""A study whose trials are training jobs chooses as Optuna alone, stays within its budget, and launches nothing twice.

SM_TRN_INTERRUPTIONS=40 kills the client at as many calls.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from fakes.simulated_sagemaker import Story
from fakes.simulated_wire import World, world

import sm_trn as st
from sm_trn.core.session.budget import OverBudget
from sm_trn.core.specs.tuning import Categorical, Continuous, Integer, Range, Scale
from sm_trn.tuning.worst_case import allow_study

optuna = pytest.importorskip("optuna", reason="needs Optuna: pip install 'sm_trn[tune]'")
INSTANTS = int(os.environ.get("SM_TRN_INTERRUPTIONS", "2"))
RULE = st.MetricRule("loss", r"loss=(\S+)")
SPACE: dict[str, Range] = {
    "lr": Continuous(1e-5, 1.0, scale=Scale.LOGARITHMIC),
    "depth": Integer(1, 9),
    "optim": Categorical(("adamw", "sgd")),
}


class Killed(BaseException):
    """The process ends here: nothing of it goes on."""


def loss(values: Mapping[str, Any]) -> float:
    return float((values["lr"] - 0.1) ** 2 + values["depth"] + (0.5 if values["optim"] == "sgd" else 0.0))


def study(seed: int = 3, **settings: Any) -> Any:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed), **settings)


def printing(here: World, outcome: Callable[[Mapping[str, Any]], str] = lambda _values: "Completed") -> None:
    """Training jobs print the loss of their values, and end as ``outcome`` says."""

    def story(request: Mapping[str, Any]) -> Story:
        values = {name: json.loads(text) for name, text in request["HyperParameters"].items() if name in SPACE}
        lines = {"algo-1": ((10.0, "loss=99"), (20.0, f"loss={loss(values)!r}"))}
        return Story(lines=lines, outcome=outcome(values), reason="AlgorithmError")

    here.service.story_of_request = story


@pytest.fixture
def job(sweep: st.Sweep) -> st.JobSpec:
    folder = Path(str(sweep.job.script and sweep.job.script.source_dir))
    text = (folder / "train.py").read_text()
    (folder / "train.py").write_text(text.replace("args =", "parser.add_argument('--depth')\nargs ="))
    return sweep.job


def stored(folder: Path) -> Any:
    backend = optuna.storages.journal.JournalFileBackend(str(folder / "study.log"))
    return optuna.storages.JournalStorage(backend)


def run(here: World, given: Any, job: st.JobSpec, n_trials: int = 6, **settings: Any) -> Any:
    return st.tune(
        given, job, SPACE, RULE, session=here.session, n_trials=n_trials, tell=lambda _text: None, **settings
    )


def suggested(trial: Any) -> dict[str, Any]:
    return {
        "lr": trial.suggest_float("lr", 1e-5, 1.0, log=True),
        "depth": trial.suggest_int("depth", 1, 9),
        "optim": trial.suggest_categorical("optim", ("adamw", "sgd")),
    }


def test_one_seed_is_the_same_trials_as_optunas_own(here: World, job: st.JobSpec) -> None:
    printing(here)
    alone = study()
    alone.optimize(lambda trial: loss(suggested(trial)), n_trials=12)
    ours = run(here, study(), job, 12)
    assert [(trial.params, trial.value) for trial in alone.trials] == [(t.params, t.value) for t in ours.trials]
    by_hand = st.tune(study(), job, suggested, RULE, session=here.session, n_trials=4, tell=lambda _text: None)
    assert [trial.params for trial in alone.trials[:4]] == [trial.params for trial in by_hand.trials]
    assert {1} == set(here.service.created.values())


def test_several_run_at_a_time_and_no_more(here: World, job: st.JobSpec) -> None:
    printing(here)
    ours = run(here, study(), job, 8, parallel=4)
    assert 8 == len(ours.trials)
    starts = sorted((each.created, each.end) for each in here.service.jobs.values())
    most = max(sum(start <= at < end for start, end in starts) for at, _ in starts)
    assert 4 == most


def test_what_runs_counts_in_the_budget_with_the_most_it_can_cost(here: World, job: st.JobSpec) -> None:
    """A budget for two and a half jobs, of which some end sooner: of four that may run at a time, two do."""
    lengths = itertools.cycle((200.0, 2000.0))
    before, after = (("Starting", 60.0), ("Downloading", 50.0)), ("Uploading", 20.0)
    here.service.story_of_request = lambda _request: Story(phases=(*before, ("Training", next(lengths)), after))
    price = here.session.price_of(job.compute.machines)
    assert price is not None
    run(here, study(), job, 8, parallel=4, max_usd=float(price.usd_per_hour) * 2.5)
    starts = sorted((each.created, each.end) for each in here.service.jobs.values())
    assert 2 == max(sum(start <= at < end for start, end in starts) for at, _ in starts)
    assert len(starts) > 2


def test_a_failed_job_is_a_failed_trial(here: World, job: st.JobSpec) -> None:
    printing(here, lambda values: "Failed" if values["optim"] == "sgd" else "Completed")
    ours = run(here, study(), job)
    states = {trial.params["optim"]: trial.state.name for trial in ours.trials}
    assert {"sgd": "FAIL", "adamw": "COMPLETE"} == states


def test_one_budget_holds_over_all_trials(here: World, job: st.JobSpec) -> None:
    """At no time what ended jobs cost, with the most that running ones may, passes it; real costs leave room for more trials."""
    printing(here)
    once = here.session.ceiling(job)
    assert once is not None
    with pytest.raises(OverBudget, match="1 training job, each at most"):
        run(here, study(), job, max_usd=float(once) * 0.9)
    assert {} == here.service.jobs
    ours = run(here, study(), job, 40, parallel=4, max_usd=float(once) * 3.5)
    costs = [here.session.attach(name).cost() for name in here.service.jobs]
    spent = sum(float(cost.usd) for cost in costs if cost is not None)
    assert float(once) * 2.5 < spent <= float(once) * 3.5
    assert 3 < len(ours.trials) < 40


def test_the_teams_policy_holds_for_all_trials_together(
    here: World, job: st.JobSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a sweep, what all trials can cost counts; a budget of the study's own makes that less."""
    printing(here)
    once = here.session.ceiling(job)
    assert once is not None
    monkeypatch.setenv("SM_TRN_POLICY", str(tmp_path / "policy.toml"))
    (tmp_path / "policy.toml").write_text(f"max_usd = {float(once) * 3.5}\n")
    with pytest.raises(
        st.errors.InvalidJob, match=r"POLICY001.*the 4 trials of the study can cost more together"
    ) as caught:
        run(here, study(), job, 4)
    assert "give max_usd" in str(caught.value)
    assert {} == here.service.jobs
    assert 3 == len(run(here, study(), job, 3).trials)
    assert 3 < len(run(here, study(), job, 40, max_usd=float(once) * 3.5).trials)
    allow_study(dataclasses.replace(here.session, emulated=True), job, 4, None)  # a rehearsal costs nothing


def test_a_metric_without_a_rule_is_refused(here: World, job: st.JobSpec) -> None:
    with pytest.raises(st.errors.UnknownName, match="no metric of this name"):
        st.tune(study(), job, SPACE, "los", session=here.session, n_trials=1)
    space = {"lr": Continuous(0.1, 0.9, scale=Scale.REVERSE_LOGARITHMIC)}
    with pytest.raises(ValueError, match="which Optuna does not have"):
        st.tune(study(), job, space, RULE, session=here.session, n_trials=1)


def test_a_kill_at_any_moment_launches_nothing_twice(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, job: st.JobSpec
) -> None:
    """The study is kept in a file; the same call goes on with the jobs that run."""
    for number in range(0, 40, 40 // min(40, INSTANTS)):
        for after in (False, True):
            folder = tmp_path / f"{number}-{after}"
            folder.mkdir()
            here = world(monkeypatch, folder)
            printing(here)
            kept = partial(study, storage=stored(folder), study_name="bert", load_if_exists=True)

            def die(here: World = here) -> None:
                here.wire.down = True
                raise Killed

            here.wire.interrupt(number + 1, die, after=after)
            with pytest.raises(BaseException):  # noqa: B017, PT011 - nobody hears the last words of a killed process
                run(here, kept(), job, 6, parallel=3)
            here.wire.down, here.wire.meddle = False, None
            done = len([trial for trial in kept().trials if trial.state.is_finished()])
            ours = run(here, kept(), job, 6 - done, parallel=3)
            assert 6 == len(ours.trials)
            assert {trial.user_attrs["sm_trn:job"]: 1 for trial in ours.trials} == dict(here.service.created)
            assert {"COMPLETE"} == {trial.state.name for trial in ours.trials}
