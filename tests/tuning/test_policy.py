"""A team's policy holds for sweeps: each training job as for a job, and the dollars of all of them together."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from command import sm_trn
from fakes.simulated_wire import World
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

import sm_trn as st
from sm_trn.core.pricing.book import snapshot_book
from sm_trn.core.session.policy import Policy
from sm_trn.tuning.worst_case import allowed, sweep_problems, worst_case

BOOK = snapshot_book()
REGION = "us-west-2"
G5 = st.Compute("ml.g5.xlarge")


def price_of(machines: Any) -> Any:
    return BOOK.of(machines, REGION)


def ids(policy: Policy, sweep: st.Sweep) -> list[str]:
    return [problem.id for problem in sweep_problems(policy, sweep, REGION, price_of)]


def test_a_policy_without_limits_allows_every_sweep(sweep: st.Sweep) -> None:
    assert [] == ids(Policy(), sweep)


@pytest.mark.parametrize(
    ("policy", "found"),
    [
        (Policy(types=("ml.g6.*",)), "POLICY002"),
        (Policy(regions=("eu-west-1",)), "POLICY003"),
        (Policy(tags=("team",)), "POLICY004"),
        (Policy(spot_only=True), "POLICY005"),
    ],
)
def test_each_limit_refuses_what_it_names(sweep: st.Sweep, policy: Policy, found: str) -> None:
    assert [found] == ids(policy, sweep)


def test_the_types_are_those_of_the_clusters(sweep: st.Sweep) -> None:
    policy = Policy(types=("ml.g5.*",))
    assert ["POLICY002"] == ids(policy, sweep.replace(clusters=(G5, st.Compute("ml.g6.xlarge"))))
    assert [] == ids(policy, sweep.replace(clusters=(G5,)))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(limit=some.integers(1, 2_000_000), jobs=some.integers(1, 500), clusters=some.sampled_from([(), (G5,)]))
def test_a_sweep_is_refused_exactly_when_all_its_jobs_can_cost_more(
    sweep: st.Sweep, limit: int, jobs: int, clusters: tuple[st.Compute, ...]
) -> None:
    asked = sweep.replace(max_jobs=jobs, clusters=clusters)
    most = worst_case(asked, price_of)
    assert most is not None
    assert (most > limit) == (["POLICY001"] == ids(Policy(max_usd=limit), asked))


def test_the_message_says_that_all_training_jobs_count(sweep: st.Sweep) -> None:
    (problem,) = sweep_problems(Policy(max_usd=100), sweep, REGION, price_of)
    assert "the 12 training jobs of the sweep can cost more together than is allowed" == problem.what
    assert "max_jobs" == str(problem.where)


def test_without_a_price_nobody_knows_and_the_sweep_is_refused(sweep: st.Sweep) -> None:
    dear = sweep.replace(clusters=(st.Compute("ml.m4.xlarge"),))
    (problem,) = sweep_problems(Policy(max_usd=1000), dear, REGION, price_of)
    assert ("POLICY001", "no price") == (problem.id, problem.got)


def test_a_search_in_python_is_refused_before_anything_is_sent(
    here: World, sweep: st.Sweep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SM_TRN_POLICY", str(tmp_path / "policy.toml"))
    (tmp_path / "policy.toml").write_text("max_usd = 100\n")  # more than one training job, less than twelve
    with pytest.raises(st.errors.InvalidJob, match="POLICY001"):
        here.session.tune(sweep)
    assert 0 == sum(here.wire.calls.values())
    (tmp_path / "policy.toml").write_text("max_usd = 1000\n")
    assert here.session.tune(sweep)


def test_a_rehearsal_is_allowed_and_a_guard_is_given_where_there_is_none(
    here: World, sweep: st.Sweep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SM_TRN_POLICY", str(tmp_path / "policy.toml"))
    (tmp_path / "policy.toml").write_text("max_usd = 1\n")
    assert sweep == allowed(dataclasses.replace(here.session, emulated=True), sweep)
    (tmp_path / "policy.toml").write_text("max_usd = 1000\n[guard]\nstall_s = 900\n")
    given = allowed(here.session, sweep).job.guard
    assert given is not None
    assert given.stall_s == 900
    own = sweep.replace(job=sweep.job.replace(guard=st.Guard(stall_s=60)))
    assert own == allowed(here.session, own)


@pytest.fixture
def folder(tmp_path: Path, sweep: st.Sweep) -> Path:
    job = sweep.job.replace(script=st.Script("train.py", source_dir="source"))
    (tmp_path / "job.toml").write_text(st.dump_job(job, "toml"))
    (tmp_path / "sweep.toml").write_text(
        'job = "job.toml"\nmax_jobs = 12\nparallel = 4\n'
        'objective = {metric = "loss", goal = "Minimize", regex = \'loss=([0-9.]+)\'}\n'
        '[space]\nlr = {kind = "continuous", low = 0.1, high = 0.9}\n'
    )
    (tmp_path / "sm_trn.toml").write_text('max_usd = 100\ntags = ["team"]\n')
    return tmp_path


def test_check_of_a_sweep_file_shows_where(folder: Path, sweep: st.Sweep) -> None:
    done = sm_trn("check", "sweep.toml", "--json", "--region", REGION, cwd=folder)
    (entry,) = json.loads(done.stdout)
    found = {problem["id"]: problem for problem in entry["problems"]}
    assert 1 == done.returncode
    assert {"POLICY001", "POLICY004"} == {name for name in found if name.startswith("POLICY")}
    assert ("sweep.toml", 2) == (found["POLICY001"]["file"], found["POLICY001"]["line"])
    assert "job.toml" == found["POLICY004"]["file"]
    assert entry["most_usd"] == str(round(worst_case(sweep, price_of) or 0, 2))


def test_check_annotates_a_pull_request(folder: Path) -> None:
    done = sm_trn("check", "sweep.toml", "job.toml", "--format", "github", cwd=folder)
    assert "::error file=sweep.toml,line=2,title=POLICY001::" in done.stdout


def test_check_of_a_sweep_without_problems_says_what_all_jobs_can_cost(folder: Path) -> None:
    (folder / "sm_trn.toml").unlink()
    done = sm_trn("check", "sweep.toml", cwd=folder)
    assert (0, True) == (done.returncode, "12 training jobs, each at most" in done.stdout), done.stdout + done.stderr


def test_check_of_a_broken_sweep_file_tells_its_faults(folder: Path) -> None:
    text = (folder / "sweep.toml").read_text()
    (folder / "sweep.toml").write_text(text.replace("parallel", "paralel"))
    done = sm_trn("check", "sweep.toml", cwd=folder)
    assert 2 == done.returncode
    assert 'did you mean "parallel"' in done.stderr


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_tune_refuses_and_starts_nothing(folder: Path, more: tuple[str, ...]) -> None:
    done = sm_trn("tune", "sweep.toml", *more, cwd=folder)
    assert 1 == done.returncode
    assert "POLICY001" in done.stderr
    assert "Nothing was started" in done.stderr


def test_a_rehearsal_costs_nothing_and_is_allowed(folder: Path) -> None:
    assert 0 == sm_trn("tune", "sweep.toml", "--dry-run", "--backend", "emulator", cwd=folder).returncode
